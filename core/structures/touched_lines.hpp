// Which cache lines of the weights were touched: a bit for each.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/index.hpp"

namespace dualstruct {

class TouchedLines {
public:
    static constexpr std::int64_t line = 16;  // floats

    explicit TouchedLines(std::int64_t dimension) : dimension_(dimension), bits_(at(dimension / line / 64 + 1)) {}

    std::int64_t dimension() const { return dimension_; }
    void mark(std::int64_t place) { bits_[at(place / line / 64)] |= std::uint64_t{1} << (place / line % 64); }

    // visit(first place, one behind the last) of every line that was touched, in order; none is any more.
    template <class Visit>
    void take(Visit visit) {
        for (std::size_t word = 0; word < bits_.size(); ++word) {
            for (std::uint64_t bits = std::exchange(bits_[word], 0); bits; bits &= bits - 1) {
                const auto begin = (static_cast<std::int64_t>(word) * 64 + std::countr_zero(bits)) * line;
                visit(begin, begin + line < dimension_ ? begin + line : dimension_);
            }
        }
    }

private:
    std::int64_t dimension_;
    std::vector<std::uint64_t> bits_;
};

}  // namespace dualstruct
