// A checksum that notices damage at the speed of memory. It is no signature: who wants to can make another
// file with the same one.
//
// Each of eight lanes takes every eighth word. A step of a lane is a bijection of its state and of the word, so
// a change within one word always changes the sum; other changes are missed once in 2^64.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/words.hpp"

namespace dualstruct {

class Checksum {
public:
    static std::uint64_t of(std::span<const std::uint8_t> bytes) {
        std::array<std::uint64_t, lanes> state;
        for (std::size_t k = 0; k < lanes; ++k) state[k] = odd * (2 * k + 1);
        const std::size_t whole = bytes.size() / block * block;
        for (std::size_t place = 0; place < whole; place += block) {
            for (std::size_t k = 0; k < lanes; ++k) {
                state[k] = step(state[k], load_word<std::uint64_t>(bytes.data() + place + 8 * k));
            }
        }
        for (std::size_t place = whole; place < bytes.size(); ++place) state[0] = step(state[0], bytes[place]);
        std::uint64_t sum = bytes.size() * odd;
        for (const std::uint64_t lane : state) sum = step(sum, lane ^ lane >> 32);
        return sum ^ sum >> 29;
    }

private:
    static constexpr std::size_t lanes = 8, block = 8 * lanes;
    static constexpr std::uint64_t odd = 0x9E3779B97F4A7C15ull;

    static std::uint64_t step(std::uint64_t state, std::uint64_t word) { return std::rotl(state ^ word, 29) * odd; }
};

}  // namespace dualstruct
