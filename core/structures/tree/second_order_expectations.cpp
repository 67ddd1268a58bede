// Sums over second-order trees: losses that sum over all outputs, their gradients, and marginals.

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/index.hpp"
#include "structures/tree/second_order_tree.hpp"

namespace dualstruct {
namespace {

// Parts less probable than this are left out of gradients: most parts are, and they are most of the work.
constexpr float least_probability = 1e-6f;

SecondOrderScratch& sums_scratch(Scratch& scratch) { return static_cast<SecondOrderScratch&>(scratch); }

// Belief propagation while learning: a few sweeps, as in Smith and Eisner (2008).
graphs::PropagationOptions few_sweeps() {
    graphs::PropagationOptions options;
    options.max_iterations = 10;
    options.damping = 0.1;
    options.tolerance = 1e-3;
    return options;
}

}  // namespace

std::int64_t SecondOrderTree::part_count(std::int64_t i) const {
    const auto begin = at(kept_.offsets[at(i)]), end = at(kept_.offsets[at(i) + 1]);
    const auto nodes = at(words(i)) + 1;
    if (nodes == 1) return 0;
    thread_local std::vector<std::int32_t> left, right, in;
    for (auto* counts : {&left, &right, &in}) counts->assign(nodes, 0);
    for (std::size_t a = begin; a < end; ++a) {
        const auto h = kept_.heads[a], m = kept_.modifiers[a];
        ++(m < h ? left : right)[h];
        ++in[m];
    }
    auto count = static_cast<std::int64_t>(end - begin) * first_->features().labels();
    for (std::size_t h = 0; h < nodes; ++h) {
        count += trees::SecondOrderParts::steps(left[h]) + trees::SecondOrderParts::steps(right[h]) +
                 in[h] * (left[h] + right[h]);
    }
    return count;
}

void SecondOrderTree::score_all_parts(const float* w, std::int64_t i, double gamma, SecondOrderScratch& scratch,
                                      std::span<float> scores) const {
    const int L = first_->features().labels();
    first_->features().score_arcs(
        w, i, scratch.sums,
        [&](int h, int m, float score, const float* labels, int) {
            float* to = scores.data() + at(scratch.parts.arc(h, m)) * L;
            for (int k = 0; k < L; ++k) to[k] = score + labels[k];
            if (gamma == 0) return;
            const Tree::Arc truth = first_->true_arc(i, m);
            for (int k = 0; k < L; ++k) to[k] += static_cast<float>(gamma) * first_->cost_of({m, h, k}, truth);
        },
        scratch.kept.data());
    score_parts(w, scratch);
    std::ranges::transform(scratch.extra_scores, scores.begin() + scratch.parts.arcs() * L,
                           [](double score) { return static_cast<float>(score); });
}

// Returns log Σ exp(score of y), or Bethe's estimate of it.
double SecondOrderTree::sum_parts(std::int64_t i, std::span<const float> scores,
                                  const graphs::PropagationOptions& options, SecondOrderScratch& scratch,
                                  std::span<float> marginals) const {
    const int L = first_->features().labels(), arcs = scratch.parts.arcs();
    scratch.arc_scores.resize(at(arcs));
    for (int a = 0; a < arcs; ++a) {
        const float* of_labels = scores.data() + at(a) * L;
        const float largest = *std::max_element(of_labels, of_labels + L);
        double sum = 0;
        for (int k = 0; k < L; ++k) sum += std::exp(of_labels[k] - largest);
        scratch.arc_scores[at(a)] = largest + std::log(sum);
    }
    const auto extras = scores.subspan(at(arcs) * L);
    scratch.extra_scores.assign(extras.begin(), extras.end());
    auto& found = scratch.found;
    const auto& shape = first_->options();
    if (shape.projective) {
        found.found = scratch.tree_sums.marginals(scratch.parts, scratch.arc_scores, scratch.extra_scores,
                                                  shape.single_root, found.arcs, found.extras, found.log_partition);
        found.converged = true;
    } else {
        found = trees::second_order_marginals(scratch.parts, scratch.arc_scores, scratch.extra_scores,
                                              {shape.projective, shape.single_root}, options);
    }
    if (!found.found) throw Infeasible(i, 0);
    for (int a = 0; a < arcs; ++a) {
        const double p = found.arcs[at(a)], log_sum = scratch.arc_scores[at(a)];
        for (int k = 0; k < L; ++k) {
            const std::size_t place = at(a) * L + k;
            marginals[place] = static_cast<float>(p * std::exp(scores[place] - log_sum));
        }
    }
    std::ranges::transform(found.extras, marginals.begin() + arcs * L, [](double p) { return static_cast<float>(p); });
    return found.log_partition;
}

void SecondOrderTree::part_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const {
    thread_local SecondOrderScratch scratch;
    if (load(i, scratch)) score_all_parts(w, i, gamma, scratch, scores);
}

double SecondOrderTree::part_marginals(std::int64_t i, std::span<const float> scores, std::span<float> marginals,
                                       Scratch& base) const {
    SecondOrderScratch& scratch = sums_scratch(base);
    return load(i, base) ? sum_parts(i, scores, few_sweeps(), scratch, marginals) : 0;
}

double SecondOrderTree::expected_part_cost(std::int64_t i, std::span<const float> marginals) const {
    thread_local SecondOrderScratch scratch;
    if (!load(i, scratch)) return 0;
    const int L = first_->features().labels();
    double total = 0;
    for (int a = 0; a < scratch.parts.arcs(); ++a) {
        const int m = scratch.parts.modifier_of(a);
        const Tree::Arc truth = first_->true_arc(i, m);
        for (int k = 0; k < L; ++k) {
            total += double{marginals[at(a) * L + k]} * first_->cost_of({m, scratch.parts.head_of(a), k}, truth);
        }
    }
    return total;
}

template <class Add>
void SecondOrderTree::each_expected(std::int64_t i, std::span<const float> marginals, const SecondOrderScratch& scratch,
                                    Add add) const {
    const ArcFeatures& features = first_->features();
    const int L = features.labels();
    thread_local std::vector<ArcFeatures::Node> nodes;
    features.nodes(i, nodes);
    for (int a = 0; a < scratch.parts.arcs(); ++a) {
        const float* p = marginals.data() + at(a) * L;
        float arc = 0, largest = 0;
        for (int k = 0; k < L; ++k) {
            arc += p[k];
            largest = std::max(largest, std::abs(p[k]));  // differences of probabilities come here, too
        }
        if (largest < least_probability) continue;
        const int h = scratch.parts.head_of(a), m = scratch.parts.modifier_of(a);
        const auto &head = nodes[at(h)], &modifier = nodes[at(m)];
        features.for_each_arc(i, h, m, head, modifier, [&](std::int64_t index) { add(index, arc); });
        features.for_each_label_row(h, m, head, modifier, [&](std::int64_t row) {
            for (int k = 0; k < L; ++k) add(row + k, p[k]);
        });
    }
    const auto extras = marginals.subspan(at(scratch.parts.arcs()) * L);
    const auto visit = [&](int index, const Part& part) {
        const float p = extras[at(index)];
        if (std::abs(p) < least_probability) return;
        each_index(nodes, part, [&](std::int64_t place) { add(place, p); });
    };
    scratch.parts.for_each(
        [&](int index, int h, int s, int m, bool right) {
            if (options_.siblings) visit(index, {h, s, m, static_cast<std::uint8_t>(right)});
        },
        [&](int index, int g, int h, int m) {
            if (options_.grandparents && g != m) visit(index, {g, h, m, 2});
        });
}

void SecondOrderTree::add_parts(float* w, std::int64_t i, std::span<const float> marginals, float step) const {
    thread_local SecondOrderScratch scratch;
    if (!load(i, scratch)) return;
    each_expected(i, marginals, scratch, [&](std::int64_t index, float p) { w[index] += step * p; });
}

double SecondOrderTree::log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& base) const {
    SecondOrderScratch& scratch = sums_scratch(base);
    scratch.summed = false;
    if (!load(i, base)) return 0;
    const int n = words(i), L = first_->features().labels();
    const std::size_t arcs = at(scratch.parts.arcs()) * L;
    scratch.part_scores.resize(arcs + at(scratch.parts.extras()));
    scratch.part_marginals.resize(scratch.part_scores.size());
    score_all_parts(w, i, gamma, scratch, scratch.part_scores);
    scratch.heads.assign(1, -1);
    bool kept = true;
    double truth_score = 0;
    for (int m = 1; m <= n; ++m) {
        const Tree::Arc truth = first_->true_arc(i, m);
        const int arc = scratch.parts.arc(truth.head, m);
        scratch.heads.push_back(truth.head);
        kept = kept && arc >= 0;
        if (kept) truth_score += scratch.part_scores[at(arc) * L + truth.label];
    }
    if (kept) {
        scratch.parts.for_each_of(scratch.heads,
                                  [&](int index) { truth_score += scratch.part_scores[arcs + at(index)]; });
    } else {  // pruning has left the truth without an arc
        output_of(i, {}, scratch.output);
        truth_score = score(w, i, scratch.output);
    }
    for (float& score : scratch.part_scores) score *= static_cast<float>(beta);
    return sum_parts(i, scratch.part_scores, few_sweeps(), scratch, scratch.part_marginals) / beta - truth_score;
}

void SecondOrderTree::add_expected_difference(float* target, std::int64_t i, float step, Scratch& base) const {
    SecondOrderScratch& scratch = sums_scratch(base);
    if (words(i) == 0) return;
    if (scratch.summed) {
        scratch.sum.for_each([&](std::uint64_t index, float value) { target[index] += step * value; });
        return;
    }
    output_of(i, {}, scratch.output);
    add_features(target, i, scratch.output, step);
    each_expected(i, scratch.part_marginals, scratch, [&](std::int64_t index, float p) { target[index] -= step * p; });
}

double SecondOrderTree::expected_difference_norm2(std::int64_t i, Scratch& base) const {
    SecondOrderScratch& scratch = sums_scratch(base);
    SparseSum& sum = scratch.sum;
    sum.reset();
    if (words(i) == 0) return 0;
    const auto add = [&](std::int64_t index, float value) { sum.add(static_cast<std::uint64_t>(index), value); };
    output_of(i, {}, scratch.output);
    first_->add_to(sum, i, scratch.output);
    for_each_of(i, scratch.output, [&](std::int64_t index) { add(index, 1); });
    each_expected(i, scratch.part_marginals, scratch, [&](std::int64_t index, float p) { add(index, -p); });
    scratch.summed = true;
    return sum.squared_norm();
}

void SecondOrderTree::add_variance(float* target, std::int64_t i) const {
    thread_local SecondOrderScratch scratch;
    if (!load(i, scratch)) return;
    // As if every word chose its head, among those kept, and its label freely.
    const int L = first_->features().labels();
    const auto chance = [&](int m) { return 1.0f / static_cast<float>(scratch.parts.head(m).in); };
    std::vector<float> p(at(part_count(i)));
    for (int a = 0; a < scratch.parts.arcs(); ++a) {
        for (int k = 0; k < L; ++k) p[at(a) * L + k] = chance(scratch.parts.modifier_of(a)) / static_cast<float>(L);
    }
    float* extras = p.data() + at(scratch.parts.arcs()) * L;
    scratch.parts.for_each([&](int index, int h, int s, int m,
                               bool) { extras[index] = (s == h ? 1 : chance(s)) * (m == h ? 0.5f : chance(m)); },
                           [&](int index, int, int h, int m) { extras[index] = chance(h) * chance(m); });
    each_expected(i, p, scratch, [&](std::int64_t index, float each) { target[index] += each; });
}

trees::SecondOrderMarginals SecondOrderTree::marginals(const float* w, std::int64_t i,
                                                       const graphs::PropagationOptions& options, Scratch& base,
                                                       std::vector<float>& arcs) const {
    SecondOrderScratch& scratch = sums_scratch(base);
    const auto nodes = at(words(i)) + 1;
    arcs.assign(nodes * nodes, 0.0f);
    if (!load(i, base)) {
        trees::SecondOrderMarginals nothing;
        nothing.found = nothing.converged = true;
        return nothing;
    }
    scratch.part_scores.resize(at(part_count(i)));
    scratch.part_marginals.resize(scratch.part_scores.size());
    score_all_parts(w, i, 0, scratch, scratch.part_scores);
    sum_parts(i, scratch.part_scores, options, scratch, scratch.part_marginals);
    for (int a = 0; a < scratch.parts.arcs(); ++a) {
        arcs[at(scratch.parts.head_of(a)) * nodes + at(scratch.parts.modifier_of(a))] =
            static_cast<float>(scratch.found.arcs[at(a)]);
    }
    return scratch.found;
}

}  // namespace dualstruct
