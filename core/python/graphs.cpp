// Factor graphs for Python, and factors that are written in Python.

#include "base/index.hpp"
#include "python/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "inference/graphs/inference.hpp"
#include "inference/trees/factors.hpp"
#include "structures/graph/factor_graph.hpp"
#include "structures/multiclass/multiclass.hpp"

namespace dualstruct {

using namespace nb::literals;
using graphs::Graph;
using graphs::Literal;

namespace {

// Literals as rows of (variable, state, negated).
using LiteralRows = Input<std::int32_t, nb::shape<-1, 3>>;

std::vector<Literal> literals_of(const Graph& graph, const LiteralRows& rows) {
    std::vector<Literal> literals;
    for (std::size_t k = 0; k < rows.shape(0); ++k) {
        const std::int32_t* row = rows.data() + 3 * k;
        if (row[0] < 0 || row[0] >= graph.variables() || row[1] < 0 || row[1] >= graph.states(row[0])) {
            throw std::invalid_argument("no such variable or state");
        }
        literals.push_back({row[0], row[1], row[2] != 0});
    }
    return literals;
}

// A factor whose decoder is a Python function: its configuration is 0 or 1 for each slot.
class PythonFactor final : public graphs::Factor {
public:
    PythonFactor(nb::object factor, int slots) : factor_(std::move(factor)), slots_(slots) {
        has_score_ = nb::hasattr(factor_, "score");
        has_marginals_ = nb::hasattr(factor_, "marginals");
    }
    ~PythonFactor() override {
        GilHeld gil;
        factor_.reset();
    }
    PythonFactor(const PythonFactor&) = delete;
    PythonFactor& operator=(const PythonFactor&) = delete;

    int configuration_size() const override { return slots_; }

    double maximise(std::span<const double> slots, std::span<const double>,
                    std::span<std::int32_t> configuration) const override {
        GilHeld gil;
        const nb::object found = factor_.attr("maximise")(array_of(slots));
        if (found.is_none()) return graphs::minus_infinity;
        read_bits(found, configuration);
        return slot_score(configuration, slots) + own_score(configuration);
    }

    double slot_score(std::span<const std::int32_t> configuration, std::span<const double> slots) const override {
        double total = 0;
        for (std::size_t k = 0; k < slots.size(); ++k) total += configuration[k] ? slots[k] : 0;
        return total;
    }

    double extra_score(std::span<const std::int32_t> configuration, std::span<const double>) const override {
        if (!has_score_) return 0;
        GilHeld gil;
        return own_score(configuration);
    }

    bool has_hidden_scores() const override { return has_score_; }

    void add_counts(std::span<const std::int32_t> configuration, double weight,
                    std::span<double> slots) const override {
        for (std::size_t k = 0; k < slots.size(); ++k) slots[k] += configuration[k] ? weight : 0;
    }

    int common(std::span<const std::int32_t> a, std::span<const std::int32_t> b) const override {
        int same = 0;
        for (std::size_t k = 0; k < a.size(); ++k) same += a[k] && b[k];
        return same;
    }

    // Allowed is what the decoder gives back when each slot is scored far for or against.
    bool read(std::span<const std::uint8_t> on, std::span<std::int32_t> configuration) const override {
        GilHeld gil;
        for (std::size_t k = 0; k < on.size(); ++k) configuration[k] = on[k];
        if (has_score_) return own_score(configuration) > graphs::minus_infinity;
        std::vector<double> scores;
        for (std::uint8_t bit : on) scores.push_back(bit ? 1.0 : -1.0);
        const nb::object found = factor_.attr("maximise")(array_of(scores));
        if (found.is_none()) return false;
        std::vector<std::int32_t> bits(on.size());
        read_bits(found, bits);
        return std::ranges::equal(bits, configuration);
    }

    double marginals(std::span<const double> slots, std::span<const double>, std::span<double> result,
                     std::span<double>) const override {
        if (!has_marginals_) throw Unsupported("a factor without marginals: give it a method marginals(scores)");
        GilHeld gil;
        const nb::tuple found = nb::cast<nb::tuple>(factor_.attr("marginals")(array_of(slots)));
        const auto values = nb::cast<std::vector<double>>(nb::list(found[0]));
        if (values.size() != result.size()) throw std::invalid_argument("marginals of the wrong number");
        std::ranges::copy(values, result.begin());
        return nb::cast<double>(nb::float_(found[1]));
    }

private:
    static nb::object array_of(std::span<const double> values) {
        return nb::cast(to_numpy(std::vector<double>(values.begin(), values.end())));
    }
    void read_bits(const nb::object& found, std::span<std::int32_t> bits) const {
        const nb::list values(found);
        if (values.size() != bits.size()) {
            throw std::invalid_argument("maximise gave " + std::to_string(values.size()) + " values for " +
                                        std::to_string(bits.size()) + " slots");
        }
        for (std::size_t k = 0; k < bits.size(); ++k) {
            const double value = nb::cast<double>(nb::float_(values[k]));
            if (value != 0 && value != 1) throw std::invalid_argument("maximise gave a value that is not 0 or 1");
            bits[k] = value == 1;
        }
    }
    double own_score(std::span<const std::int32_t> configuration) const {
        if (!has_score_) return 0;
        std::vector<std::int32_t> bits(configuration.begin(), configuration.end());
        const double score = nb::cast<double>(nb::float_(factor_.attr("score")(to_numpy(std::move(bits)))));
        if (std::isnan(score)) throw std::invalid_argument("score gave NaN");
        return score;
    }

    nb::object factor_;
    int slots_;
    bool has_score_, has_marginals_;
};

graphs::Scores scores_of(const Graph& graph, const Input<double>& variables, const Input<double>& factors) {
    if (static_cast<int>(variables.size()) != graph.total_states() ||
        static_cast<int>(factors.size()) != graph.total_scores()) {
        throw std::invalid_argument("scores of another graph");
    }
    return {view(variables), view(factors)};
}

void check_status(const Graph& graph, const graphs::Scores& scores, graphs::Status status) {
    if (status == graphs::Status::infeasible) throw Infeasible(0, graphs::first_contradiction(graph, scores));
    if (status == graphs::Status::unknown) {
        throw std::runtime_error("no allowed assignment was found within max_nodes nodes of the search");
    }
}

// The features of one block in one example, with the arrays that they lie in.
struct BlockArrays {
    Input<float> values;
    std::optional<Input<std::int32_t>> ids;
    std::optional<Input<std::int64_t>> offsets;
};

using BlockRow = std::tuple<Input<float>, std::optional<Input<std::int32_t>>, std::optional<Input<std::int64_t>>, int>;

void bind_graph_structure(nb::module_& m) {
    nb::class_<FactorGraph, Structure>(m, "FactorGraph")
        .def(
            "__init__",
            [](FactorGraph* self, Input<std::int64_t, nb::shape<-1, 2>> kinds, bool branch, int max_iterations,
               int max_nodes, double damping, int sum_iterations) {
                std::vector<FactorKind> list;
                for (std::size_t k = 0; k < kinds.shape(0); ++k) {
                    list.push_back({kinds.data()[2 * k], kinds.data()[2 * k + 1], 0});
                }
                graphs::RelaxationOptions map;
                map.branch = branch;
                map.max_iterations = max_iterations;
                map.max_nodes = max_nodes;
                graphs::PropagationOptions sum;
                sum.damping = damping;
                sum.max_iterations = sum_iterations;
                new (self) FactorGraph(std::move(list), map, sum);
            },
            "kinds"_a, "branch"_a, "max_iterations"_a, "max_nodes"_a, "damping"_a, "sum_iterations"_a)
        .def(
            "add_tie",
            [](FactorGraph& s, Input<std::int32_t> tie) { return s.add_tie({tie.data(), tie.data() + tie.size()}); },
            "tie"_a)
        .def(
            "add_shape",
            [](FactorGraph& s, std::shared_ptr<const Graph> graph, Input<std::int32_t, nb::shape<-1, 5>> blocks,
               Input<double> fixed) {
                std::vector<FactorBlock> list;
                for (std::size_t b = 0; b < blocks.shape(0); ++b) {
                    const std::int32_t* row = blocks.data() + 5 * b;
                    list.push_back({row[0], row[1], row[2], row[3], row[4]});
                }
                if (static_cast<int>(fixed.size()) != graph->total_scores()) {
                    throw std::invalid_argument("scores of another graph");
                }
                return s.add_shape(std::move(graph), std::move(list), {fixed.data(), fixed.data() + fixed.size()});
            },
            "graph"_a, "blocks"_a, "fixed"_a)
        .def(
            "add_example",
            [](FactorGraph& s, int shape, const std::vector<BlockRow>& rows, std::optional<Input<std::int32_t>> truth,
               std::optional<Input<float>> costs) {
                std::vector<BlockFeatures> features;
                for (const auto& [values, ids, offsets, row_step] : rows) {
                    auto owner = std::make_shared<const BlockArrays>(BlockArrays{values, ids, offsets});
                    features.push_back({values.data(), ids ? ids->data() : nullptr, offsets ? offsets->data() : nullptr,
                                        row_step, std::move(owner)});
                }
                const auto of_truth = view(truth);
                const auto of_costs = view(costs);
                s.add_example(shape, std::move(features), {of_truth.begin(), of_truth.end()},
                              {of_costs.begin(), of_costs.end()});
            },
            "shape"_a, "rows"_a, "truth"_a.none(), "costs"_a.none())
        .def_prop_ro("decoded", &FactorGraph::decoded)
        .def_prop_ro("inexact", &FactorGraph::inexact)
        .def_prop_ro("unsettled", &FactorGraph::unsettled)
        .def(
            "violated",
            [](const FactorGraph& s, std::int64_t i, Input<std::int32_t> output) {
                return s.violated(i, output_of(s, i, output));
            },
            "i"_a, "output"_a)
        .def(
            "best",
            [](const FactorGraph& s, const Weights& w, std::int64_t i, float cost_weight) {
                check_cost(s, cost_weight);
                example(s, i);
                auto best = without_gil([&] {
                    const auto scratch = s.make_scratch();
                    return s.best(checked(w, s).data(), i, cost_weight, *scratch);
                });
                return nb::make_tuple(to_numpy(std::move(best.assignment)), best.score, best.bound, best.exact,
                                      best.iterations, best.nodes);
            },
            "w"_a, "i"_a, "cost_weight"_a)
        .def(
            "marginals",
            [](const FactorGraph& s, const Weights& w, std::int64_t i, double beta, double gamma) {
                check_cost(s, gamma);
                example(s, i);
                auto found = without_gil([&] {
                    const auto scratch = s.make_scratch();
                    return s.marginals(checked(w, s).data(), i, beta, gamma, *scratch);
                });
                return nb::make_tuple(to_numpy(std::move(found.variables)), to_numpy(std::move(found.factors)),
                                      found.log_partition / beta, found.exact, found.converged, found.iterations);
            },
            "w"_a, "i"_a, "beta"_a, "gamma"_a);
}

struct MulticlassArrays {
    Input<float> values;
    std::optional<Input<std::int64_t>> offsets;
    std::optional<Input<std::int32_t>> ids, truth;
    Input<float, nb::ndim<2>> cost;
};

void bind_multiclass(nb::module_& m) {
    nb::class_<Multiclass, Structure>(m, "Multiclass")
        .def(
            "__init__",
            [](Multiclass* self, std::int64_t examples, std::int64_t features, int labels, Input<float> values,
               std::optional<Input<std::int64_t>> offsets, std::optional<Input<std::int32_t>> ids,
               std::optional<Input<std::int32_t>> truth, Input<float, nb::ndim<2>> cost) {
                const auto arrays =
                    std::make_shared<const MulticlassArrays>(MulticlassArrays{values, offsets, ids, truth, cost});
                new (self) Multiclass({.examples = examples,
                                       .features = features,
                                       .labels = labels,
                                       .values = view(arrays->values),
                                       .offsets = view(arrays->offsets),
                                       .ids = view(arrays->ids),
                                       .truth = view(arrays->truth),
                                       .cost = view(arrays->cost),
                                       .owner = arrays});
            },
            "examples"_a, "features"_a, "labels"_a, "values"_a, "offsets"_a.none(), "ids"_a.none(), "truth"_a.none(),
            "cost"_a)
        .def_prop_ro("stride", &Multiclass::stride)
        .def(
            "scores",
            [](const Multiclass& s, const Weights& w) {
                std::vector<float> all, row;
                {
                    GilReleased no_gil;
                    for (std::int64_t i = 0; i < s.size(); ++i) {
                        s.label_scores(checked(w, s).data(), i, 0, row);
                        all.insert(all.end(), row.begin(), row.end());
                    }
                }
                return shaped(nb::cast(to_numpy(std::move(all))), nb::make_tuple(s.size(), s.labels()));
            },
            "w"_a);
}

}  // namespace

void bind_graphs(nb::module_& m) {
    nb::class_<Graph>(m, "Graph")
        .def(nb::init<>())
        .def_prop_ro("variables", &Graph::variables)
        .def_prop_ro("factors", &Graph::factors)
        .def_prop_ro("is_forest", &Graph::is_forest)
        .def(
            "add_variables",
            [](Graph& g, Input<std::int32_t> states) {
                for (std::int32_t count : view(states)) {
                    if (count < 1) throw std::invalid_argument("a variable needs a state");
                    g.add_variable(count);
                }
            },
            "states"_a)
        .def(
            "add_tables",
            [](Graph& g, Input<std::int32_t, nb::ndim<2>> variables) {
                const std::size_t order = variables.shape(1);
                for (std::int32_t v : view(variables)) {
                    if (v < 0 || v >= g.variables()) throw std::invalid_argument("no such variable");
                }
                for (std::size_t f = 0; f < variables.shape(0); ++f) g.add_table({variables.data() + f * order, order});
            },
            "variables"_a)
        .def(
            "add_count",
            [](Graph& g, LiteralRows literals, int least, int most) {
                g.add_count(literals_of(g, literals), least, most);
            },
            "literals"_a, "least"_a, "most"_a)
        .def(
            "add_or_out", [](Graph& g, LiteralRows literals) { g.add_or_out(literals_of(g, literals)); }, "literals"_a)
        .def(
            "add_python_factor",
            [](Graph& g, nb::object factor, LiteralRows literals) {
                const int slots = static_cast<int>(literals.shape(0));
                g.add_factor(std::make_shared<PythonFactor>(std::move(factor), slots), literals_of(g, literals), 0);
            },
            "factor"_a, "literals"_a)
        .def(
            "add_tree",
            [](Graph& g, int words, Input<std::int32_t, nb::shape<-1, 2>> arcs, LiteralRows literals, bool projective,
               bool single_root) {
                const auto list = std::make_shared<trees::ArcList>();
                list->clear(words);
                for (std::size_t k = 0; k < arcs.shape(0); ++k) {
                    const std::int32_t head = arcs.data()[2 * k], modifier = arcs.data()[2 * k + 1];
                    if (head < 0 || head > words || modifier < 1 || modifier > words || head == modifier) {
                        throw std::invalid_argument("an arc between words that are not there");
                    }
                    list->add(head, modifier);
                }
                if (at(list->arcs()) != literals.shape(0)) throw std::invalid_argument("a literal for every arc");
                g.add_factor(std::make_shared<trees::TreeFactor>(list, projective, single_root),
                             literals_of(g, literals), 0);
            },
            "words"_a, "arcs"_a, "literals"_a, "projective"_a, "single_root"_a)
        .def("finish", &Graph::finish)
        .def(
            "score",
            [](const Graph& g, Input<double> variables, Input<double> factors, Input<std::int32_t> assignment) {
                if (static_cast<int>(assignment.size()) != g.variables()) {
                    throw std::invalid_argument("a state for every variable");
                }
                for (int v = 0; v < g.variables(); ++v) {
                    const std::int32_t state = assignment.data()[v];
                    if (state < 0 || state >= g.states(v)) throw std::invalid_argument("no such state");
                }
                return graphs::score(g, scores_of(g, variables, factors), view(assignment));
            },
            "variables"_a, "factors"_a, "assignment"_a)
        .def(
            "best",
            [](const Graph& g, Input<double> variables, Input<double> factors, bool branch, int max_nodes,
               int max_iterations, double residual, double tolerance) {
                const auto scores = scores_of(g, variables, factors);
                graphs::Inference inference;
                graphs::Best best;
                {
                    GilReleased no_gil;
                    graphs::RelaxationOptions options;
                    options.branch = branch;
                    options.max_nodes = max_nodes;
                    options.max_iterations = max_iterations;
                    options.residual = residual;
                    options.tolerance = tolerance;
                    bool signalled = false;
                    options.interrupted = [&, check = SignalCheck()]() mutable { return signalled = check(); };
                    best = inference.best(g, scores, options);
                    if (!signalled) check_status(g, scores, best.status);
                }
                raise_if_signalled();
                return nb::make_tuple(to_numpy(std::move(best.assignment)), best.score, best.bound, best.exact,
                                      best.iterations, best.nodes);
            },
            "variables"_a, "factors"_a, "branch"_a, "max_nodes"_a, "max_iterations"_a, "residual"_a, "tolerance"_a)
        .def(
            "k_best",
            [](const Graph& g, Input<double> variables, Input<double> factors, int k) {
                const auto scores = scores_of(g, variables, factors);
                if (!g.is_forest()) throw Unsupported("the k best assignments are found on graphs without loops only");
                std::vector<graphs::Scored> found;
                {
                    GilReleased no_gil;
                    graphs::Inference inference;
                    found = inference.k_best(g, scores, k);
                    if (found.empty()) check_status(g, scores, graphs::Status::infeasible);
                }
                nb::list result;
                for (auto& one : found) result.append(nb::make_tuple(one.score, to_numpy(std::move(one.assignment))));
                return result;
            },
            "variables"_a, "factors"_a, "k"_a)
        .def(
            "marginals",
            [](const Graph& g, Input<double> variables, Input<double> factors, int max_iterations, double damping,
               double tolerance) {
                const auto scores = scores_of(g, variables, factors);
                graphs::Inference inference;
                graphs::Marginals found;
                {
                    GilReleased no_gil;
                    found = inference.marginals(g, scores, {max_iterations, damping, tolerance});
                    if (!found.feasible) check_status(g, scores, graphs::Status::infeasible);
                }
                return nb::make_tuple(to_numpy(std::move(found.variables)), to_numpy(std::move(found.factors)),
                                      found.log_partition, found.exact, found.converged, found.iterations);
            },
            "variables"_a, "factors"_a, "max_iterations"_a, "damping"_a, "tolerance"_a);
    bind_graph_structure(m);
    bind_multiclass(m);
}

}  // namespace dualstruct
