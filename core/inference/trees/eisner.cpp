#include "inference/trees/eisner.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "base/infinity.hpp"
#include "inference/trees/tree_kernels.hpp"
#include "simd/dispatch.hpp"

namespace dualstruct {

DUALSTRUCT_DISPATCH(trees::TreeKernels, tree_kernels, trees::tree_kernels)

}  // namespace dualstruct

namespace dualstruct::trees {
namespace {}  // namespace

bool Eisner::decode(const float* scores, int words, bool single_root, std::int32_t* heads) {
    const int nodes = words + 1, stride = padded(nodes);
    const std::size_t chart = at(nodes) * stride;
    float* buffer = buffer_.ensure(6 * chart + stride);
    heads[0] = -1;
    if (words == 0) return true;

    // Every word has one head, so a number taken from all its arcs changes no order of trees; taking away the largest
    // score keeps the sums small, and long sentences as exact as short ones.
    float* largest = buffer + 6 * chart;
    std::fill_n(largest, nodes, -infinity);
    for (int h = 0; h < nodes; ++h) {
        const float* row = scores + at(h) * nodes;
        const float own = largest[h];
        for (int m = 1; m < nodes; ++m) largest[m] = row[m] > largest[m] ? row[m] : largest[m];
        largest[h] = own;
    }
    for (int m = 1; m < nodes; ++m) {
        if (largest[m] == -infinity) return false;
    }
    float* right = buffer;
    float* left = buffer + chart;
    for (int s = 0; s < nodes; ++s) {
        const float* row = scores + at(s) * nodes;
        float* out = right + at(s) * stride;
        for (int t = s + 1; t < nodes; ++t) out[t] = row[t] - largest[t];
        for (int t = 1; t < s; ++t) left[at(t) * stride + s] = row[t] - largest[t];
    }
    std::fill_n(left, nodes, -infinity);  // no arc into the root

    const EisnerCharts charts{nodes,
                              single_root ? 1 : 0,
                              stride,
                              right,
                              left,
                              buffer + 2 * chart,
                              buffer + 3 * chart,
                              buffer + 4 * chart,
                              buffer + 5 * chart};
    tree_kernels().eisner(charts);

    const auto cell = [stride](int s, int t) { return at(s) * stride + t; };
    pending_.clear();
    if (single_root) {
        float best = -infinity;
        std::int32_t child = 0;
        for (std::int32_t q = 1; q < nodes; ++q) {
            const float sum = charts.complete_left[cell(1, q)] + right[q] + charts.complete_right[cell(q, words)];
            if (sum > best) {
                best = sum;
                child = q;
            }
        }
        if (child == 0) return false;
        heads[child] = 0;
        pending_.push_back({1, child, Span::complete_left});
        pending_.push_back({child, words, Span::complete_right});
    } else {
        if (charts.complete_right[cell(0, words)] == -infinity) return false;
        pending_.push_back({0, words, Span::complete_right});
    }

    // The charts hold maxima only. The sums are formed again as they were, so that one of them is equal, unless
    // a score is not a number.
    while (!pending_.empty()) {
        const auto [s, t, kind] = pending_.back();
        pending_.pop_back();
        if (s == t) continue;
        std::int32_t q = s;
        switch (kind) {
            case Span::halves: {
                const float best = charts.halves[cell(s, t)];
                while (q < t && charts.complete_right[cell(s, q)] + charts.complete_left[cell(q + 1, t)] != best) ++q;
                if (q == t) return false;
                pending_.push_back({s, q, Span::complete_right});
                pending_.push_back({q + 1, t, Span::complete_left});
                break;
            }
            case Span::complete_right: {
                const float best = charts.complete_right[cell(s, t)];
                do ++q;
                while (q <= t &&
                       charts.halves[cell(s, q)] + right[cell(s, q)] + charts.complete_right[cell(q, t)] != best);
                if (q > t) return false;
                heads[q] = s;
                pending_.push_back({s, q, Span::halves});
                pending_.push_back({q, t, Span::complete_right});
                break;
            }
            case Span::complete_left: {
                const float best = charts.complete_left[cell(s, t)];
                while (q < t && charts.complete_left[cell(s, q)] + charts.arc_left[cell(q, t)] != best) ++q;
                if (q == t) return false;
                heads[q] = t;
                pending_.push_back({q, t, Span::halves});
                pending_.push_back({s, q, Span::complete_left});
                break;
            }
        }
    }
    return true;
}

}  // namespace dualstruct::trees
