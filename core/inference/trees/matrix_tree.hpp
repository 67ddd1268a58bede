// Sums over all trees, projective or not: the matrix-tree theorem (Koo et al. 2007), O(n³).
//
// The determinant of the Laplacian is found by eliminating one word after the other. A word v whose arcs weigh
// D = Σ_h w(h, v) is taken out by w(h, m) += w(h, v)·w(v, m) / D, and the sum over trees is D times that of what is
// left: the elimination of Grassmann, Taksar and Heyman, in which nothing is subtracted and so nothing cancels, however
// large the scores. Weights are scaled numbers, so nothing overflows.
//
// The marginals of the arcs into m need the chance that a walk from h, to a head of h and so on, meets the root before
// it meets m; the inverse of the Laplacian has it as a difference of large numbers. Eliminating all words but m gives it
// as a sum; halving the words again and again shares that work among all m: O(n³) for all of them.
#pragma once

#include <vector>

#include "inference/trees/decoder.hpp"
#include "inference/trees/scaled_rows.hpp"

namespace dualstruct::trees {

class MatrixTree final : public TreeSums {
public:
    bool marginals(const float* scores, int words, bool single_root, float* marginals, double& log_partition) override;

private:
    // The root, then the words from `first` on, as heads; the same words as modifiers.
    struct Level {
        ScaledRows weights;
        int first = 0;
    };

    // A word taken out, and those that were left.
    struct Step {
        std::int32_t word, begin, end;
    };

    bool halve(std::size_t level, int begin, int end, float* marginals);
    void copy(std::size_t level, int begin, int end);
    bool eliminate(Level& level, int word, int begin, int end);
    void reach(int word, float* marginals);

    int nodes_ = 0;
    ScaledRows into_;  // [nodes, nodes]: the weights of the arcs into a word, by head
    std::vector<Level> levels_;  // the words that are left after each halving
    ScaledRows chances_;  // [nodes, nodes]: where a walk goes from a word that was taken out, by head
    ScaledRows escape_;  // [1, nodes]: the chance to meet the root first, by where the walk starts; 0 at 0
    std::vector<Step> eliminated_;
    Scaled product_;  // of all D on the way to the first word
    Scaled total_;
};

}  // namespace dualstruct::trees
