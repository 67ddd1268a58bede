// A weight vector that several threads add up, the same whatever their number is, as long as there are two: items are
// divided into a fixed number of ranges, each range adds into a vector of its own, and the vectors are summed in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/index.hpp"
#include "base/parallel.hpp"
#include "learning/weights.hpp"

namespace dualstruct {

class RangeSums {
public:
    explicit RangeSums(const Structure& structure) : structure_(structure) {}
    RangeSums(const RangeSums&) = delete;

    static int ranges(int threads) { return threads > 1 ? most_ranges : 1; }

    // add(begin, end, range, thread, target) for every range of the items 0 … n−1. The first range's target is the
    // total itself; collect adds the others to it.
    template <class Add>
    void add_up(std::int64_t n, int threads, float* total, Add add) {
        const std::int64_t count = ranges(threads);
        while (static_cast<std::int64_t>(others_.size()) + 1 < count) others_.emplace_back(structure_);
        try {
            for_each_range(count, threads, [&](std::int64_t first, std::int64_t last, int thread) {
                for (std::int64_t range = first; range < last; ++range) {
                    float* target = range ? others_[at(range) - 1].data() : total;
                    add(n * range / count, n * (range + 1) / count, static_cast<int>(range), thread, target);
                }
            });
        } catch (...) {
            others_.clear();  // they must be 0 when the next sum begins
            throw;
        }
    }

    // Adds the other ranges' weights begin … end−1 to the total; they become 0. visit(k, stop) sees each piece of the
    // total while it is in the cache.
    template <class Visit>
    void collect(float* total, std::int64_t begin, std::int64_t end, Visit visit) {
        for (std::int64_t k = begin; k < end; k += piece) {
            const std::int64_t stop = std::min(k + piece, end);
            for (Weights& other : others_) {
                float* from = other.data();
                for (std::int64_t q = k; q < stop; ++q) {
                    total[q] += from[q];
                    from[q] = 0;
                }
            }
            visit(k, stop);
        }
    }

private:
    static constexpr int most_ranges = 4;  // each takes as much memory as w
    static constexpr std::int64_t piece = 1 << 13;

    const Structure& structure_;
    std::vector<Weights> others_;  // 0 between sums
};

}  // namespace dualstruct
