// The inner loops over the labels of an arc, compiled once per instruction set.
#pragma once

namespace dualstruct {

struct ArcKernels {
    // out = Σ of `count` rows. All are aligned to cache lines; `width` is a multiple of 16.
    void (*sum_rows)(const float* const* rows, int count, int width, float* out);
    // Where the largest of `width` values is, the first of equals.
    int (*largest)(const float* values, int width);
};

const ArcKernels& arc_kernels();

}  // namespace dualstruct
