// The two sums that messages are made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "inference/graphs/graph.hpp"

namespace dualstruct::graphs {

// What "or" means: the larger of two, or the sum of their exponentials.
struct Largest {
    static double plus(double a, double b) { return std::max(a, b); }
    template <class Value>
    static double sum(std::size_t n, Value value) {
        double best = minus_infinity;
        for (std::size_t k = 0; k < n; ++k) best = std::max(best, value(k));
        return best;
    }
};

struct LogSum {
    static double plus(double a, double b) {
        if (a < b) std::swap(a, b);
        return b == minus_infinity ? a : a + std::log1p(std::exp(b - a));
    }
    template <class Value>
    static double sum(std::size_t n, Value value) {
        const double largest = Largest::sum(n, value);
        if (largest == minus_infinity) return largest;
        double total = 0;
        for (std::size_t k = 0; k < n; ++k) total += std::exp(value(k) - largest);
        return largest + std::log(total);
    }
};

}  // namespace dualstruct::graphs
