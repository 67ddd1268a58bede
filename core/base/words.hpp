// Words as files hold them: little-endian on every machine.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

namespace dualstruct {

template <class Word>
inline Word load_word(const void* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    if constexpr (std::endian::native == std::endian::big) {
        Word swapped = 0;
        for (std::size_t i = 0; i < sizeof word; ++i) swapped = swapped << 8 | (word >> 8 * i & 0xFF);
        return swapped;
    }
    return word;
}

}  // namespace dualstruct
