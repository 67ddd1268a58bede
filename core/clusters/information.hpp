// f(x) = x log2 x of counts, as whole numbers.
//
// Sums of them are exact, so that it does not matter in which order, on how many threads or in how many small steps
// they are added up: what is chosen by them is the same everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/index.hpp"

namespace dualstruct::clusters {

class Information {
public:
    static constexpr double scale = 1 << 24;  // f(2^32) stays below 2^62

    Information() : table_(table_size) {
        for (std::size_t x = 0; x < table_size; ++x) table_[x] = computed(x);
    }

    std::int64_t of(std::uint64_t x) const { return x < table_size ? table_[x] : computed(x); }

    // f(x + y) − f(x) − f(y): at least 0, and 0 if one of them is.
    std::int64_t shared(std::uint64_t x, std::uint64_t y) const { return of(x + y) - of(x) - of(y); }

private:
    static constexpr std::size_t table_size = std::size_t{1} << 17;

    static std::int64_t computed(std::uint64_t x) {
        if (x < 2) return 0;
        const double value = static_cast<double>(x);
        return static_cast<std::int64_t>(std::floor(value * std::log2(value) * scale + 0.5));
    }

    std::vector<std::int64_t> table_;
};

}  // namespace dualstruct::clusters
