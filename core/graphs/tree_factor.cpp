#include "graphs/tree_factor.hpp"

#include <algorithm>

#include "trees/chu_liu_edmonds.hpp"
#include "trees/eisner.hpp"
#include "trees/factors.hpp"
#include "trees/inside_outside.hpp"
#include "trees/matrix_tree.hpp"

namespace dualstruct::graphs {

namespace {

// Algorithms keep their buffers: one set a thread.
struct Buffers {
    std::vector<float> scores, marginals;
    trees::Eisner eisner;
    trees::ChuLiuEdmonds chu_liu_edmonds;
    trees::InsideOutside inside_outside;
    trees::MatrixTree matrix_tree;
};

Buffers& buffers() {
    thread_local Buffers here;
    return here;
}

}  // namespace

TreeFactor::TreeFactor(int words, std::span<const Arc> arcs, bool projective, bool single_root)
    : words_(words), projective_(projective), single_root_(single_root), arcs_(arcs.begin(), arcs.end()) {
    slot_of_.assign(static_cast<std::size_t>(words + 1) * static_cast<std::size_t>(words + 1), -1);
    for (std::size_t k = 0; k < arcs_.size(); ++k) {
        slot_of_[cell(arcs_[k].head, arcs_[k].modifier)] = static_cast<std::int32_t>(k);
    }
}

const float* TreeFactor::fill(std::span<const double> slots) const {
    auto& scores = buffers().scores;
    scores.assign(slot_of_.size(), static_cast<float>(minus_infinity));
    for (std::size_t k = 0; k < arcs_.size(); ++k) {
        scores[cell(arcs_[k].head, arcs_[k].modifier)] = static_cast<float>(slots[k]);
    }
    return scores.data();
}

double TreeFactor::maximise(std::span<const double> slots, std::span<const double>,
                            std::span<std::int32_t> configuration) const {
    auto& here = buffers();
    const float* scores = fill(slots);
    trees::TreeDecoder* decoder = &here.chu_liu_edmonds;
    if (projective_) decoder = &here.eisner;
    if (!decoder->decode(scores, words_, single_root_, configuration.data())) return minus_infinity;
    return slot_score(configuration, slots);
}

double TreeFactor::slot_score(std::span<const std::int32_t> configuration, std::span<const double> slots) const {
    double total = 0;
    for (int m = 1; m <= words_; ++m) {
        total += slots[static_cast<std::size_t>(slot(configuration[static_cast<std::size_t>(m)], m))];
    }
    return total;
}

void TreeFactor::add_counts(std::span<const std::int32_t> configuration, double weight,
                            std::span<double> slots) const {
    for (int m = 1; m <= words_; ++m) {
        slots[static_cast<std::size_t>(slot(configuration[static_cast<std::size_t>(m)], m))] += weight;
    }
}

int TreeFactor::common(std::span<const std::int32_t> a, std::span<const std::int32_t> b) const {
    int same = 0;
    for (std::size_t m = 1; m < a.size(); ++m) same += a[m] == b[m];
    return same;
}

bool TreeFactor::read(std::span<const std::uint8_t> on, std::span<std::int32_t> configuration) const {
    std::ranges::fill(configuration, -1);
    for (std::size_t k = 0; k < arcs_.size(); ++k) {
        if (!on[k]) continue;
        std::int32_t& head = configuration[static_cast<std::size_t>(arcs_[k].modifier)];
        if (head >= 0) return false;
        head = arcs_[k].head;
    }
    return trees::is_tree(configuration, projective_, single_root_);
}

double TreeFactor::marginals(std::span<const double> slots, std::span<const double>, std::span<double> result,
                             std::span<double>) const {
    auto& here = buffers();
    const float* scores = fill(slots);
    here.marginals.assign(slot_of_.size(), 0.0f);
    trees::TreeSums* sums = &here.matrix_tree;
    if (projective_) sums = &here.inside_outside;
    double log_partition = 0;
    if (!sums->marginals(scores, words_, single_root_, here.marginals.data(), log_partition)) return minus_infinity;
    for (std::size_t k = 0; k < arcs_.size(); ++k) result[k] = here.marginals[cell(arcs_[k].head, arcs_[k].modifier)];
    return log_partition;
}

}  // namespace dualstruct::graphs
