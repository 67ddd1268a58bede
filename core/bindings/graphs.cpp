// Factor graphs for Python, and factors that are written in Python.

#include "bindings/graphs.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

namespace dualstruct {

using namespace nb::literals;
using graphs::Graph;
using graphs::Literal;

namespace {

// A factor whose decoder is a Python function: its configuration is 0 or 1 for each slot.
class PythonFactor final : public graphs::Factor {
public:
    PythonFactor(nb::object factor, int slots) : factor_(std::move(factor)), slots_(slots) {
        has_score_ = nb::hasattr(factor_, "score");
        has_marginals_ = nb::hasattr(factor_, "marginals");
    }
    ~PythonFactor() override {
        nb::gil_scoped_acquire gil;
        factor_.reset();
    }
    PythonFactor(const PythonFactor&) = delete;
    PythonFactor& operator=(const PythonFactor&) = delete;

    int configuration_size() const override { return slots_; }

    double maximise(std::span<const double> slots, std::span<const double>,
                    std::span<std::int32_t> configuration) const override {
        nb::gil_scoped_acquire gil;
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
        nb::gil_scoped_acquire gil;
        return own_score(configuration);
    }

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
        nb::gil_scoped_acquire gil;
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
        nb::gil_scoped_acquire gil;
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

}  // namespace

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

void bind_graphs(nb::module_& m) {
    nb::class_<graphs::Factor>(m, "Factor");

    nb::class_<Graph>(m, "Graph")
        .def(nb::init<>())
        .def_prop_ro("variables", &Graph::variables)
        .def_prop_ro("factors", &Graph::factors)
        .def_prop_ro("total_states", &Graph::total_states)
        .def_prop_ro("total_scores", &Graph::total_scores)
        .def_prop_ro("is_forest", &Graph::is_forest)
        .def("add_variables", [](Graph& g, Input<std::int32_t> states) {
            for (std::int32_t count : view(states)) {
                if (count < 1) throw std::invalid_argument("a variable needs a state");
                g.add_variable(count);
            }
        }, "states"_a)
        .def("add_tables", [](Graph& g, Input<std::int32_t, nb::ndim<2>> variables) {
            const std::size_t order = variables.shape(1);
            for (std::int32_t v : view(variables)) {
                if (v < 0 || v >= g.variables()) throw std::invalid_argument("no such variable");
            }
            for (std::size_t f = 0; f < variables.shape(0); ++f) g.add_table({variables.data() + f * order, order});
        }, "variables"_a)
        .def("add_count", [](Graph& g, LiteralRows literals, int least, int most) {
            g.add_count(literals_of(g, literals), least, most);
        }, "literals"_a, "least"_a, "most"_a)
        .def("add_or_out", [](Graph& g, LiteralRows literals) { g.add_or_out(literals_of(g, literals)); },
             "literals"_a)
        .def("add_python_factor", [](Graph& g, nb::object factor, LiteralRows literals) {
            const int slots = static_cast<int>(literals.shape(0));
            g.add_factor(std::make_shared<PythonFactor>(std::move(factor), slots), literals_of(g, literals), 0);
        }, "factor"_a, "literals"_a)
        .def("add_factor", [](Graph& g, std::shared_ptr<const graphs::Factor> factor, LiteralRows literals,
                              int extras) {
            g.add_factor(std::move(factor), literals_of(g, literals), extras);
        }, "factor"_a, "literals"_a, "extras"_a)
        .def("finish", &Graph::finish)
        .def("score", [](const Graph& g, Input<double> variables, Input<double> factors,
                         Input<std::int32_t> assignment) {
            return graphs::score(g, scores_of(g, variables, factors), view(assignment));
        }, "variables"_a, "factors"_a, "assignment"_a)
        .def("best", [](const Graph& g, Input<double> variables, Input<double> factors, bool branch, int max_nodes,
                        int max_iterations, double tolerance) {
            const auto scores = scores_of(g, variables, factors);
            graphs::Inference inference;
            graphs::Best best;
            {
                nb::gil_scoped_release no_gil;
                graphs::RelaxationOptions options;
                options.branch = branch;
                options.max_nodes = max_nodes;
                options.max_iterations = max_iterations;
                options.tolerance = tolerance;
                best = inference.best(g, scores, options);
                check_status(g, scores, best.status);
            }
            return nb::make_tuple(to_numpy(std::move(best.assignment)), best.score, best.bound, best.exact,
                                  best.iterations, best.nodes);
        }, "variables"_a, "factors"_a, "branch"_a, "max_nodes"_a, "max_iterations"_a, "tolerance"_a)
        .def("k_best", [](const Graph& g, Input<double> variables, Input<double> factors, int k) {
            const auto scores = scores_of(g, variables, factors);
            if (!g.is_forest()) throw Unsupported("the k best assignments are found on graphs without loops only");
            std::vector<graphs::Scored> found;
            {
                nb::gil_scoped_release no_gil;
                graphs::Inference inference;
                found = inference.k_best(g, scores, k);
                if (found.empty()) check_status(g, scores, graphs::Status::infeasible);
            }
            nb::list result;
            for (auto& one : found) result.append(nb::make_tuple(one.score, to_numpy(std::move(one.assignment))));
            return result;
        }, "variables"_a, "factors"_a, "k"_a)
        .def("marginals", [](const Graph& g, Input<double> variables, Input<double> factors, int max_iterations,
                             double damping, double tolerance) {
            const auto scores = scores_of(g, variables, factors);
            graphs::Inference inference;
            graphs::Marginals found;
            {
                nb::gil_scoped_release no_gil;
                found = inference.marginals(g, scores, {max_iterations, damping, tolerance});
                if (!found.feasible) check_status(g, scores, graphs::Status::infeasible);
            }
            return nb::make_tuple(to_numpy(std::move(found.variables)), to_numpy(std::move(found.factors)),
                                  found.log_partition, found.exact, found.converged, found.iterations);
        }, "variables"_a, "factors"_a, "max_iterations"_a, "damping"_a, "tolerance"_a);
}

}  // namespace dualstruct
