// The bundle of cutting planes for Python.

#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "learning/planes.hpp"
#include "python/passes.hpp"

namespace dualstruct {

using namespace nb::literals;

namespace {

// Planes as arrays, one after the other, for checkpoints: examples, coefficients, codes, ends, sizes, idle, numbers.
using SavedPlanes = std::tuple<Input<std::int64_t>, Input<float>, Input<Code>, Input<std::int64_t>, Input<std::int64_t>,
                               Input<std::int64_t>, Input<double>>;

nb::tuple save_planes(const PlaneStore& store) {
    std::vector<std::int64_t> examples, ends, sizes, idle;
    std::vector<float> coefficients;
    std::vector<Code> codes;
    std::vector<double> numbers;
    for (const auto& plane : store.planes()) {
        examples.insert(examples.end(), plane.examples.begin(), plane.examples.end());
        ends.insert(ends.end(), plane.ends.begin(), plane.ends.end());
        coefficients.insert(coefficients.end(), plane.coefficients.begin(), plane.coefficients.end());
        codes.insert(codes.end(), plane.codes.begin(), plane.codes.end());
        sizes.push_back(static_cast<std::int64_t>(plane.examples.size()));
        idle.push_back(plane.idle);
        numbers.push_back(plane.offset);
        numbers.push_back(plane.alpha);
    }
    return nb::make_tuple(to_numpy(std::move(examples)), to_numpy(std::move(coefficients)), to_numpy(std::move(codes)),
                          to_numpy(std::move(ends)), to_numpy(std::move(sizes)), to_numpy(std::move(idle)),
                          to_numpy(std::move(numbers)));
}

// Only what copying needs is checked here; whether the planes are such of these examples, the store checks.
void load_planes(PlaneStore& store, const SavedPlanes& arrays, bool squared, int threads) {
    const auto& [examples, coefficients, codes, ends, sizes, idle, numbers] = arrays;
    std::vector<PlaneStore::Plane> planes(sizes.size());
    std::size_t example = 0, word = 0;
    const auto check = [](bool good) {
        if (!good) throw std::invalid_argument("the saved planes are damaged");
    };
    check(examples.size() == coefficients.size() && examples.size() == ends.size() && idle.size() == sizes.size() &&
          numbers.size() == 2 * sizes.size() && sizes.size() <= PlaneStore::most_planes);
    for (std::size_t p = 0; p < planes.size(); ++p) {
        auto& plane = planes[p];
        check(idle.data()[p] >= 0 && idle.data()[p] <= std::numeric_limits<int>::max());
        check(sizes.data()[p] > 0 && at(sizes.data()[p]) <= examples.size() - example);
        const std::size_t size = at(sizes.data()[p]);
        plane.examples.assign(examples.data() + example, examples.data() + example + size);
        plane.coefficients.assign(coefficients.data() + example, coefficients.data() + example + size);
        for (std::size_t k = 0; k < size; ++k) {
            const auto end = at(ends.data()[example + k]);
            check(end >= (plane.ends.empty() ? 0 : plane.ends.back()) && end <= codes.size() - word);
            plane.ends.push_back(end);
        }
        plane.codes.assign(codes.data() + word, codes.data() + word + plane.ends.back());
        plane.idle = static_cast<int>(idle.data()[p]);
        plane.offset = numbers.data()[2 * p];
        plane.alpha = numbers.data()[2 * p + 1];
        example += size;
        word += plane.ends.back();
    }
    check(example == examples.size() && word == codes.size());
    store.load(std::move(planes), squared, threads);
}

}  // namespace

void bind_planes(nb::module_& m) {
    nb::class_<PlaneStore>(m, "PlaneStore")
        .def(
            "__init__",
            [](PlaneStore* self, const Examples& examples, Weights& w, const Weights* center) {
                if (center) checked(*center, examples);
                new (self) PlaneStore(with_truth(examples), checked(w, examples), center);
            },
            "examples"_a, "w"_a, "center"_a.none() = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
            nb::keep_alive<1, 4>())
        .def_prop_ro("size", &PlaneStore::size)
        .def(
            "add",
            [](PlaneStore& planes, bool squared, int threads) {
                return run([&](const Interrupt& interrupt) {
                    PassReport report;
                    report.loss = planes.add(squared, threads, interrupt);
                    return report;
                });
            },
            "squared"_a, "threads"_a)
        .def("solve", &PlaneStore::solve, "C"_a, "tolerance"_a, "patience"_a, "threads"_a,
             nb::call_guard<GilReleased>())
        .def("dual", &PlaneStore::dual)
        .def("slack", &PlaneStore::slack)
        .def("rebuild", &PlaneStore::rebuild, "threads"_a, nb::call_guard<GilReleased>())
        .def("save", &save_planes)
        .def("load", &load_planes, "arrays"_a, "squared"_a, "threads"_a);
}

}  // namespace dualstruct
