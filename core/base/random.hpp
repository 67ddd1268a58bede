// Random numbers that are a function of a seed and nothing else: a pass can be
// repeated or resumed without carrying a generator's state along.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/index.hpp"

namespace dualstruct {

inline std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(mix(seed + 0x9E3779B97F4A7C15ull)) {}

    std::uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15ull); }

    // Uniform on 0 … bound − 1.
    std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
    }

    template <class Iterator>
    void shuffle(Iterator first, Iterator last) {
        for (auto left = last - first; left > 1; --left) {
            std::swap(first[left - 1], first[below(static_cast<std::uint64_t>(left))]);
        }
    }

private:
    std::uint64_t state_;
};

inline std::vector<std::int32_t> shuffled_order(std::int64_t n, std::uint64_t seed) {
    std::vector<std::int32_t> order(at(n));
    std::iota(order.begin(), order.end(), 0);
    Random(seed).shuffle(order.begin(), order.end());
    return order;
}

}  // namespace dualstruct
