#include "structures/tree/tree.hpp"

#include <cmath>

#include "base/index.hpp"
#include "base/infinity.hpp"
#include "base/prefetch.hpp"
#include "inference/trees/algorithms.hpp"
#include "inference/trees/factors.hpp"
#include "inference/trees/k_best.hpp"

namespace dualstruct {

namespace {

// Less than the rounding of the sums that a probability goes into: after a few passes most arcs are below it.
constexpr float negligible = 1e-8f;
struct TreeScratch final : Scratch {
    ArcFeatures::Sums sums;
    std::vector<float> arcs;           // [n + 1, n + 1]
    std::vector<std::uint8_t> labels;  // [n + 1, n + 1]: the best of each arc
    std::vector<std::int32_t> heads;   // [n + 1]
    std::vector<float> labelled;       // [n + 1, n + 1, labels]: scores
    std::vector<float> marginals;      // [n + 1, n + 1, labels]: what log_loss found
    std::vector<float> arc_marginals;  // [n + 1, n + 1]
    std::unique_ptr<trees::TreeDecoder> decoder;
    std::unique_ptr<trees::TreeSums> tree_sums;
};

TreeScratch& tree_scratch(Scratch& scratch) { return static_cast<TreeScratch&>(scratch); }

}  // namespace

Tree::Tree(ArcFeatures features, std::vector<std::int32_t> heads, std::vector<std::int32_t> labels,
           const TreeOptions& options)
    : features_(std::move(features)), heads_(std::move(heads)), labels_(std::move(labels)), options_(options) {}

std::unique_ptr<Scratch> Tree::make_scratch() const {
    auto scratch = std::make_unique<TreeScratch>();
    scratch->decoder = trees::make_decoder(options_.projective);
    scratch->tree_sums = trees::make_sums(options_.projective);
    return scratch;
}

void Tree::decode(const float* w, std::int64_t i, float cost_weight, Scratch& base) const {
    TreeScratch& scratch = tree_scratch(base);
    const int n = words(i), nodes = n + 1;
    scratch.arcs.resize(at(nodes) * nodes);
    scratch.labels.resize(scratch.arcs.size());
    scratch.heads.resize(at(nodes));
    scratch.output.resize(2 * at(n));
    if (n == 0) return;
    score_arcs(w, i, cost_weight, scratch.sums, scratch.arcs, scratch.labels);
    if (!scratch.decoder->decode(scratch.arcs.data(), n, options_.single_root, scratch.heads.data())) {
        fail_infeasible(i);
    }
    for (int m = 1; m <= n; ++m) {
        const std::int32_t h = scratch.heads[at(m)];
        scratch.output[at(m - 1)] = h;
        scratch.output[at(n + m - 1)] = scratch.labels[at(h) * nodes + m];
    }
}

void Tree::score_arcs(const float* w, std::int64_t i, float cost_weight, ArcFeatures::Sums& sums, std::span<float> arcs,
                      std::span<std::uint8_t> labels, const std::uint8_t* kept) const {
    const int nodes = words(i) + 1, L = features_.labels();
    features_.score_arcs(
        w, i, sums,
        [&](int h, int m, float score, float* of_labels, int best) {
            if (cost_weight != 0) {
                const Arc truth = true_arc(i, m);
                if (h != truth.head) {
                    score += cost_weight;
                } else {
                    const float miss = cost_weight * options_.label_cost;
                    for (int k = 0; k < L; ++k) of_labels[k] += miss;
                    of_labels[truth.label] -= miss;
                    best = features_.kernels().largest(of_labels, features_.stride(), L);
                }
            }
            const auto place = at(h) * nodes + m;
            arcs[place] = score + of_labels[best];
            labels[place] = static_cast<std::uint8_t>(best);
        },
        kept);
}

bool Tree::is_output(std::int64_t i, std::span<const std::int32_t> output) const {
    const int n = words(i);
    if (output.size() != 2 * at(n)) return false;
    for (int m = 1; m <= n; ++m) {
        const std::int32_t head = output[at(m - 1)], label = output[at(n + m - 1)];
        if (head < 0 || head > n || head == m || label < 0 || label >= features_.labels()) return false;
    }
    return true;
}

void Tree::difference(std::int64_t i, std::span<const std::int32_t> output, Difference& d) const {
    const int n = words(i);
    d.codes.clear();
    d.cost = 0;
    for (int m = 1; m <= n; ++m) {
        const Arc arc{m, output[at(m - 1)], output[at(n + m - 1)]};
        const Arc truth = true_arc(i, m);
        if (arc.head == truth.head && arc.label == truth.label) continue;
        d.cost += cost_of(arc, truth);
        d.codes.push_back(static_cast<Code>(m) << 20 | static_cast<Code>(arc.head) << 8 | static_cast<Code>(arc.label));
    }
    d.is_truth = d.codes.empty();
}

bool Tree::is_valid(std::int64_t i, std::span<const Code> codes) const {
    const int n = words(i);
    int last = 0;
    for (Code code : codes) {
        const Arc arc = unpack(code);
        if (arc.modifier <= last || arc.modifier > n || arc.head > n || arc.head == arc.modifier ||
            arc.label >= features_.labels()) {
            return false;
        }
        last = arc.modifier;
    }
    return true;
}

void Tree::output_of(std::int64_t i, std::span<const Code> given, std::vector<std::int32_t>& output) const {
    const int n = words(i);
    output.resize(2 * at(n));
    const auto set = [&](const Arc& arc) {
        output[at(arc.modifier - 1)] = arc.head;
        output[at(n + arc.modifier - 1)] = arc.label;
    };
    for (int m = 1; m <= n; ++m) set(true_arc(i, m));
    for (Code code : given) set(unpack(code));
}

bool Tree::allows(std::int64_t i, std::span<const std::int32_t> output) const {
    std::vector<std::int32_t> heads(1, -1);
    heads.insert(heads.end(), output.begin(), output.begin() + words(i));
    return trees::is_tree(heads, options_.projective, options_.single_root);
}

template <class F>
void Tree::for_each_in(std::int64_t i, std::span<const Code> codes, F f) const {
    for (Code code : codes) {
        const Arc cut = unpack(code), truth = true_arc(i, cut.modifier);
        features_.for_each_difference(i, cut.modifier, truth.head, truth.label, cut.head, cut.label, f);
    }
}

template <class F>
void Tree::for_each_of(std::int64_t i, std::span<const std::int32_t> output, F f) const {
    const int n = words(i);
    for (int m = 1; m <= n; ++m) {
        const int h = output[at(m - 1)];
        features_.for_each(i, h, m, output[at(n + m - 1)], features_.node(i, h), features_.node(i, m), f);
    }
}

double Tree::dot(const float* w, std::int64_t i, std::span<const Code> codes) const {
    double total = 0;
    for_each_in(i, codes, [&](std::int64_t index, float sign) { total += sign * w[index]; });
    return total;
}

void Tree::axpy(float* w, std::int64_t i, std::span<const Code> codes, float step) const {
    for_each_in(i, codes, [&](std::int64_t index, float sign) { w[index] += sign * step; });
}

void Tree::accumulate(std::int64_t i, std::span<const Code> codes, float coefficient, SparseSum& sum) const {
    for_each_in(i, codes, [&](std::int64_t index, float sign) {
        sum.add(static_cast<std::uint64_t>(index), sign * coefficient);
    });
}

void Tree::axpy(float* w, std::int64_t i, std::span<const Code> codes, float step, SharedLines& lines) const {
    for_each_in(i, codes, [&](std::int64_t index, float sign) { w[index] += sign * step * lines.touch(index); });
}

double Tree::dot(const float* w, std::int64_t i, std::span<const Code> codes, const SharedLines& lines,
                 double& mean_times) const {
    double total = 0, times = 0;
    std::int64_t count = 0;
    for_each_in(i, codes, [&](std::int64_t index, float sign) {
        total += sign * w[index];
        times += lines.times(index);
        ++count;
    });
    mean_times = count ? times / static_cast<double>(count) : 1;
    return total;
}

double Tree::score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const {
    double total = 0;
    for_each_of(i, output, [&](std::int64_t index) { total += w[index]; });
    return total;
}

void Tree::add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const {
    for_each_of(i, output, [&](std::int64_t index) { w[index] += step; });
}

void Tree::prefetch_cut(const float* w, std::int64_t i, std::span<const Code> codes) const {
    std::int64_t last = -1;
    for_each_in(i, codes, [&](std::int64_t index, float) {
        const std::int64_t line = index / ArcFeatures::line_width;
        if (line != last) prefetch(w + index);
        last = line;
    });
}

void Tree::labelled_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const {
    const int nodes = words(i) + 1, L = features_.labels();
    std::fill(scores.begin(), scores.end(), 0.0f);  // arcs that no tree has
    ArcFeatures::Sums sums;
    features_.score_arcs(w, i, sums, [&](int h, int m, float score, const float* labels, int) {
        float* to = scores.data() + (at(h) * nodes + m) * L;
        for (int k = 0; k < L; ++k) to[k] = score + labels[k];
        if (gamma == 0) return;
        const Arc truth = true_arc(i, m);
        for (int k = 0; k < L; ++k) to[k] += static_cast<float>(gamma) * cost_of({m, h, k}, truth);
    });
}

void Tree::part_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const {
    labelled_scores(w, i, gamma, scores);
}

double Tree::part_marginals(std::int64_t i, std::span<const float> scores, std::span<float> marginals,
                            Scratch& base) const {
    TreeScratch& scratch = tree_scratch(base);
    const int n = words(i), nodes = n + 1, L = features_.labels();
    std::fill(marginals.begin(), marginals.end(), 0.0f);
    if (n == 0) return 0;
    scratch.arcs.assign(at(nodes) * nodes, -infinity);
    scratch.arc_marginals.resize(scratch.arcs.size());
    const auto each_arc = [&](auto visit) {
        for (int m = 1; m <= n; ++m) {
            for (int h = 0; h <= n; ++h) {
                if (h != m) visit(at(h) * nodes + m);
            }
        }
    };
    each_arc([&](std::size_t place) {
        const float* of_labels = scores.data() + place * L;
        const float largest = *std::max_element(of_labels, of_labels + L);
        if (largest == -infinity) return;
        double sum = 0;
        for (int k = 0; k < L; ++k) sum += std::exp(of_labels[k] - largest);
        scratch.arcs[place] = largest + static_cast<float>(std::log(sum));
    });
    double log_partition = 0;
    if (!scratch.tree_sums->marginals(scratch.arcs.data(), n, options_.single_root, scratch.arc_marginals.data(),
                                      log_partition)) {
        fail_infeasible(i);
    }
    each_arc([&](std::size_t place) {
        const float p = scratch.arc_marginals[place];
        if (p <= 0) return;
        for (int k = 0; k < L; ++k) {
            marginals[place * L + at(k)] = p * std::exp(scores[place * L + at(k)] - scratch.arcs[place]);
        }
    });
    return log_partition;
}

double Tree::expected_part_cost(std::int64_t i, std::span<const float> marginals) const {
    const int n = words(i), L = features_.labels();
    double total = 0;
    for (int m = 1; m <= n; ++m) {
        const Arc truth = true_arc(i, m);
        for (int h = 0; h <= n; ++h) {
            const float* p = marginals.data() + (at(h) * (n + 1) + m) * L;
            for (int k = 0; k < L; ++k) total += double{p[k]} * cost_of({m, h, k}, truth);
        }
    }
    return total;
}

// add(index, probability) of every weight that the labelled arcs' features have.
template <class Add>
void Tree::add_marginals(std::int64_t i, std::span<const float> labelled, Add add) const {
    const int n = words(i), L = features_.labels();
    std::vector<ArcFeatures::Node> nodes;
    features_.nodes(i, nodes);
    for (int m = 1; m <= n; ++m) {
        for (int h = 0; h <= n; ++h) {
            const float* p = labelled.data() + (at(h) * (n + 1) + m) * L;
            float arc = 0, largest = 0;
            for (int k = 0; k < L; ++k) {
                arc += p[k];
                largest = std::max(largest, std::abs(p[k]));  // differences of probabilities come here, too
            }
            if (h == m || largest < negligible) continue;
            const auto &head = nodes[at(h)], &modifier = nodes[at(m)];
            features_.for_each_arc(i, h, m, head, modifier, [&](std::int64_t index) { add(index, arc); });
            features_.for_each_label_row(h, m, head, modifier, [&](std::int64_t row) {
                for (int k = 0; k < L; ++k) add(row + k, p[k]);
            });
        }
    }
}

void Tree::add_parts(float* w, std::int64_t i, std::span<const float> marginals, float step) const {
    add_marginals(i, marginals, [&](std::int64_t index, float p) { w[index] += step * p; });
}

double Tree::log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& base) const {
    TreeScratch& scratch = tree_scratch(base);
    scratch.labelled.resize(at(part_count(i)));
    scratch.marginals.resize(scratch.labelled.size());
    labelled_scores(w, i, gamma, scratch.labelled);
    const int n = words(i), L = features_.labels();
    double truth_score = 0;
    for (int m = 1; m <= n; ++m) {
        const Arc truth = true_arc(i, m);
        truth_score += scratch.labelled[(at(truth.head) * (n + 1) + m) * L + truth.label];
    }
    if (beta != 1) {
        for (float& score : scratch.labelled) score *= static_cast<float>(beta);
    }
    return part_marginals(i, scratch.labelled, scratch.marginals, scratch) / beta - truth_score;
}

void Tree::add_expected_difference(float* target, std::int64_t i, float step, Scratch& scratch) const {
    add_part_difference(*this, target, i, tree_scratch(scratch).marginals, step, scratch);
}

void Tree::add_to(SparseSum& sum, std::int64_t i, std::span<const std::int32_t> output) const {
    for_each_of(i, output, [&](std::int64_t index) { sum.add(static_cast<std::uint64_t>(index), 1); });
}

double Tree::expected_difference_norm2(std::int64_t i, Scratch& base) const {
    TreeScratch& scratch = tree_scratch(base);
    SparseSum& sum = scratch.sum;
    sum.reset();
    output_of(i, {}, scratch.output);
    add_to(sum, i, scratch.output);
    add_marginals(i, scratch.marginals,
                  [&](std::int64_t index, float p) { sum.add(static_cast<std::uint64_t>(index), -p); });
    return sum.squared_norm();
}

TreeExpectation Tree::expectation(const float* w, std::int64_t i, double beta, double gamma, Scratch& base) const {
    TreeScratch& scratch = tree_scratch(base);
    const int n = words(i), L = features_.labels();
    TreeExpectation result;
    scratch.labelled.resize(at(part_count(i)));
    labelled_scores(w, i, gamma, scratch.labelled);
    for (float& score : scratch.labelled) score *= static_cast<float>(beta);
    result.labels.resize(scratch.labelled.size());
    result.log_partition = part_marginals(i, scratch.labelled, result.labels, scratch) / beta;
    result.arcs.resize(at(n + 1) * (n + 1));
    for (std::size_t place = 0; place < result.arcs.size(); ++place) {
        for (int k = 0; k < L; ++k) result.arcs[place] += result.labels[place * L + at(k)];
    }
    result.expected_cost = has_truth() ? expected_part_cost(i, result.labels) : 0;
    return result;
}

std::vector<ScoredOutput> Tree::k_best(const float* w, std::int64_t i, float cost_weight, int k, Scratch& base) const {
    TreeScratch& scratch = tree_scratch(base);
    const int n = words(i);
    if (n == 0) return {ScoredOutput{0, {}}};
    scratch.labelled.resize(at(part_count(i)));
    labelled_scores(w, i, cost_weight, scratch.labelled);
    trees::KBestTrees finder(trees::make_decoder(options_.projective));
    std::vector<ScoredOutput> best;
    for (const auto& tree : finder.find(scratch.labelled.data(), n, features_.labels(), options_.single_root, k)) {
        ScoredOutput& output = best.emplace_back();
        output.output.assign(tree.heads.begin() + 1, tree.heads.end());
        output.output.insert(output.output.end(), tree.labels.begin() + 1, tree.labels.end());
        output.score = objective(w, i, output.output, cost_weight);
    }
    if (best.empty()) fail_infeasible(i);
    return best;
}

void Tree::add_variance(float* target, std::int64_t i) const {
    const int n = words(i), L = features_.labels();
    if (n == 0) return;
    // As if every word chose its head and label freely.
    const float p = 1.0f / static_cast<float>(n), q = p / static_cast<float>(L);
    std::vector<ArcFeatures::Node> nodes;
    features_.nodes(i, nodes);
    for (int m = 1; m <= n; ++m) {
        for (int h = 0; h <= n; ++h) {
            if (h == m) continue;
            const auto &head = nodes[at(h)], &modifier = nodes[at(m)];
            features_.for_each_arc(i, h, m, head, modifier, [&](std::int64_t index) { target[index] += p; });
            features_.for_each_label_row(h, m, head, modifier, [&](std::int64_t row) {
                for (int k = 0; k < L; ++k) target[row + k] += q;
            });
        }
    }
}

void Tree::mark_observed(float* marks, std::int64_t i) const {
    for (int m = 1; m <= words(i); ++m) {
        const Arc truth = true_arc(i, m);
        features_.for_each(i, truth.head, m, truth.label, features_.node(i, truth.head), features_.node(i, m),
                           [&](std::int64_t index) { marks[index] = 1; });
    }
}

}  // namespace dualstruct
