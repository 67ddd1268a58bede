// The passes of learners without cuts for Python.

#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "learning/online.hpp"
#include "learning/rules/hildreth.hpp"
#include "learning/rules/passive_aggressive.hpp"
#include "learning/rules/perceptron.hpp"
#include "learning/rules/subgradient.hpp"
#include "python/passes.hpp"

namespace dualstruct {

using namespace nb::literals;

namespace {

// The pass of a learner without cuts: one row per step.
template <class Step>
void bind_step(nb::module_& m) {
    m.def(
        "online_pass",
        [](const Examples& examples, Weights& w, Average* average, Step& step, std::uint64_t seed,
           std::optional<Input<std::int32_t>> some) {
            for (std::int32_t i : view(some)) example(examples, i);
            if (average) checked(average->deferred(), examples);
            return run([&](const Interrupt& interrupt) {
                return OnlinePass<Step>::run(with_truth(examples), checked(w, examples), average, step, view(some),
                                             seed, interrupt);
            });
        },
        "examples"_a, "w"_a, "average"_a.none(), "step"_a, "seed"_a, "some"_a.none() = nb::none());
}

}  // namespace

void bind_online(nb::module_& m) {
    nb::class_<Schedule>(m, "Schedule")
        .def(nb::init<double, double, double, double, std::int64_t>(), "lambda_"_a, "eta0"_a, "decay"_a, "power"_a,
             "steps"_a);
    nb::class_<PerceptronStep>(m, "PerceptronStep").def(nb::init<>());
    nb::class_<PassiveAggressiveStep>(m, "PassiveAggressiveStep")
        .def(
            "__init__",
            [](PassiveAggressiveStep* self, double C, double cost_weight, int k, std::optional<double> search_weight) {
                new (self) PassiveAggressiveStep(C, cost_weight, k, search_weight.value_or(cost_weight));
            },
            "C"_a, "cost_weight"_a, "k"_a, "search_weight"_a.none() = nb::none())
        .def_ro("clamped", &PassiveAggressiveStep::clamped);
    nb::class_<ExpectedPassiveAggressiveStep>(m, "ExpectedPassiveAggressiveStep")
        .def(nb::init<double, double, double>(), "C"_a, "beta"_a, "gamma"_a)
        .def_ro("clamped", &ExpectedPassiveAggressiveStep::clamped);
    nb::class_<SubgradientStep>(m, "SubgradientStep").def(nb::init<Schedule, bool>(), "schedule"_a, "squared"_a);
    nb::class_<ExpectedGradientStep>(m, "ExpectedGradientStep")
        .def(nb::init<Schedule, double, double>(), "schedule"_a, "beta"_a, "gamma"_a);
    nb::class_<RiskBoundStep>(m, "RiskBoundStep")
        .def(nb::init<Schedule, double, double>(), "schedule"_a, "beta"_a, "gamma"_a);
    nb::class_<FixedOutputs>(m, "FixedOutputs")
        .def(
            "__init__",
            [](FixedOutputs* self, const Examples& examples, const Weights& w, double cost_weight) {
                checked(w, examples);
                new (self) FixedOutputs(with_truth(examples), w, cost_weight);
            },
            "examples"_a, "w"_a, "cost_weight"_a)
        .def("__len__", &FixedOutputs::size);
    nb::class_<PegasosStep>(m, "PegasosStep")
        .def(nb::init<double, std::int64_t, std::int64_t, std::optional<double>, std::optional<double>,
                      const FixedOutputs*>(),
             "lambda_"_a, "batch"_a, "steps"_a, "radius"_a.none(), "concave"_a.none(), "fixed"_a.none() = nb::none(),
             nb::keep_alive<1, 7>());
    bind_step<PerceptronStep>(m);
    bind_step<PassiveAggressiveStep>(m);
    bind_step<ExpectedPassiveAggressiveStep>(m);
    bind_step<SubgradientStep>(m);
    bind_step<ExpectedGradientStep>(m);
    bind_step<RiskBoundStep>(m);
    bind_step<PegasosStep>(m);
    m.def(
        "hildreth",
        [](Input<double, nb::ndim<2>> G, Input<double> H, double C) {
            if (G.shape(0) != H.size() || G.shape(1) != H.size()) throw std::invalid_argument("G and H do not fit");
            return to_numpy(hildreth(view(G), view(H), C));
        },
        "G"_a, "H"_a, "C"_a);
}

}  // namespace dualstruct
