// Decoders and sums over dependency trees, given the scores of arcs. They know nothing of features or learning.
//
// A sentence has n words, 1 … n, and the root, 0. scores[h*(n + 1) + m] is the score of the arc from head h to
// modifier m; −∞ takes the arc away. Arcs into the root and from a word to itself are never read. A tree is
// heads[0 … n] with heads[0] = −1. `single_root` asks for exactly one child of the root; otherwise it may have more.
#pragma once

#include <cstdint>

namespace dualstruct::trees {

// Objects keep their buffers between calls, so that decoding allocates nothing once they have grown: one per thread.
class TreeDecoder {
public:
    virtual ~TreeDecoder() = default;
    // The tree with the largest sum of scores; false when the arcs left allow no tree.
    virtual bool decode(const float* scores, int words, bool single_root, std::int32_t* heads) = 0;
};

class TreeSums {
public:
    virtual ~TreeSums() = default;
    // log Σ over trees of exp(score), and the probability of each arc, laid out as the scores are and 0 for arcs that
    // are never read; false when the arcs left allow no tree.
    virtual bool marginals(const float* scores, int words, bool single_root, float* marginals,
                           double& log_partition) = 0;
};

}  // namespace dualstruct::trees
