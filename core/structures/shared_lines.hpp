// Lines of weights as one of several workers moves them: which it has moved, how many workers have moved each, and how
// many times the worker's own moves of a line count for that reason.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "structures/touched_lines.hpp"

namespace dualstruct {

class SharedLines {
public:
    static constexpr std::size_t most_sharers = 255;  // more count as so many

    explicit SharedLines(std::int64_t dimension)
        : touched_(dimension), sharers_(at((dimension + TouchedLines::line - 1) / TouchedLines::line)),
          moved_(sharers_.size()) {
        times_.fill(1);
    }

    std::int64_t lines() const { return static_cast<std::int64_t>(sharers_.size()); }
    // How many times a move of this place counts.
    float times(std::int64_t place) const { return times_[sharers_[line_of(place)]]; }
    // The same, of a place that moves.
    float touch(std::int64_t place) {
        touched_.mark(place);
        return times(place);
    }
    // The workers that move each line, and by their number how many times a move counts. Nothing may be touched.
    void set_sharers(std::span<const std::uint8_t> sharers, std::span<const float> times) {
        std::ranges::copy(sharers, sharers_.begin());
        std::ranges::copy(times, times_.begin());
    }

    TouchedLines& touched() { return touched_; }
    // 1 for every line that has ever moved.
    std::span<const std::uint8_t> moved() const { return moved_; }
    void set_moved(std::int64_t place) { moved_[line_of(place)] = 1; }
    void set_moved(std::span<const std::uint8_t> moved) { std::ranges::copy(moved, moved_.begin()); }

private:
    static std::size_t line_of(std::int64_t place) { return at(place / TouchedLines::line); }

    TouchedLines touched_;
    std::vector<std::uint8_t> sharers_, moved_;  // [lines]
    std::array<float, most_sharers + 1> times_;  // by the number of sharers
};

}  // namespace dualstruct
