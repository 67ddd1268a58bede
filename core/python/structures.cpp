// What every structure offers to Python, and weights. Loops over examples run without the GIL.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "base/index.hpp"
#include "base/packed_rows.hpp"
#include "base/parallel.hpp"
#include "python/passes.hpp"

namespace dualstruct {

using namespace nb::literals;

namespace {

// The outputs of all examples, one after the other.
std::vector<std::int32_t> decode_all(const Examples& examples, const Weights& w, float cost_weight, int threads,
                                     const Interrupt& interrupt) {
    const Structure& structure = examples.structure;
    const std::int64_t n = examples.size();
    std::vector<std::int64_t> begins{0};
    for (std::int64_t i = 0; i < n; ++i) begins.push_back(begins.back() + structure.output_size(examples[i]));
    std::vector<std::int32_t> outputs(at(begins.back()));
    for_each_range(n, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
        const auto scratch = structure.make_scratch();
        for (std::int64_t i = begin; i < end; ++i) {
            if (thread == 0 && interrupt()) return;
            if (i + 1 < end) structure.prefetch_decode(w.data(), examples[i + 1]);
            structure.decode(w.data(), examples[i], cost_weight, *scratch);
            std::ranges::copy(scratch->output, outputs.begin() + begins[at(i)]);
        }
    });
    return outputs;
}

// Codes from outside are checked: they index into the example.
std::span<const Code> codes_of(const Structure& structure, std::int64_t i, const Input<Code>& codes) {
    if (!with_truth(structure).is_valid(example(structure, i), view(codes))) {
        throw std::invalid_argument("these codes are no difference of this example");
    }
    return view(codes);
}

// An example that is not there is refused first.
const Expectations& expectations_at(const Structure& structure, std::int64_t i) {
    example(structure, i);
    return expectations_of(structure);
}

const Parts& parts_at(const Structure& structure, std::int64_t i) {
    example(structure, i);
    return parts_of(structure);
}

// The marginals of an example's parts.
std::span<const float> marginals_of(const Structure& structure, std::int64_t i, const Input<float>& marginals) {
    if (static_cast<std::int64_t>(marginals.size()) != parts_at(structure, i).part_count(i)) {
        throw std::invalid_argument("a marginal for every part");
    }
    return view(marginals);
}

}  // namespace

void assign(Weights& w, const Structure& structure, Input<float> values) {
    checked(w, structure);
    if (static_cast<std::int64_t>(values.size()) != w.dimension()) {
        throw std::invalid_argument("the weights have another shape than the structure");
    }
    const GilReleased unlocked;
    std::copy_n(values.data(), values.size(), w.data());
    structure.derive(w.data());
}

// Rows of which only the numbers that are not 0 are stored, and what stands behind them, into weights that are 0.
template <class T>
void assign_rows(Weights& w, const Structure& structure, const Input<T>& counts, const Input<T>& columns,
                 const Input<float>& values, std::size_t stride, const Input<float>& behind) {
    checked(w, structure);
    if (static_cast<std::int64_t>(counts.size() * stride + behind.size()) != w.dimension()) {
        throw std::invalid_argument("the weights have another shape than the structure");
    }
    const GilReleased unlocked;
    expand_rows<T>(view(counts), view(columns), view(values), stride, w.data());
    std::copy_n(behind.data(), behind.size(), w.data() + counts.size() * stride);
    structure.derive(w.data());
}

template <class T>
void bind_assign_rows(nb::class_<Weights>& weights) {
    weights.def("assign_rows", &assign_rows<T>, "structure"_a, "counts"_a, "columns"_a, "values"_a, "stride"_a,
                "behind"_a);
}

void bind_structures(nb::module_& m) {
    static PyObject* infeasible = PyErr_NewException("dualstruct._core.InfeasibleError", PyExc_ValueError, nullptr);
    m.attr("InfeasibleError") = nb::handle(infeasible);
    static PyObject* unsupported =
        PyErr_NewException("dualstruct._core.UnsupportedError", PyExc_NotImplementedError, nullptr);
    m.attr("UnsupportedError") = nb::handle(unsupported);
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const Infeasible& e) {
            PyErr_SetObject(infeasible, nb::make_tuple(e.example, e.part).ptr());
        } catch (const Unsupported& e) {
            PyErr_SetString(unsupported, e.what());
        }
    });

    nb::class_<Excerpt>(m, "Excerpt")
        .def("dot", &Excerpt::dot, "output"_a)
        .def("axpy", &Excerpt::axpy, "output"_a, "step"_a)
        .def(
            "combination_norm2",
            [](Excerpt& e, const std::vector<double>& coefficients) { return e.combination_norm2(coefficients); },
            "coefficients"_a)
        .def("decode",
             [](Excerpt& e) {
                 Difference found;
                 const double violation = e.decode(found);
                 return nb::make_tuple(violation, found.cost, to_numpy(std::move(found.codes)));
             })
        .def(
            "append", [](Excerpt& e, Input<Code> codes) { e.append(view(codes)); }, "codes"_a)
        .def("write", [](Excerpt& e, Weights& w) { e.write(w.data()); }, "w"_a);
    nb::class_<Structure>(m, "Structure")
        .def_prop_ro("size", &Structure::size)
        .def_prop_ro("has_truth", &Structure::has_truth)
        .def_prop_ro("dimension", &Structure::dimension)
        .def_prop_ro("exact_decoder", &Structure::exact_decoder)
        .def_prop_ro("has_expectations", [](const Structure& s) { return s.expectations() != nullptr; })
        .def_prop_ro("has_parts", [](const Structure& s) { return s.parts() != nullptr; })
        .def(
            "output_size", [](const Structure& s, std::int64_t i) { return s.output_size(example(s, i)); }, "i"_a)
        .def(
            "decode",
            [](const Structure& s, const Weights& w, std::int64_t i, float cost_weight) {
                check_cost(s, cost_weight);
                const auto scratch = s.make_scratch();
                {
                    GilReleased no_gil;
                    s.decode(checked(w, s).data(), example(s, i), cost_weight, *scratch);
                }
                return to_numpy(std::move(scratch->output));
            },
            "w"_a, "i"_a, "cost_weight"_a = 0.0f)
        .def(
            "k_best",
            [](const Structure& s, const Weights& w, std::int64_t i, int k, float cost_weight) {
                check_cost(s, cost_weight);
                if (k < 1) throw std::invalid_argument("k must be at least 1");
                auto found = without_gil([&] {
                    const auto scratch = s.make_scratch();
                    return s.k_best(checked(w, s).data(), example(s, i), cost_weight, k, *scratch);
                });
                nb::list result;
                for (auto& output : found)
                    result.append(nb::make_tuple(output.score, to_numpy(std::move(output.output))));
                return result;
            },
            "w"_a, "i"_a, "k"_a, "cost_weight"_a = 0.0f)
        .def(
            "cost",
            [](const Structure& s, std::int64_t i, Input<std::int32_t> output) {
                return with_truth(s).cost(i, output_of(s, i, output));
            },
            "i"_a, "output"_a)
        .def(
            "score",
            [](const Structure& s, const Weights& w, std::int64_t i, Input<std::int32_t> output) {
                return s.score(checked(w, s).data(), i, output_of(s, i, output));
            },
            "w"_a, "i"_a, "output"_a)
        .def(
            "add_features",
            [](const Structure& s, Weights& w, std::int64_t i, Input<std::int32_t> output, float step) {
                s.add_features(checked(w, s).data(), i, output_of(s, i, output), step);
            },
            "w"_a, "i"_a, "output"_a, "step"_a)
        .def(
            "difference",
            [](const Structure& s, std::int64_t i, Input<std::int32_t> output) {
                Difference d;
                with_truth(s).difference(i, output_of(s, i, output), d);
                return nb::make_tuple(d.cost, to_numpy(std::move(d.codes)));
            },
            "i"_a, "output"_a)
        .def(
            "is_valid",
            [](const Structure& s, std::int64_t i, Input<Code> codes) {
                return with_truth(s).is_valid(example(s, i), view(codes));
            },
            "i"_a, "codes"_a)
        .def(
            "dot",
            [](const Structure& s, const Weights& w, std::int64_t i, Input<Code> codes) {
                return s.dot(checked(w, s).data(), i, codes_of(s, i, codes));
            },
            "w"_a, "i"_a, "codes"_a)
        .def(
            "axpy",
            [](const Structure& s, Weights& w, std::int64_t i, Input<Code> codes, float step) {
                s.axpy(checked(w, s).data(), i, codes_of(s, i, codes), step);
            },
            "w"_a, "i"_a, "codes"_a, "step"_a)
        .def(
            "inner",
            [](const Structure& s, std::int64_t i, Input<Code> a, Input<Code> b) {
                const auto scratch = s.make_scratch();
                return s.inner(i, codes_of(s, i, a), codes_of(s, i, b), *scratch);
            },
            "i"_a, "a"_a, "b"_a)
        .def(
            "distance2",
            [](const Structure& s, std::int64_t i, Input<Code> a, Input<Code> b) {
                const auto scratch = s.make_scratch();
                return s.distance2(i, codes_of(s, i, a), codes_of(s, i, b), *scratch);
            },
            "i"_a, "a"_a, "b"_a)
        .def(
            "combination_norm2",
            [](const Structure& s, std::int64_t i, const std::vector<Input<Code>>& cuts,
               const std::vector<double>& coefficients) {
                if (cuts.size() != coefficients.size()) throw std::invalid_argument("a coefficient for every cut");
                std::vector<WeightedCodes> terms;
                for (std::size_t p = 0; p < cuts.size(); ++p)
                    terms.push_back({codes_of(s, i, cuts[p]), coefficients[p]});
                const auto scratch = s.make_scratch();
                return s.combination_norm2(i, terms, *scratch);
            },
            "i"_a, "cuts"_a, "coefficients"_a)
        .def(
            "excerpt",
            [](const Structure& s, Weights& w, std::int64_t i,
               const std::vector<Input<Code>>& cuts) -> std::unique_ptr<Excerpt> {
                auto excerpt = s.make_excerpt();
                if (excerpt) excerpt->start(example(s, i));
                for (const auto& codes : cuts) {
                    if (!excerpt || !excerpt->include(codes_of(s, i, codes))) return nullptr;
                }
                if (excerpt) excerpt->read(checked(w, s).data());
                return excerpt;
            },
            nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), "w"_a, "i"_a, "cuts"_a)
        .def(
            "log_loss",
            [](const Structure& s, const Weights& w, std::int64_t i, double beta, double gamma, Weights* target,
               float step) {
                const auto scratch = with_truth(s).make_scratch();
                const Expectations& sums = expectations_at(s, i);
                const double loss = sums.log_loss(checked(w, s).data(), i, beta, gamma, *scratch);
                if (target) sums.add_expected_difference(checked(*target, s).data(), i, step, *scratch);
                return nb::make_tuple(loss, sums.expected_difference_norm2(i, *scratch));
            },
            "w"_a, "i"_a, "beta"_a, "gamma"_a, "target"_a.none() = nb::none(), "step"_a = 1.0f)
        .def(
            "parts", [](const Structure& s, std::int64_t i) { return parts_at(s, i).part_count(i); }, "i"_a)
        .def(
            "part_scores",
            [](const Structure& s, const Weights& w, std::int64_t i, double gamma) {
                check_cost(s, gamma);
                const Parts& parts = parts_at(s, i);
                std::vector<float> scores(at(parts.part_count(i)));
                parts.part_scores(checked(w, s).data(), i, gamma, scores);
                return to_numpy(std::move(scores));
            },
            "w"_a, "i"_a, "gamma"_a)
        .def(
            "part_marginals",
            [](const Structure& s, std::int64_t i, Input<float> scores) {
                const Parts& parts = parts_at(s, i);
                if (static_cast<std::int64_t>(scores.size()) != parts.part_count(i)) {
                    throw std::invalid_argument("a score for every part");
                }
                std::vector<float> marginals(scores.size());
                const auto scratch = s.make_scratch();
                const double log_sum = parts.part_marginals(i, view(scores), marginals, *scratch);
                return nb::make_tuple(log_sum, to_numpy(std::move(marginals)));
            },
            "i"_a, "scores"_a)
        .def(
            "expected_part_cost",
            [](const Structure& s, std::int64_t i, Input<float> marginals) {
                return parts_at(with_truth(s), i).expected_part_cost(i, marginals_of(s, i, marginals));
            },
            "i"_a, "marginals"_a)
        .def(
            "add_parts",
            [](const Structure& s, Weights& w, std::int64_t i, Input<float> marginals, float step) {
                parts_at(s, i).add_parts(checked(w, s).data(), i, marginals_of(s, i, marginals), step);
            },
            "w"_a, "i"_a, "marginals"_a, "step"_a)
        .def(
            "add_part_difference",
            [](const Structure& s, Weights& w, std::int64_t i, Input<float> marginals, float step) {
                const auto scratch = with_truth(s).make_scratch();
                add_part_difference(s, checked(w, s).data(), i, marginals_of(s, i, marginals), step, *scratch);
            },
            "w"_a, "i"_a, "marginals"_a, "step"_a);

    nb::class_<Examples>(m, "Examples")
        .def(
            "__init__",
            [](Examples* self, const Structure& structure, std::optional<Input<std::int64_t>> chosen) {
                for (std::int64_t i : view(chosen)) example(structure, i);
                std::optional<std::vector<std::int64_t>> indices;
                if (chosen) indices.emplace(chosen->data(), chosen->data() + chosen->size());
                new (self) Examples(structure, std::move(indices));
            },
            "structure"_a, "chosen"_a.none() = nb::none(), nb::keep_alive<1, 2>())
        .def_prop_ro("size", &Examples::size)
        .def(
            "set_weights",
            [](Examples& e, Input<double> weights) {
                if (static_cast<std::int64_t>(weights.size()) != e.size())
                    throw std::invalid_argument("one weight per example");
                e.set_weights({weights.data(), weights.data() + weights.size()});
            },
            "weights"_a)
        .def(
            "decode_all",
            [](const Examples& e, const Weights& w, float cost_weight, int threads) {
                check_cost(e.structure, cost_weight);
                return to_numpy(run([&](const Interrupt& interrupt) {
                    return decode_all(e, checked(w, e), cost_weight, threads, interrupt);
                }));
            },
            "w"_a, "cost_weight"_a = 0.0f, "threads"_a = 1);

    auto weights = nb::class_<Weights>(m, "Weights", nb::is_weak_referenceable());
    weights.def(nb::init<const Structure&>(), "structure"_a, nb::call_guard<GilReleased>())
        .def_prop_ro(
            "array",
            [](Weights& w) {
                return nb::ndarray<const float, nb::numpy, nb::ndim<1>>(w.data(), {at(w.dimension())}, nb::find(w));
            },
            nb::rv_policy::reference_internal)
        .def("assign", &assign, "structure"_a, "values"_a)
        .def("squared_norm", &Weights::squared_norm, "threads"_a = 1, nb::call_guard<GilReleased>())
        .def(
            "squared_distance",
            [](const Weights& w, const Weights& other, int threads) {
                if (w.dimension() != other.dimension()) throw std::invalid_argument("the weights differ in shape");
                GilReleased no_gil;
                return w.squared_distance(other, threads);
            },
            "other"_a, "threads"_a = 1);
    bind_assign_rows<std::uint8_t>(weights);
    bind_assign_rows<std::uint16_t>(weights);
    bind_assign_rows<std::uint32_t>(weights);
}

}  // namespace dualstruct
