// What passes report and average, and what is asked of all examples at a fixed w, for Python.

#include "python/passes.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "base/pool.hpp"
#include "learning/measures.hpp"
#include "learning/weights.hpp"
#include "simd/dispatch.hpp"

namespace dualstruct {

using namespace nb::literals;

void bind_passes(nb::module_& m) {
    m.def("most_threads", &most_threads);
    m.def("pool_size", &pool_size);
    m.def("simd_levels", &simd_levels);
    m.def("simd_level", [] { return simd_level(); });

    nb::class_<PassReport>(m, "PassReport")
        .def_ro("inferences", &PassReport::inferences)
        .def_ro("added", &PassReport::added)
        .def_ro("largest_violation", &PassReport::largest_violation)
        .def_ro("loss", &PassReport::loss)
        .def_ro("beaten", &PassReport::beaten)
        .def_ro("moves", &PassReport::moves);

    nb::class_<Average>(m, "Average")
        .def(nb::init<const Structure&, bool>(), "structure"_a, "linear"_a = false)
        .def(
            "write",
            [](Average& average, const Structure& structure, const Weights& v, double scale, Weights& out) {
                checked(average.deferred(), structure);
                GilReleased no_gil;
                average.write(checked(v, structure), scale, checked(out, structure));
                structure.derive(out.data());
            },
            "structure"_a, "v"_a, "scale"_a, "out"_a)
        .def("save",
             [](Average& average) {
                 const float* deferred = average.deferred().data();
                 return nb::make_tuple(
                     to_numpy(std::vector<float>(deferred, deferred + average.deferred().dimension())),
                     average.scales(), average.steps());
             })
        .def(
            "load",
            [](Average& average, const Structure& structure, Input<float> deferred, double scales, std::int64_t steps) {
                if (!std::isfinite(scales) || steps < 0) throw std::invalid_argument("the saved average is damaged");
                assign(average.deferred(), structure, deferred);
                average.set(scales, steps);
            },
            "structure"_a, "deferred"_a, "scales"_a, "steps"_a);

    m.def(
        "largest_violations",
        [](const Examples& examples, const Weights& w, double cost_weight, int threads) {
            return for_every_example([&](const Interrupt& interrupt) {
                return largest_violations(with_truth(examples), checked(w, examples), cost_weight, threads, interrupt);
            });
        },
        "examples"_a, "w"_a, "cost_weight"_a = 1.0, "threads"_a = 1);
    m.def(
        "log_losses",
        [](const Examples& examples, const Weights& w, double beta, double gamma, int threads) {
            return for_every_example([&](const Interrupt& interrupt) {
                return log_losses(with_truth(examples), checked(w, examples), beta, gamma, threads, interrupt);
            });
        },
        "examples"_a, "w"_a, "beta"_a, "gamma"_a, "threads"_a = 1);

    m.def(
        "linearise_concave",
        [](const Examples& examples, const Weights& w, double cost_weight, double C, Weights& center) {
            return to_numpy(without_gil([&] {
                return linearise_concave(with_truth(examples), checked(w, examples), cost_weight, C,
                                         checked(center, examples));
            }));
        },
        "examples"_a, "w"_a, "cost_weight"_a, "C"_a, "center"_a);
}

}  // namespace dualstruct
