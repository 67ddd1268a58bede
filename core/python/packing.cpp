// The vectors of batch methods for Python.

#include <nanobind/stl/vector.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "learning/packing.hpp"
#include "python/bindings.hpp"

namespace dualstruct {

using namespace nb::literals;

namespace {

std::vector<const float*> row_pointers(const std::vector<Input<float>>& rows, std::size_t n) {
    std::vector<const float*> pointers;
    for (const auto& row : rows) {
        if (row.size() != n) throw std::invalid_argument("vectors of different lengths");
        pointers.push_back(row.data());
    }
    return pointers;
}

}  // namespace

void bind_packing(nb::module_& m) {
    m.def(
        "weight_variances",
        [](const Examples& examples) {
            const Expectations& expectations = expectations_of(examples.structure);
            Weights sums(examples.structure);
            for (std::int64_t i = 0; i < examples.size(); ++i) expectations.add_variance(sums.data(), examples[i]);
            return to_numpy(std::vector<float>(sums.data(), sums.data() + sums.dimension()));
        },
        "examples"_a);
    m.def(
        "observed_weights",
        [](const Examples& examples) {
            const Structure& structure = with_truth(examples.structure);
            Weights marks(structure);
            for (std::int64_t i = 0; i < examples.size(); ++i) structure.mark_observed(marks.data(), examples[i]);
            return to_numpy(std::vector<float>(marks.data(), marks.data() + marks.dimension()));
        },
        "examples"_a);
    m.def(
        "dots",
        [](const std::vector<Input<float>>& rows, const std::vector<Input<float>>& vectors, int threads) {
            const std::size_t n = vectors.empty() ? 0 : vectors[0].size();
            const auto a = row_pointers(rows, n), b = row_pointers(vectors, n);
            auto result = without_gil([&] { return dots(a, b, static_cast<std::int64_t>(n), threads); });
            return shaped(nb::cast(to_numpy(std::move(result))), nb::make_tuple(rows.size(), vectors.size()));
        },
        "rows"_a, "vectors"_a, "threads"_a = 1);
    m.def(
        "combine",
        [](const std::vector<Input<float>>& rows, const std::vector<double>& coefficients, Array<float> out,
           int threads) {
            if (rows.size() != coefficients.size()) throw std::invalid_argument("a coefficient for every row");
            const auto a = row_pointers(rows, out.size());
            GilReleased no_gil;
            combine(a, coefficients, static_cast<std::int64_t>(out.size()), threads, out.data());
        },
        "rows"_a, "coefficients"_a, "out"_a, "threads"_a = 1);
    m.def(
        "combine_weights",
        [](const Structure& structure, const std::vector<Input<float>>& rows, const std::vector<double>& coefficients,
           Weights& out, int threads) {
            if (rows.size() != coefficients.size()) throw std::invalid_argument("a coefficient for every row");
            checked(out, structure);
            const auto a = row_pointers(rows, at(out.dimension()));
            GilReleased no_gil;
            combine(a, coefficients, out.dimension(), threads, out.data());
            structure.derive(out.data());
        },
        "structure"_a, "rows"_a, "coefficients"_a, "out"_a, "threads"_a = 1);
    nb::class_<Packing>(m, "Packing")
        .def(
            "__init__",
            [](Packing* self, const Structure& structure, Input<std::int64_t> index, Input<float> scale,
               const Weights* center, int threads) {
                if (center) checked(*center, structure);
                for (std::int64_t at : view(index)) {
                    if (at < 0 || at >= structure.dimension()) throw std::invalid_argument("no such weight");
                }
                if (index.size() != scale.size()) throw std::invalid_argument("a scale for every weight");
                new (self) Packing(structure, {index.data(), index.data() + index.size()},
                                   {scale.data(), scale.data() + scale.size()}, center, threads);
            },
            "structure"_a, "index"_a, "scale"_a, "center"_a.none(), "threads"_a, nb::keep_alive<1, 2>(),
            nb::keep_alive<1, 5>())
        .def(
            "unpack",
            [](const Packing& p, Input<float> x, Weights& w) {
                if (static_cast<std::int64_t>(x.size()) != p.size())
                    throw std::invalid_argument("x has another length");
                checked(w, p.structure());
                GilReleased no_gil;
                p.unpack(x.data(), w);
            },
            "x"_a, "w"_a)
        .def(
            "pack",
            [](const Packing& p, Input<float> x, const Weights& descent, double C, Array<float> gradient) {
                if (static_cast<std::int64_t>(x.size()) != p.size() || x.size() != gradient.size()) {
                    throw std::invalid_argument("x has another length");
                }
                auto norms =
                    without_gil([&] { return p.pack(x.data(), checked(descent, p.structure()), C, gradient.data()); });
                return nb::make_tuple(norms.regulariser, norms.gradient_norm2, norms.descent_norm2);
            },
            "x"_a, "descent"_a, "C"_a, "gradient"_a);
}

}  // namespace dualstruct
