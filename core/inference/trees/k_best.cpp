#include "inference/trees/k_best.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "base/infinity.hpp"

namespace dualstruct::trees {
namespace {}  // namespace

std::vector<LabelledTree> KBestTrees::find(const float* scores, int words, int labels, bool single_root, int k) {
    scores_ = scores;
    nodes_ = words + 1;
    labels_ = labels;
    single_root_ = single_root;
    const std::size_t cells = at(nodes_) * nodes_;
    unlabelled_.resize(cells);
    best_label_.resize(cells);
    restricted_.resize(cells);
    for (int h = 0; h < nodes_; ++h) {
        for (int m = 0; m < nodes_; ++m) {
            const std::size_t place = at(h) * nodes_ + m;
            best_label_[place] = best_label(h, m, {});
            unlabelled_[place] = best_label_[place] < 0 ? -infinity : labelled(h, m, best_label_[place]);
        }
    }

    const auto worse = [](const Subset& a, const Subset& b) { return a.best.score < b.best.score; };
    std::vector<Subset> queue;
    std::vector<LabelledTree> found;
    Subset all{{}, 1, {}};
    if (k > 0 && solve(all)) queue.push_back(std::move(all));
    while (!queue.empty()) {
        std::pop_heap(queue.begin(), queue.end(), worse);
        const Subset subset = std::move(queue.back());
        queue.pop_back();
        found.push_back(subset.best);
        if (static_cast<int>(found.size()) == k) break;
        // The other trees of the subset differ from its best at a first word.
        for (int branch = subset.branch; branch < nodes_; ++branch) {
            Subset part{subset.best, branch, {}};
            if (branch == subset.branch) part.forbidden = subset.forbidden;
            part.forbidden.push_back(subset.best.heads[branch] * labels_ + subset.best.labels[branch]);
            if (!solve(part)) continue;
            queue.push_back(std::move(part));
            std::push_heap(queue.begin(), queue.end(), worse);
        }
    }
    // Decoders compare rounded sums: trees that are equal up to rounding may have come out of order.
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
    return found;
}

// Finds the best tree of a subset whose `best` holds the words before `branch`.
bool KBestTrees::solve(Subset& subset) {
    std::copy(unlabelled_.begin(), unlabelled_.end(), restricted_.begin());
    LabelledTree& tree = subset.best;
    tree.heads.resize(nodes_, -1);
    tree.labels.resize(nodes_, -1);
    const auto cell = [this](int h, int m) { return at(h) * nodes_ + m; };
    for (int m = 1; m < subset.branch; ++m) {
        for (int h = 0; h < nodes_; ++h) restricted_[cell(h, m)] = -infinity;
        restricted_[cell(tree.heads[m], m)] = labelled(tree.heads[m], m, tree.labels[m]);
    }
    const int branch = subset.branch;
    for (const auto forbidden : subset.forbidden) {
        const int h = forbidden / labels_;
        const std::int32_t label = best_label(h, branch, subset.forbidden);
        restricted_[cell(h, branch)] = label < 0 ? -infinity : labelled(h, branch, label);
    }
    if (!decoder_->decode(restricted_.data(), nodes_ - 1, single_root_, tree.heads.data())) return false;
    tree.score = 0;
    for (int m = 1; m < nodes_; ++m) {
        const int h = tree.heads[m];
        if (m == branch) {
            tree.labels[m] = best_label(h, m, subset.forbidden);
        } else if (m > branch) {
            tree.labels[m] = best_label_[cell(h, m)];
        }
        tree.score += labelled(h, m, tree.labels[m]);
    }
    return true;
}

// −1 when no label is left.
std::int32_t KBestTrees::best_label(int head, int word, const std::vector<std::int32_t>& forbidden) const {
    float best = -infinity;
    std::int32_t label = -1;
    for (int l = 0; l < labels_; ++l) {
        const float score = labelled(head, word, l);
        if (score > best && std::find(forbidden.begin(), forbidden.end(), head * labels_ + l) == forbidden.end()) {
            best = score;
            label = l;
        }
    }
    return label;
}

float KBestTrees::labelled(int head, int word, int label) const {
    return scores_[(at(head) * nodes_ + word) * labels_ + label];
}

}  // namespace dualstruct::trees
