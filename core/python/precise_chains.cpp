// Chains in double precision for Python.

#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>

#include "base/index.hpp"
#include "crfsuite/precise_chain.hpp"
#include "crfsuite/precise_learner.hpp"
#include "python/passes.hpp"

namespace dualstruct {

using namespace nb::literals;

namespace {

using Matrix = Input<double, nb::ndim<2>>;
using Numbers = Input<std::int32_t>;
using Places = Input<std::int64_t>;

// The arrays a learner reads; it keeps them alive.
struct LearnerArrays {
    Places sentences, offsets;
    Numbers attributes;
    std::optional<Input<double>> values;
    Numbers truth;
    Places feature_offsets;
    Numbers feature_labels;
    Input<std::int32_t, nb::ndim<2>> transition_features;
};

std::span<const double> checked(const Matrix& emissions, const PreciseChain& chain) {
    if (emissions.shape(1) != at(chain.labels())) {
        throw std::invalid_argument("emissions have one row of labels per token");
    }
    return view(emissions);
}

Array<double> copied(const std::vector<double>& weights) { return to_numpy(std::vector<double>(weights)); }

void bind_chain(nb::module_& m) {
    nb::class_<PreciseChain>(m, "PreciseChain", "A trained chain in double precision, for prediction alone.")
        .def(
            "__init__",
            [](PreciseChain* self, int labels, const Places& offsets, const Numbers& targets,
               const Input<double>& weights, const Matrix& transitions) {
                new (self) PreciseChain(labels, view(offsets), view(targets), view(weights), view(transitions));
            },
            "labels"_a, "offsets"_a, "targets"_a, "weights"_a, "transitions"_a)
        .def(
            "emissions",
            [](const PreciseChain& c, const Places& offsets, const Numbers& attributes,
               const std::optional<Input<double>>& values) {
                auto found = without_gil([&] { return c.emissions({view(offsets), view(attributes), view(values)}); });
                return shaped(nb::cast(to_numpy(std::move(found))), nb::make_tuple(offsets.size() - 1, c.labels()));
            },
            "offsets"_a, "attributes"_a, "values"_a.none())
        .def(
            "decode",
            [](const PreciseChain& c, const Matrix& emissions) {
                const auto scores = checked(emissions, c);
                std::vector<std::int32_t> path;
                {
                    GilReleased no_gil;
                    PreciseDecoder decoder;
                    const auto best = decoder.decode(scores, c.transitions(), c.labels());
                    path.assign(best.begin(), best.end());
                }
                return to_numpy(std::move(path));
            },
            "emissions"_a)
        .def(
            "sum",
            [](const PreciseChain& c, const Matrix& emissions) {
                const auto scores = checked(emissions, c);
                auto sums = without_gil([&] { return precise_sum(scores, c.transitions(), c.labels(), false); });
                return nb::make_tuple(sums.log_partition, shaped(nb::cast(to_numpy(std::move(sums.marginals))),
                                                                 nb::make_tuple(emissions.shape(0), c.labels())));
            },
            "emissions"_a)
        .def(
            "score",
            [](const PreciseChain& c, const Matrix& emissions, const Numbers& labels) {
                return precise_score(checked(emissions, c), c.transitions(), c.labels(), view(labels));
            },
            "emissions"_a, "labels"_a);
}

void bind_learner(nb::module_& m) {
    nb::class_<PreciseLearner>(m, "PreciseLearner", "Online learning of chains in double precision.")
        .def(
            "__init__",
            [](PreciseLearner* self, int labels, Places sentences, Places offsets, Numbers attributes,
               std::optional<Input<double>> values, Numbers truth, Places feature_offsets, Numbers feature_labels,
               Input<std::int32_t, nb::ndim<2>> transition_features, std::int64_t features) {
                const auto arrays = std::make_shared<const LearnerArrays>(
                    LearnerArrays{sentences, offsets, attributes, values, truth, feature_offsets, feature_labels,
                                  transition_features});
                new (self) PreciseLearner({.labels = labels,
                                           .sentences = view(arrays->sentences),
                                           .offsets = view(arrays->offsets),
                                           .attributes = view(arrays->attributes),
                                           .values = view(arrays->values),
                                           .truth = view(arrays->truth),
                                           .feature_offsets = view(arrays->feature_offsets),
                                           .feature_labels = view(arrays->feature_labels),
                                           .transition_features = view(arrays->transition_features),
                                           .features = features,
                                           .owner = arrays});
            },
            "labels"_a, "sentences"_a, "offsets"_a, "attributes"_a, "values"_a.none(), "truth"_a, "feature_offsets"_a,
            "feature_labels"_a, "transition_features"_a, "features"_a)
        .def(
            "perceptron",
            [](PreciseLearner& l, const Numbers& order) {
                return run([&](const Interrupt& interrupt) { return l.perceptron(view(order), interrupt); });
            },
            "order"_a)
        .def(
            "passive_aggressive",
            [](PreciseLearner& l, const Numbers& order, int kind, double c, bool error_sensitive) {
                return run([&](const Interrupt& interrupt) {
                    return l.passive_aggressive(view(order), kind, c, error_sensitive, interrupt);
                });
            },
            "order"_a, "kind"_a, "c"_a, "error_sensitive"_a)
        .def(
            "arow",
            [](PreciseLearner& l, const Numbers& order, double variance, double gamma) {
                return run([&](const Interrupt& interrupt) { return l.arow(view(order), variance, gamma, interrupt); });
            },
            "order"_a, "variance"_a, "gamma"_a)
        .def(
            "gradient",
            [](PreciseLearner& l, const Numbers& order, double lambda, double t0, double first) {
                return run(
                    [&](const Interrupt& interrupt) { return l.gradient(view(order), lambda, t0, first, interrupt); });
            },
            "order"_a, "lambda_"_a, "t0"_a, "first"_a)
        .def(
            "log_loss",
            [](PreciseLearner& l, const Numbers& order) {
                return run([&](const Interrupt& interrupt) { return l.log_loss(view(order), interrupt); });
            },
            "order"_a)
        .def("weights", [](const PreciseLearner& l) { return copied(l.weights()); })
        .def("average", [](const PreciseLearner& l) { return to_numpy(l.average()); })
        .def("restart", &PreciseLearner::restart);
}

}  // namespace

void bind_precise_chains(nb::module_& m) {
    bind_chain(m);
    bind_learner(m);
}

}  // namespace dualstruct
