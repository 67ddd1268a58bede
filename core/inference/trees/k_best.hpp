// The k best labelled trees, by the partition of Lawler and Murty around any decoder of trees.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "inference/trees/decoder.hpp"

namespace dualstruct::trees {

struct LabelledTree {
    double score = 0;
    std::vector<std::int32_t> heads;   // [words + 1]
    std::vector<std::int32_t> labels;  // [words + 1]; −1 for the root
};

class KBestTrees {
public:
    explicit KBestTrees(std::unique_ptr<TreeDecoder> decoder) : decoder_(std::move(decoder)) {}

    // scores[(h*(words + 1) + m)*labels + l]. Best first; fewer than k when there are no more, none when there is no
    // tree at all.
    std::vector<LabelledTree> find(const float* scores, int words, int labels, bool single_root, int k);

private:
    // All trees that agree with `best` on the words before `branch`, and do without `forbidden` at that word.
    struct Subset {
        LabelledTree best;
        int branch;
        std::vector<std::int32_t> forbidden;  // head*labels + label
    };

    bool solve(Subset& subset);
    std::int32_t best_label(int head, int word, const std::vector<std::int32_t>& forbidden) const;
    float labelled(int head, int word, int label) const;

    std::unique_ptr<TreeDecoder> decoder_;
    const float* scores_ = nullptr;
    int nodes_ = 0, labels_ = 0;
    bool single_root_ = false;
    std::vector<float> unlabelled_;         // [nodes, nodes]: with the best label
    std::vector<std::int32_t> best_label_;  // [nodes, nodes]
    std::vector<float> restricted_;         // [nodes, nodes]: of one subset
};

}  // namespace dualstruct::trees
