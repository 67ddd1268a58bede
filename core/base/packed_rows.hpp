// Rows of which only the numbers that are not 0 are stored. Everything is checked.
#pragma once

#include <cstddef>
#include <span>

#include "base/errors.hpp"

namespace dualstruct {

// Writes what is stored; `out` has a row of `width` numbers for each count.
template <class T>
void expand_rows(std::span<const T> counts, std::span<const T> columns, std::span<const float> values,
                 std::size_t width, float* out) {
    const std::size_t stored = values.size();
    if (columns.size() != stored) throw InputError("rows: there are more or fewer numbers than it says");
    std::size_t place = 0;
    for (const T count : counts) {
        const std::size_t end = place + count;
        if (end > stored) throw InputError("rows: there are fewer numbers than it says");
        for (; place < end; ++place) {
            const std::size_t column = columns[place];
            if (column >= width) throw InputError("rows: a number is behind the end of its row");
            out[column] = values[place];
        }
        out += width;
    }
    if (place != stored) throw InputError("rows: there are more numbers than it says");
}

}  // namespace dualstruct
