// The inner loops over the weights of an arc, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace dualstruct {

struct ArcKernels {
    // out = Σ of `count` rows. All are aligned to cache lines; `width` is a multiple of 16.
    void (*sum_rows)(const float* const* rows, int count, int width, float* out);
    // The same, and where the largest of the first `labels` values is, the first of equals.
    int (*sum_labels)(const float* const* rows, int count, int width, int labels, float* out);
    // Where the largest of the first `labels` values is.
    int (*largest)(const float* values, int width, int labels);
    // Σ of those of a row's 32 values that the mask has a bit for.
    float (*sum_marked)(const float* row, std::uint32_t mask);
};

const ArcKernels& arc_kernels();

}  // namespace dualstruct
