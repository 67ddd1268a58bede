#include "trees/tree_kernels.hpp"

#include "simd/simd.hpp"

namespace dualstruct::DUALSTRUCT_ISA {
namespace {

using trees::EisnerCharts;

constexpr int N = DUALSTRUCT_LANES;
static_assert(trees::block % N == 0);

// The recurrences of Eisner (1996), each row from left to right, the last row first. Instead of looking for the best
// split point of one span, every finished span is tried as the left part of all longer spans of its row at once:
// contiguous loads, no maximum within a vector. Blocks that begin left of the first span read −∞ there.
void eisner(const EisnerCharts& c) {
    const int stride = c.stride;
    for (int s = c.nodes - 1; s >= c.first; --s) {
        const std::int64_t row = std::int64_t{s} * stride;
        float* halves = c.halves + row;
        float* arc_left = c.arc_left + row;
        float* complete_right = c.complete_right + row;
        float* complete_left = c.complete_left + row;
        const int start = s / N * N;
        if (s + 1 < c.nodes) {
            const float* next = c.complete_left + row + stride;
            for (int t = start; t < stride; t += N) store<N>(halves + t, load<N>(next + t));
        }
        for (int t = start; t < stride; t += N) {
            store<N>(arc_left + t, broadcast<N>(-infinity));
            store<N>(complete_right + t, broadcast<N>(-infinity));
            store<N>(complete_left + t, broadcast<N>(-infinity));
        }
        complete_right[s] = 0;
        complete_left[s] = 0;
        for (int q = s + 1; q < c.nodes; ++q) {
            const float arc_right = halves[q] + c.right[row + q];
            arc_left[q] = halves[q] + c.left[row + q];
            const float left = arc_left[q] > complete_left[q] ? arc_left[q] : complete_left[q];
            const float right = arc_right > complete_right[q] ? arc_right : complete_right[q];
            complete_left[q] = left;
            complete_right[q] = right;
            const std::int64_t at = std::int64_t{q} * stride;
            const int from = (q + 1) / N * N;
            if (arc_right > -infinity) {
                const float* longer = c.complete_right + at;
                for (int t = from; t < stride; t += N) {
                    store<N>(complete_right + t, maximum(arc_right + load<N>(longer + t), load<N>(complete_right + t)));
                }
            }
            if (left > -infinity) {
                const float* longer = c.arc_left + at;
                for (int t = from; t < stride; t += N) {
                    store<N>(complete_left + t, maximum(left + load<N>(longer + t), load<N>(complete_left + t)));
                }
            }
            if (right > -infinity && q + 1 < c.nodes) {
                const float* longer = c.complete_left + at + stride;
                for (int t = from; t < stride; t += N) {
                    store<N>(halves + t, maximum(right + load<N>(longer + t), load<N>(halves + t)));
                }
            }
        }
    }
}

}  // namespace

extern const trees::TreeKernels tree_kernels;
const trees::TreeKernels tree_kernels = {eisner};

}  // namespace dualstruct::DUALSTRUCT_ISA
