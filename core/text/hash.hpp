// Content hashes. A feature is known by the hash of its text, so that ids agree between
// processes and machines: nothing here may depend on addresses, order or byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/words.hpp"

namespace dualstruct {

namespace hash_detail {

constexpr std::uint64_t odd_a = 0x9E3779B97F4A7C15ull;  // 2^64 / golden ratio
constexpr std::uint64_t odd_b = 0xD6E8FEB86659FD93ull;

inline std::uint64_t step(std::uint64_t h, std::uint64_t word) {
    h = (h ^ word) * odd_a;
    return h ^ h >> 32;
}

}  // namespace hash_detail

// The hash of a string; never 0, which stands for "no value".
inline std::uint64_t hash_bytes(std::string_view s) {
    using namespace hash_detail;
    const char* p = s.data();
    const std::size_t n = s.size();
    std::uint64_t h = odd_b ^ n * odd_a;
    if (n >= 8) {
        for (std::size_t i = 0; i + 8 < n; i += 8) h = step(h, load_word<std::uint64_t>(p + i));
        h = step(h, load_word<std::uint64_t>(p + n - 8));
    } else if (n >= 4) {
        h = step(h, load_word<std::uint32_t>(p) | std::uint64_t{load_word<std::uint32_t>(p + n - 4)} << 32);
    } else if (n > 0) {
        const auto byte = [p](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(p[i])}; };
        h = step(h, byte(0) | byte(n / 2) << 8 | byte(n - 1) << 16);
    }
    h = (h ^ h >> 29) * odd_b;
    h ^= h >> 32;
    return h != 0 ? h : 1;
}

// Folds one more value into a hash; the order of values matters. One multiplication is
// enough because both sides are already well mixed.
inline std::uint64_t combine(std::uint64_t h, std::uint64_t value) {
    h = (h + value) * hash_detail::odd_b;
    h ^= h >> 32;
    h *= hash_detail::odd_a;
    return h ^ h >> 29;
}

}  // namespace dualstruct
