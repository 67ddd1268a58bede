// Which cache lines of the weights were touched: a bit for each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/index.hpp"

namespace dualstruct {

class TouchedLines {
public:
    static constexpr std::int64_t line = 16;  // floats

    explicit TouchedLines(std::int64_t dimension) : dimension_(dimension), bits_(at(dimension / line / 64 + 1)) {}

    std::int64_t dimension() const { return dimension_; }
    void mark(std::int64_t place) { bits_[at(place / line / 64)] |= std::uint64_t{1} << (place / line % 64); }

    std::int64_t count() const {
        std::int64_t lines = 0;
        for (std::uint64_t bits : bits_) lines += std::popcount(bits);
        return lines;
    }

    // visit(first place, one behind the last) of every line that was touched, in order; none is any more. Of each, and
    // some lines before its visit, announce(first place).
    template <class Announce, class Visit>
    void take(Announce announce, Visit visit) {
        constexpr std::size_t ahead = 4;
        for (std::size_t word = 0; word < std::min(ahead, bits_.size()); ++word) each_line(word, announce);
        for (std::size_t word = 0; word < bits_.size(); ++word) {
            if (word + ahead < bits_.size()) each_line(word + ahead, announce);
            each_line(word,
                      [&](std::int64_t begin) { visit(begin, begin + line < dimension_ ? begin + line : dimension_); });
            bits_[word] = 0;
        }
    }

private:
    template <class Visit>
    void each_line(std::size_t word, Visit visit) const {
        for (std::uint64_t bits = bits_[word]; bits; bits &= bits - 1) {
            visit((static_cast<std::int64_t>(word) * 64 + std::countr_zero(bits)) * line);
        }
    }

    std::int64_t dimension_;
    std::vector<std::uint64_t> bits_;
};

}  // namespace dualstruct
