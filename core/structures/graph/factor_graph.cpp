#include "structures/graph/factor_graph.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/index.hpp"
#include "base/random.hpp"
#include "structures/graph/factor_graph_loops.hpp"

namespace dualstruct {

using graphs::Graph;
using graphs::Kind;
using graphs::minus_infinity;

namespace {

// The state of a variable in the output that the codes describe.
std::int32_t state_of(std::span<const Code> codes, std::int32_t variable, std::int32_t otherwise) {
    std::size_t low = 0, high = codes.size() / 2;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        (static_cast<std::int32_t>(codes[2 * middle]) < variable ? low = middle + 1 : high = middle);
    }
    return low < codes.size() / 2 && static_cast<std::int32_t>(codes[2 * low]) == variable
               ? static_cast<std::int32_t>(codes[2 * low + 1])
               : otherwise;
}

}  // namespace

FactorGraph::FactorGraph(std::vector<FactorKind> kinds, graphs::RelaxationOptions map, graphs::PropagationOptions sum)
    : kinds_(std::move(kinds)), map_(map), sum_(sum), layout_(mix(kinds_.size())) {
    for (FactorKind& kind : kinds_) {
        kind.offset = dimension_;
        dimension_ += kind.features * kind.configurations;
        layout_ = mix(layout_ ^ static_cast<std::uint64_t>(kind.features) << 32 ^
                      static_cast<std::uint64_t>(kind.configurations));
    }
}

int FactorGraph::add_tie(std::vector<std::int32_t> tie) {
    ties_.push_back(std::move(tie));
    return static_cast<int>(ties_.size()) - 1;
}

int FactorGraph::add_shape(std::shared_ptr<const Graph> graph, std::vector<FactorBlock> blocks,
                           std::vector<double> fixed) {
    GraphShape shape{std::move(graph), std::move(blocks), std::move(fixed), {}};
    shape.block_of.assign(at(shape.graph->factors()), -1);
    for (std::size_t b = 0; b < shape.blocks.size(); ++b) {
        const FactorBlock& block = shape.blocks[b];
        for (std::int32_t f = block.first; f < block.first + block.count; ++f) {
            shape.block_of[at(f)] = static_cast<std::int32_t>(b);
        }
    }
    forests_ = forests_ && shape.graph->is_forest();
    shapes_.push_back(std::move(shape));
    return static_cast<int>(shapes_.size()) - 1;
}

void FactorGraph::add_example(int shape, std::vector<BlockFeatures> features, std::vector<std::int32_t> truth,
                              std::vector<float> costs) {
    if (truth.empty() && shapes_[at(shape)].graph->variables() > 0) has_truth_ = false;
    examples_.push_back({shape, std::move(features), std::move(truth), std::move(costs)});
}

std::unique_ptr<Scratch> FactorGraph::make_scratch() const { return std::make_unique<GraphScratch>(); }

float FactorGraph::cost(std::int64_t i, int variable, int state) const {
    const Example& e = example(i);
    if (!e.costs.empty()) return e.costs[at(graph(i).first_state(variable) + state)];
    return e.truth[at(variable)] == state ? 0.0f : 1.0f;
}

FactorGraph::Soft FactorGraph::soft(std::int64_t i, int f) const {
    const GraphShape& s = shape(i);
    const FactorBlock& block = s.blocks[at(s.block_of[at(f)])];
    const FactorKind& kind = kinds_[at(block.kind + (f - block.first) * block.kind_step)];
    return {kind.features, kind.configurations, kind.offset, block.tie < 0 ? nullptr : ties_[at(block.tie)].data()};
}

// row = features · weights: a score for each configuration.
void FactorGraph::fill_table(const float* w, std::int64_t i, int f, std::vector<float>& row) const {
    const Soft kind = soft(i, f);
    const std::int64_t count = kind.configurations;
    row.assign(at(count), 0.0f);
    const float* weights = w + kind.offset;
    for_features(i, f, [&](std::int64_t feature, float value) {
        const float* from = weights + feature * count;
        for (std::int64_t c = 0; c < count; ++c) row[at(c)] += value * from[c];
    });
}

void FactorGraph::fill_scores(const float* w, std::int64_t i, double scale, double cost_weight,
                              Scratch& scratch) const {
    auto& buffers = static_cast<GraphScratch&>(scratch);
    const GraphShape& s = shape(i);
    const Graph& g = *s.graph;
    buffers.variables.assign(at(g.total_states()), 0.0);
    if (cost_weight != 0) {
        for (int v = 0; v < g.variables(); ++v) {
            for (int state = 0; state < g.states(v); ++state) {
                buffers.variables[at(g.first_state(v) + state)] = scale * cost_weight * cost(i, v, state);
            }
        }
    }
    buffers.factors = s.fixed;
    for (const FactorBlock& block : s.blocks) {
        for (std::int32_t f = block.first; f < block.first + block.count; ++f) {
            const Soft kind = soft(i, f);
            // Factors that share kind and features share their row.
            if (f == block.first || block.kind_step != 0 || example(i).features[at(s.block_of[at(f)])].row_step != 0) {
                fill_table(w, i, f, buffers.row);
            }
            double* table = buffers.factors.data() + g.first_score(f);
            for (int entry = 0; entry < g.score_count(f); ++entry) {
                const int c = kind.configuration(entry);
                table[entry] = c < 0 ? minus_infinity : scale * buffers.row[at(c)];
            }
        }
    }
}

void FactorGraph::fail(std::int64_t i, const graphs::Scores& scores, graphs::Status status) const {
    if (status == graphs::Status::unknown) throw Infeasible(i, -2);
    throw Infeasible(i, graphs::first_contradiction(graph(i), scores));
}

const graphs::Best& FactorGraph::best(const float* w, std::int64_t i, float cost_weight, Scratch& scratch) const {
    auto& buffers = static_cast<GraphScratch&>(scratch);
    fill_scores(w, i, 1, cost_weight, scratch);
    const graphs::Scores scores{buffers.variables, buffers.factors};
    const graphs::Best& found = buffers.inference.best(graph(i), scores, map_);
    if (found.status != graphs::Status::solved) fail(i, scores, found.status);
    ++decoded_;
    if (!found.exact) ++inexact_;
    return found;
}

void FactorGraph::decode(const float* w, std::int64_t i, float cost_weight, Scratch& scratch) const {
    auto& buffers = static_cast<GraphScratch&>(scratch);
    const graphs::Best& found = best(w, i, cost_weight, scratch);
    buffers.output.assign(found.assignment.begin(), found.assignment.end());
    // A learner knows one more assignment, which an answer that is not proven may fall short of.
    const auto& truth = example(i).truth;
    if (!found.exact && cost_weight != 0 &&
        graphs::score(graph(i), {buffers.variables, buffers.factors}, truth) > found.score) {
        buffers.output.assign(truth.begin(), truth.end());
    }
}

int FactorGraph::violated(std::int64_t i, std::span<const std::int32_t> output) const {
    const Graph& g = graph(i);
    const GraphShape& s = shape(i);
    double ignored = 0;
    for (int f = 0; f < g.factors(); ++f) {
        const std::span extra(s.fixed.data() + g.first_score(f), at(g.score_count(f)));
        if (g.kind(f) != Kind::table) {
            if (!g.allows(f, output, extra, ignored)) return f;
            continue;
        }
        const int entry = g.table_entry(f, output);
        if (is_soft(i, f) ? soft(i, f).configuration(entry) < 0 : extra[at(entry)] == minus_infinity) return f;
    }
    return -1;
}

bool FactorGraph::is_output(std::int64_t i, std::span<const std::int32_t> output) const {
    const Graph& g = graph(i);
    if (output.size() != at(g.variables())) return false;
    for (std::size_t v = 0; v < output.size(); ++v) {
        if (output[v] < 0 || output[v] >= g.states(static_cast<int>(v))) return false;
    }
    return true;
}

void FactorGraph::difference(std::int64_t i, std::span<const std::int32_t> output, Difference& d) const {
    const auto& truth = example(i).truth;
    d.codes.clear();
    double total = 0;
    for (std::size_t v = 0; v < output.size(); ++v) {
        if (output[v] == truth[v]) continue;
        d.codes.push_back(static_cast<Code>(v));
        d.codes.push_back(static_cast<Code>(output[v]));
        total += cost(i, static_cast<int>(v), output[v]);
    }
    d.cost = static_cast<float>(total);
    d.is_truth = d.codes.empty();
}

template <class Visit>
void FactorGraph::walk(std::int64_t i, std::span<const Code> codes, Visit visit) const {
    const Graph& g = graph(i);
    const auto& truth = example(i).truth;
    for (std::size_t k = 0; k < codes.size(); k += 2) {
        const auto changed = static_cast<std::int32_t>(codes[k]);
        for (std::int32_t l : g.links_of(changed)) {
            const int f = g.factor_of(l);
            if (!is_soft(i, f)) continue;
            int true_entry = 0, entry = 0;
            bool first = true;  // a factor is visited at the first of its variables that changed
            for (int other = g.first_link(f); other < g.end_link(f); ++other) {
                const std::int32_t v = g.link(other).variable;
                const std::int32_t state =
                    v == changed ? static_cast<std::int32_t>(codes[k + 1]) : state_of(codes, v, truth[at(v)]);
                if (v < changed && state != truth[at(v)]) first = false;
                true_entry = true_entry * g.states(v) + truth[at(v)];
                entry = entry * g.states(v) + state;
            }
            if (!first) continue;
            const Soft kind = soft(i, f);
            const int true_configuration = kind.configuration(true_entry), found = kind.configuration(entry);
            if (true_configuration != found) visit(f, kind, true_configuration, found);
        }
    }
}

bool FactorGraph::is_valid(std::int64_t i, std::span<const Code> codes) const {
    const Graph& g = graph(i);
    if (codes.size() % 2) return false;
    std::int64_t previous = -1;
    for (std::size_t k = 0; k < codes.size(); k += 2) {
        const std::int64_t v = codes[k];
        if (v <= previous || v >= g.variables() || codes[k + 1] >= static_cast<Code>(g.states(static_cast<int>(v))) ||
            static_cast<std::int32_t>(codes[k + 1]) == example(i).truth[at(v)]) {
            return false;
        }
        previous = v;
    }
    bool allowed = true;
    walk(i, codes, [&](int, const Soft&, int, int found) { allowed = allowed && found >= 0; });
    return allowed;
}

void FactorGraph::output_of(std::int64_t i, std::span<const Code> codes, std::vector<std::int32_t>& output) const {
    const auto& truth = example(i).truth;
    output.assign(truth.begin(), truth.end());
    for (std::size_t k = 0; k < codes.size(); k += 2) output[codes[k]] = static_cast<std::int32_t>(codes[k + 1]);
}

bool FactorGraph::allows(std::int64_t i, std::span<const std::int32_t> output) const { return violated(i, output) < 0; }

double FactorGraph::dot(const float* w, std::int64_t i, std::span<const Code> codes) const {
    double total = 0;
    walk(i, codes, [&](int f, const Soft& kind, int truth, int found) {
        const float* weights = w + kind.offset;
        float sum = 0;
        for_features(i, f, [&](std::int64_t feature, float value) {
            const float* row = weights + feature * kind.configurations;
            sum += value * (row[truth] - row[found]);
        });
        total += sum;
    });
    return total;
}

void FactorGraph::axpy(float* w, std::int64_t i, std::span<const Code> codes, float step) const {
    walk(i, codes, [&](int f, const Soft& kind, int truth, int found) {
        float* weights = w + kind.offset;
        for_features(i, f, [&](std::int64_t feature, float value) {
            float* row = weights + feature * kind.configurations;
            row[truth] += step * value;
            row[found] -= step * value;
        });
    });
}

std::size_t FactorGraph::entries(std::int64_t i, std::span<const Code> codes) const {
    std::size_t total = 0;
    walk(i, codes, [&](int f, const Soft&, int, int) { for_features(i, f, [&](std::int64_t, float) { total += 2; }); });
    return total;
}

void FactorGraph::accumulate(std::int64_t i, std::span<const Code> codes, float coefficient, SparseSum& sum) const {
    walk(i, codes, [&](int f, const Soft& kind, int truth, int found) {
        for_features(i, f, [&](std::int64_t feature, float value) {
            const auto row = static_cast<std::uint64_t>(kind.offset + feature * kind.configurations);
            sum.add(row + static_cast<std::uint64_t>(truth), coefficient * value);
            sum.add(row + static_cast<std::uint64_t>(found), -coefficient * value);
        });
    });
}

std::vector<ScoredOutput> FactorGraph::k_best(const float* w, std::int64_t i, float cost_weight, int k,
                                              Scratch& scratch) const {
    if (k == 1) return Structure::k_best(w, i, cost_weight, k, scratch);
    if (!graph(i).is_forest()) throw Unsupported("the k best outputs are found on graphs without loops only");
    auto& buffers = static_cast<GraphScratch&>(scratch);
    fill_scores(w, i, 1, cost_weight, scratch);
    const graphs::Scores scores{buffers.variables, buffers.factors};
    std::vector<ScoredOutput> result;
    for (auto& found : buffers.inference.k_best(graph(i), scores, k)) {
        result.push_back({found.score, std::move(found.assignment)});
    }
    if (result.empty()) fail(i, scores, graphs::Status::infeasible);
    return result;
}

const graphs::Marginals& FactorGraph::marginals(const float* w, std::int64_t i, double beta, double gamma,
                                                Scratch& scratch) const {
    auto& buffers = static_cast<GraphScratch&>(scratch);
    fill_scores(w, i, beta, gamma, scratch);
    const graphs::Scores scores{buffers.variables, buffers.factors};
    buffers.marginals = buffers.inference.marginals(graph(i), scores, sum_);
    if (!buffers.marginals.feasible) fail(i, scores, graphs::Status::infeasible);
    if (!buffers.marginals.converged) ++unsettled_;
    return buffers.marginals;
}

double FactorGraph::score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const {
    double total = 0;
    for_soft_factors(i, [&](int f, const Soft& kind) {
        const int c = kind.configuration(graph(i).table_entry(f, output));
        if (c < 0) {
            total = minus_infinity;
            return;
        }
        for_features(i, f, [&](std::int64_t feature, float value) {
            total += double{value} * w[kind.offset + feature * kind.configurations + c];
        });
    });
    return total;
}

void FactorGraph::add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const {
    for_soft_factors(i, [&](int f, const Soft& kind) {
        const int c = kind.configuration(graph(i).table_entry(f, output));
        if (c < 0) return;
        for_features(i, f, [&](std::int64_t feature, float value) {
            w[kind.offset + feature * kind.configurations + c] += step * value;
        });
    });
}

}  // namespace dualstruct
