// Sums over projective trees: Eisner's algorithm with sums for maxima, and back through it. O(n³) time, O(n²) memory.
#pragma once

#include "inference/trees/decoder.hpp"
#include "inference/trees/scaled_rows.hpp"

namespace dualstruct::trees {

class InsideOutside final : public TreeSums {
public:
    bool marginals(const float* scores, int words, bool single_root, float* marginals, double& log_partition) override;

private:
    void inside_row(int s, int nodes);
    void outside_row(int s, int nodes, Scaled total, float* marginals);

    // Row s, column t: the words s … t. `right_` and `left_` are the weights of the arcs s → t and t → s.
    // complete_right_ leaves out the empty half, t = s, whose sum is 1; complete_left_ has it.
    ScaledRows right_, left_, halves_, arc_left_, complete_right_, complete_left_;
    ScaledRows outside_halves_;  // one row
    ScaledRows outside_arc_left_, outside_right_, outside_left_;
};

}  // namespace dualstruct::trees
