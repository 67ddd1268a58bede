// Strings of a model file as numpy arrays, and back.
#pragma once

#include <nanobind/stl/pair.h>

#include <utility>

#include "base/errors.hpp"
#include "python/bindings.hpp"
#include "text/string_table.hpp"
#include "text/unicode.hpp"

namespace dualstruct {

inline Strings strings_from(const Input<std::uint8_t>& bytes, const Input<std::int64_t>& offsets) {
    Strings strings;
    const auto size = static_cast<std::int64_t>(bytes.size());
    if (offsets.size() == 0 || offsets.data()[0] != 0 || offsets.data()[offsets.size() - 1] != size) {
        throw InputError("the offsets of stored strings do not fit their bytes");
    }
    strings.bytes.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    strings.offsets.assign(offsets.data(), offsets.data() + offsets.size());
    for (std::size_t i = 0; i < strings.size(); ++i) {
        if (strings.offsets[i] > strings.offsets[i + 1] || strings.offsets[i + 1] > size) {
            throw InputError("the offsets of stored strings do not increase");
        }
        if (!is_valid_utf8(strings[i])) throw InputError("a stored string is not UTF-8 text");
    }
    return strings;
}

inline std::pair<Array<std::uint8_t>, Array<std::int64_t>> strings_to_numpy(const Strings& strings) {
    return {to_numpy(std::vector<std::uint8_t>(strings.bytes.begin(), strings.bytes.end())),
            to_numpy(std::vector<std::int64_t>(strings.offsets))};
}

}  // namespace dualstruct
