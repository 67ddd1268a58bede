// The part of FactorGraph that sums over all assignments: losses, expected features and marginals of parts.

#include <algorithm>
#include <cmath>

#include "base/index.hpp"
#include "structures/graph/factor_graph.hpp"
#include "structures/graph/factor_graph_loops.hpp"

namespace dualstruct {

using graphs::Graph;
using graphs::minus_infinity;

double FactorGraph::log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const {
    return marginals(w, i, beta, gamma, scratch).log_partition / beta - score(w, i, example(i).truth);
}

template <class Probability, class Visit>
void FactorGraph::expected(std::int64_t i, Probability probability, Visit visit) const {
    const Graph& g = graph(i);
    std::vector<float> of_configurations;
    for_soft_factors(i, [&](int f, const Soft& kind) {
        of_configurations.assign(at(kind.configurations), 0.0f);
        for (int entry = 0; entry < g.score_count(f); ++entry) {
            const int c = kind.configuration(entry);
            if (c >= 0) of_configurations[at(c)] += static_cast<float>(probability(g.first_score(f) + entry));
        }
        visit(f, kind, of_configurations);
    });
}

void FactorGraph::add_expected_difference(float* target, std::int64_t i, float step, Scratch& scratch) const {
    const auto& marginals = static_cast<GraphScratch&>(scratch).marginals;
    const Graph& g = graph(i);
    expected(
        i, [&](int entry) { return marginals.factors[at(entry)]; },
        [&](int f, const Soft& kind, std::vector<float>& p) {
            for (float& value : p) value = -value;
            p[at(kind.configuration(g.table_entry(f, example(i).truth)))] += 1;
            for_features(i, f, [&](std::int64_t feature, float value) {
                float* row = target + kind.offset + feature * kind.configurations;
                for (std::size_t c = 0; c < p.size(); ++c) row[c] += step * value * p[c];
            });
        });
}

double FactorGraph::expected_difference_norm2(std::int64_t i, Scratch& scratch) const {
    auto& buffers = static_cast<GraphScratch&>(scratch);
    const Graph& g = graph(i);
    const auto probability = [&](int entry) { return buffers.marginals.factors[at(entry)]; };
    std::size_t total = 0;
    expected(i, probability, [&](int f, const Soft&, std::vector<float>& p) {
        for_features(i, f, [&](std::int64_t, float) { total += p.size(); });
    });
    buffers.sum.reset(total);
    expected(i, probability, [&](int f, const Soft& kind, std::vector<float>& p) {
        p[at(kind.configuration(g.table_entry(f, example(i).truth)))] -= 1;
        for_features(i, f, [&](std::int64_t feature, float value) {
            const auto row = static_cast<std::uint64_t>(kind.offset + feature * kind.configurations);
            for (std::size_t c = 0; c < p.size(); ++c) buffers.sum.add(row + c, value * p[c]);
        });
    });
    return buffers.sum.squared_norm();
}

std::int64_t FactorGraph::part_count(std::int64_t i) const { return graph(i).total_states() + graph(i).total_scores(); }

void FactorGraph::part_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const {
    GraphScratch buffers;
    fill_scores(w, i, 1, gamma, buffers);
    auto out = scores.begin();
    for (double score : buffers.variables) *out++ = static_cast<float>(score);
    // Forbidden entries are known from the shape.
    for (double score : buffers.factors) *out++ = std::isfinite(score) ? static_cast<float>(score) : 0.0f;
}

double FactorGraph::part_marginals(std::int64_t i, std::span<const float> scores, std::span<float> marginals,
                                   Scratch& scratch) const {
    auto& buffers = static_cast<GraphScratch&>(scratch);
    const Graph& g = graph(i);
    const auto states = at(g.total_states());
    buffers.variables.assign(scores.begin(), scores.begin() + g.total_states());
    buffers.factors = shape(i).fixed;
    for_soft_factors(i, [&](int f, const Soft& kind) {
        for (int entry = 0; entry < g.score_count(f); ++entry) {
            const auto k = at(g.first_score(f) + entry);
            buffers.factors[k] = kind.configuration(entry) < 0 ? minus_infinity : double{scores[states + k]};
        }
    });
    const graphs::Scores given{buffers.variables, buffers.factors};
    const auto& found = buffers.inference.marginals(g, given, sum_);
    if (!found.feasible) fail(i, given, graphs::Status::infeasible);
    auto out = marginals.begin();
    for (double p : found.variables) *out++ = static_cast<float>(p);
    for (double p : found.factors) *out++ = static_cast<float>(p);
    return found.log_partition;
}

double FactorGraph::expected_part_cost(std::int64_t i, std::span<const float> marginals) const {
    const Graph& g = graph(i);
    double total = 0;
    for (int v = 0; v < g.variables(); ++v) {
        for (int s = 0; s < g.states(v); ++s) {
            total += double{marginals[at(g.first_state(v) + s)]} * cost(i, v, s);
        }
    }
    return total;
}

void FactorGraph::add_parts(float* w, std::int64_t i, std::span<const float> marginals, float step) const {
    const auto states = at(graph(i).total_states());
    expected(
        i, [&](int entry) { return marginals[states + at(entry)]; },
        [&](int f, const Soft& kind, std::vector<float>& p) {
            for_features(i, f, [&](std::int64_t feature, float value) {
                float* row = w + kind.offset + feature * kind.configurations;
                for (std::size_t c = 0; c < p.size(); ++c) row[c] += step * value * p[c];
            });
        });
}

void FactorGraph::add_variance(float* target, std::int64_t i) const {
    for_soft_factors(i, [&](int f, const Soft& kind) {
        const auto count = static_cast<float>(kind.configurations);
        const float variance = std::max(count - 1, 0.5f) / (count * count);
        for_features(i, f, [&](std::int64_t feature, float value) {
            float* row = target + kind.offset + feature * kind.configurations;
            for (std::int64_t c = 0; c < kind.configurations; ++c) row[c] += value * value * variance;
        });
    });
}

void FactorGraph::mark_observed(float* marks, std::int64_t i) const {
    for_soft_factors(i, [&](int f, const Soft& kind) {
        const int c = kind.configuration(graph(i).table_entry(f, example(i).truth));
        for_features(i, f,
                     [&](std::int64_t feature, float) { marks[kind.offset + feature * kind.configurations + c] = 1; });
    });
}

}  // namespace dualstruct
