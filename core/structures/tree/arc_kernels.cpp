#include "structures/tree/arc_kernels.hpp"

#include "simd/simd.hpp"

namespace dualstruct::DUALSTRUCT_ISA {
namespace {

constexpr int N = DUALSTRUCT_LANES;

void sum_rows(const float* const* rows, int count, int width, float* out) {
    for (int k = 0; k < width; k += N) {
        Floats<N> total = load<N>(rows[0] + k);
        for (int r = 1; r < count; ++r) total += load<N>(rows[r] + k);
        store<N>(out + k, total);
    }
}

int largest_at(const float* values, int width) {
    Floats<N> best = load<N>(values);
    for (int k = N; k < width; k += N) best = maximum(load<N>(values + k), best);
    const float most = largest<N>(best);
    for (int k = 0; k < width; ++k) {
        if (values[k] == most) return k;
    }
    return 0;  // NaN everywhere
}

}  // namespace

extern const ArcKernels arc_kernels;
const ArcKernels arc_kernels{sum_rows, largest_at};

}  // namespace dualstruct::DUALSTRUCT_ISA
