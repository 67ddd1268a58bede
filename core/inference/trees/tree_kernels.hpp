// The inner loops of sums and maxima over trees, compiled once per instruction set.
#pragma once

#include <cstdint>

#include "inference/trees/scaled.hpp"

namespace dualstruct::trees {

// Rows of the charts start at multiples of it, and loops run over whole blocks of it.
inline constexpr int block = 16;

inline int block_of(int column) { return column / block * block; }

inline int padded(int columns) { return (columns + block - 1) / block * block; }

// The charts of Eisner's algorithm; row s, column t is about the words s … t. Entries with t < s are −∞.
struct EisnerCharts {
    int nodes;             // words and root
    int first;             // row to stop at: 0, or 1 to leave the root out
    int stride;            // floats from one row to the next
    const float* right;    // [nodes, stride]: the score of the arc s → t
    const float* left;     // [nodes, stride]: the score of the arc t → s
    float* halves;         // best pair of halves under an arc between s and t
    float* arc_left;       // the same with the arc t → s
    float* complete_right; // s heads all of it
    float* complete_left;  // t heads all of it
};

struct TreeKernels {
    void (*eisner)(const EisnerCharts& charts);
    // Over columns begin … end of rows, both multiples of `block`. Factors have mantissas below 2, or sums would grow.
    // to += x·from.
    void (*add_multiple)(ScaledRow to, Scaled x, ScaledRow from, int begin, int end);
    // Σ a·b.
    Scaled (*dot)(ScaledRow a, ScaledRow b, int begin, int end);
    // Mantissas from 1 to 2, or 0.
    void (*normalise)(ScaledRow row, int begin, int end);
};

const TreeKernels& tree_kernels();

}  // namespace dualstruct::trees
