// Gradients of the losses, and exponentiated gradient on the dual, for Python.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "learning/exponentiated_gradient.hpp"
#include "learning/gradient.hpp"
#include "python/passes.hpp"

namespace dualstruct {

using namespace nb::literals;

void bind_gradients(nb::module_& m) {
    nb::class_<GradientPass>(m, "GradientPass")
        .def(
            "__init__",
            [](GradientPass* self, const Examples& examples, int threads) {
                new (self) GradientPass(with_truth(examples), threads);
            },
            "examples"_a, "threads"_a, nb::keep_alive<1, 2>())
        .def(
            "run",
            [](GradientPass& p, const Weights& w, Weights& descent, double beta, double gamma) {
                checked(w, p.structure());
                checked(descent, p.structure());
                return run([&](const Interrupt& interrupt) { return p.run(w, descent, beta, gamma, interrupt); });
            },
            "w"_a, "descent"_a, "beta"_a, "gamma"_a);

    using EG = ExponentiatedGradient;
    nb::class_<EG>(m, "ExponentiatedGradient")
        .def(
            "__init__",
            [](EG* self, const Examples& examples, Weights& w, const Weights* center, double C, double inverse_beta,
               double gamma, double first_step, double first_score) {
                if (center) checked(*center, examples);
                new (self) EG(with_truth(examples), checked(w, examples), center, C, inverse_beta, gamma, first_step,
                              first_score);
            },
            "examples"_a, "w"_a, "center"_a.none(), "C"_a, "inverse_beta"_a, "gamma"_a, "first_step"_a, "first_score"_a,
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
        .def(
            "run",
            [](EG& eg, std::uint64_t seed) {
                return run([&](const Interrupt& interrupt) { return eg.pass(seed, interrupt); });
            },
            "seed"_a)
        .def("rebuild", &EG::rebuild, nb::call_guard<GilReleased>())
        .def(
            "dual", [](const EG& eg) { return eg.dual(); }, nb::call_guard<GilReleased>())
        .def(
            "write",
            [](EG& eg, Weights& out) {
                checked(out, eg.structure());
                GilReleased no_gil;
                eg.write(out);
                return eg.dual(out);
            },
            "out"_a)
        .def("save",
             [](const EG& eg) {
                 return nb::make_tuple(to_numpy(std::vector<float>(eg.theta)), to_numpy(std::vector<double>(eg.steps)));
             })
        .def(
            "load",
            [](EG& eg, Input<float> theta, Input<double> steps) {
                const auto is_step = [](double step) { return step > 0 && std::isfinite(step); };
                if (theta.size() != eg.theta.size() || steps.size() != eg.steps.size() ||
                    !std::ranges::all_of(view(theta), [](float score) { return !std::isnan(score); }) ||
                    !std::ranges::all_of(view(steps), is_step)) {
                    throw std::invalid_argument("the saved scores are damaged");
                }
                std::copy_n(theta.data(), theta.size(), eg.theta.begin());
                std::copy_n(steps.data(), steps.size(), eg.steps.begin());
                eg.rebuild();
            },
            "theta"_a, "steps"_a);
}

}  // namespace dualstruct
