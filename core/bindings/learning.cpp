// Structures, weights, duals and passes for Python. Every loop runs without the GIL.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <optional>
#include <string>
#include <tuple>

#include "bindings/bindings.hpp"
#include "cuts.hpp"
#include "exponentiated_gradient.hpp"
#include "gradient.hpp"
#include "packing.hpp"
#include "passes.hpp"
#include "rules/dcd.hpp"
#include "simd/dispatch.hpp"
#include "structures/chain.hpp"
#include "weights.hpp"

namespace dualstruct {

using namespace nb::literals;

namespace {

template <class T, class Shape>
std::span<const T> view(const Input<T, Shape>& array) {
    return {array.data(), array.size()};
}

template <class T, class Shape>
std::span<const T> view(const std::optional<Input<T, Shape>>& array) {
    return array ? view(*array) : std::span<const T>{};
}

// Lets Python's signal handlers run, ten times a second at most.
class SignalCheck {
public:
    bool operator()() {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_) return false;
        next_ = now + std::chrono::milliseconds(100);
        nb::gil_scoped_acquire gil;
        return PyErr_CheckSignals() != 0;  // leaves the exception set for the caller
    }

private:
    std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
};

void raise_if_signalled() {
    if (PyErr_Occurred()) throw nb::python_error();
}

template <class Pass>
PassReport run(Pass pass) {
    PassReport report;
    {
        nb::gil_scoped_release no_gil;
        report = pass(SignalCheck());
    }
    raise_if_signalled();
    return report;
}

template <class Measure>
Array<double> for_every_example(Measure measure) {
    std::vector<double> values;
    {
        nb::gil_scoped_release no_gil;
        values = measure(SignalCheck());
    }
    raise_if_signalled();
    return to_numpy(std::move(values));
}

void assign(Weights& w, const Structure& structure, Input<float> values) {
    if (static_cast<std::int64_t>(values.size()) != w.dimension() || structure.dimension() != w.dimension()) {
        throw std::invalid_argument("the weights have another shape than the structure");
    }
    std::copy_n(values.data(), values.size(), w.data());
    structure.derive(w.data());
}

// A rule's class for Python and the passes that take it: one row a rule.
template <class Rule>
void bind_rule(nb::module_& m, nb::class_<DualState>& state, const char* name) {
    nb::class_<Rule>(m, name).def("__init__", [](Rule* self, double C) {
        new (self) Rule();
        self->C = C;
    }, "C"_a);
    state.def("visit", [](DualState& s, const Rule& rule, double delta, std::uint64_t seed) {
        return run([&](const Interrupt& interrupt) { return visit(s, rule, delta, seed, interrupt); });
    }, "rule"_a, "delta"_a, "seed"_a);
    state.def("revisit", [](DualState& s, const Rule& rule, std::uint64_t seed) {
        return run([&](const Interrupt& interrupt) { return revisit(s, rule, seed, interrupt); });
    }, "rule"_a, "seed"_a);
}

template <class Gradient>
void bind_gradient(nb::class_<GradientPass>& pass) {
    pass.def("run", [](GradientPass& p, const Weights& w, Weights& descent, const Gradient& gradient) {
        double loss;
        {
            nb::gil_scoped_release no_gil;
            loss = p.run(w, descent, gradient, SignalCheck());
        }
        raise_if_signalled();
        return loss;
    }, "w"_a, "descent"_a, "gradient"_a);
}

nb::object shaped(nb::object array, nb::tuple shape) { return array.attr("reshape")(shape); }

std::vector<const float*> row_pointers(const std::vector<Input<float>>& rows, std::size_t n) {
    std::vector<const float*> pointers;
    for (const auto& row : rows) {
        if (row.size() != n) throw std::invalid_argument("vectors of different lengths");
        pointers.push_back(row.data());
    }
    return pointers;
}

void bind_packing(nb::module_& m) {
    m.def("weight_variances", [](const Structure& structure) {
        Weights sums(structure);
        for (std::int64_t i = 0; i < structure.size(); ++i) structure.add_variance(sums.data(), i);
        return to_numpy(std::vector<float>(sums.data(), sums.data() + sums.dimension()));
    }, "structure"_a);
    m.def("observed_weights", [](const Structure& structure) {
        Weights marks(structure);
        for (std::int64_t i = 0; i < structure.size(); ++i) structure.mark_observed(marks.data(), i);
        return to_numpy(std::vector<float>(marks.data(), marks.data() + marks.dimension()));
    }, "structure"_a);
    m.def("dots", [](const std::vector<Input<float>>& rows, const std::vector<Input<float>>& vectors, int threads) {
        const std::size_t n = vectors.empty() ? 0 : vectors[0].size();
        const auto a = row_pointers(rows, n), b = row_pointers(vectors, n);
        std::vector<double> result;
        {
            nb::gil_scoped_release no_gil;
            result = dots(a, b, static_cast<std::int64_t>(n), threads);
        }
        return shaped(nb::cast(to_numpy(std::move(result))), nb::make_tuple(rows.size(), vectors.size()));
    }, "rows"_a, "vectors"_a, "threads"_a = 1);
    m.def("combine", [](const std::vector<Input<float>>& rows, const std::vector<double>& coefficients,
                        Array<float> out, int threads) {
        if (rows.size() != coefficients.size()) throw std::invalid_argument("a coefficient for every row");
        const auto a = row_pointers(rows, out.size());
        nb::gil_scoped_release no_gil;
        combine(a, coefficients, static_cast<std::int64_t>(out.size()), threads, out.data());
    }, "rows"_a, "coefficients"_a, "out"_a, "threads"_a = 1);
    nb::class_<Packing>(m, "Packing")
        .def("__init__", [](Packing* self, const Structure& structure, Input<std::int64_t> index, Input<float> scale,
                            const Weights* center, int threads) {
            new (self) Packing(structure, {index.data(), index.data() + index.size()},
                               {scale.data(), scale.data() + scale.size()}, center, threads);
        }, "structure"_a, "index"_a, "scale"_a, "center"_a.none(), "threads"_a, nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 5>())
        .def("unpack", [](const Packing& p, Input<float> x, Weights& w) {
            if (static_cast<std::int64_t>(x.size()) != p.size()) throw std::invalid_argument("x has another length");
            nb::gil_scoped_release no_gil;
            p.unpack(x.data(), w);
        }, "x"_a, "w"_a)
        .def("pack", [](const Packing& p, Input<float> x, const Weights& descent, double C, Array<float> gradient) {
            if (static_cast<std::int64_t>(x.size()) != p.size() || x.size() != gradient.size()) {
                throw std::invalid_argument("x has another length");
            }
            Packing::Norms norms;
            {
                nb::gil_scoped_release no_gil;
                norms = p.pack(x.data(), descent, C, gradient.data());
            }
            return nb::make_tuple(norms.regulariser, norms.gradient_norm2);
        }, "x"_a, "descent"_a, "C"_a, "gradient"_a);
}

// The arrays a chain reads; it keeps them alive.
struct ChainArrays {
    Input<std::int64_t> sentences, offsets;
    Input<std::int32_t> features;
    std::optional<Input<float>> values;
    std::optional<Input<std::int32_t>> truth;
    Input<float, nb::ndim<2>> cost;
    std::optional<Input<std::uint8_t, nb::ndim<2>>> transitions;
    std::optional<Input<std::int64_t>> allowed_offsets;
    std::optional<Input<std::int32_t>> allowed;
};

ChainData chain_data(ChainArrays given, std::int64_t dimension, int labels) {
    const auto arrays = std::make_shared<const ChainArrays>(std::move(given));
    return {.sentences = view(arrays->sentences),
            .offsets = view(arrays->offsets),
            .features = view(arrays->features),
            .values = view(arrays->values),
            .truth = view(arrays->truth),
            .dimension = dimension,
            .labels = labels,
            .cost = view(arrays->cost),
            .transitions = view(arrays->transitions),
            .allowed_offsets = view(arrays->allowed_offsets),
            .allowed = view(arrays->allowed),
            .owner = arrays};
}

std::vector<std::int32_t> decode_all(const Chain& chain, const Weights& w, float cost_weight, int threads) {
    const std::int64_t n = chain.size();
    std::vector<std::int32_t> labels(static_cast<std::size_t>(n ? chain.first_token(n) : 0));
    for_each_range(n, threads, [&](std::int64_t begin, std::int64_t end, int) {
        const auto scratch = chain.make_scratch();
        for (std::int64_t i = begin; i < end; ++i) {
            if (i + 1 < end) chain.prefetch_decode(w.data(), i + 1);
            chain.decode(w.data(), i, cost_weight, *scratch);
            std::ranges::copy(scratch->output, labels.begin() + chain.first_token(i));
        }
    });
    return labels;
}

std::vector<float> marginals_all(const Chain& chain, const Weights& w, double beta, double gamma, int threads) {
    const std::int64_t n = chain.size(), K = chain.labels();
    std::vector<float> marginals(static_cast<std::size_t>(n ? chain.first_token(n) * K : 0));
    for_each_range(n, threads, [&](std::int64_t begin, std::int64_t end, int) {
        const auto scratch = chain.make_scratch();
        for (std::int64_t i = begin; i < end; ++i) {
            const auto found = chain.expectation(w.data(), i, beta, gamma, false, *scratch);
            std::ranges::copy(found.labels, marginals.begin() + chain.first_token(i) * K);
        }
    });
    return marginals;
}

}  // namespace

void bind_learning(nb::module_& m) {
    m.def("simd_levels", &simd_levels);
    m.def("simd_level", [] { return simd_level(); });

    static PyObject* infeasible = PyErr_NewException("dualstruct._core.InfeasibleError", PyExc_ValueError, nullptr);
    m.attr("InfeasibleError") = nb::handle(infeasible);
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const Infeasible& e) {
            PyErr_SetObject(infeasible, nb::make_tuple(e.example, e.part).ptr());
        } catch (const Unsupported& e) {
            PyErr_SetString(PyExc_NotImplementedError, e.what());
        }
    });

    nb::class_<Structure>(m, "Structure")
        .def_prop_ro("size", &Structure::size)
        .def_prop_ro("dimension", &Structure::dimension);

    nb::class_<Weights>(m, "Weights")
        .def(nb::init<const Structure&>(), "structure"_a)
        .def_prop_ro("array", [](Weights& w) {
            return nb::ndarray<const float, nb::numpy, nb::ndim<1>>(
                w.data(), {static_cast<std::size_t>(w.dimension())}, nb::find(w));
        }, nb::rv_policy::reference_internal)
        .def("assign", &assign, "structure"_a, "values"_a)
        .def("squared_norm", &Weights::squared_norm, nb::call_guard<nb::gil_scoped_release>())
        .def("squared_distance", &Weights::squared_distance, "other"_a, nb::call_guard<nb::gil_scoped_release>());

    nb::class_<PassReport>(m, "PassReport")
        .def_ro("inferences", &PassReport::inferences)
        .def_ro("added", &PassReport::added)
        .def_ro("largest_violation", &PassReport::largest_violation)
        .def_ro("loss", &PassReport::loss);

    nb::class_<DualState> state(m, "DualState");
    state.def(nb::init<const Structure&, Weights&, const Weights*>(), "structure"_a, "w"_a, "center"_a.none() = nb::none(),
              nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
        .def_prop_ro("cuts", [](const DualState& s) { return s.cuts.size(); })
        .def("average_into", [](DualState& s, Average* average) { s.average = average; }, "average"_a.none(),
             nb::keep_alive<1, 2>())
        .def("rebuild", &DualState::rebuild, nb::call_guard<nb::gil_scoped_release>())
        .def("sum_alpha_cost", &DualState::sum_alpha_cost, nb::call_guard<nb::gil_scoped_release>())
        .def("sum_alpha", [](const DualState& s) { return to_numpy(std::vector<double>(s.sum_alpha)); })
        .def("cuts_of", [](const DualState& s, std::int64_t i) {
            if (i < 0 || i >= s.cuts.examples()) throw nb::index_error("no such example");
            nb::list cuts;
            s.cuts.for_each(i, [&](const Cut& cut) {
                cuts.append(nb::make_tuple(cut.alpha, cut.cost, cut.norm2,
                                           to_numpy(std::vector<Word>(cut.words().begin(), cut.words().end()))));
            });
            return cuts;
        }, "i"_a)
        .def("save", [](const DualState& s) {
            std::vector<std::int64_t> words_of_example;
            auto words = s.cuts.save(words_of_example);
            return nb::make_tuple(to_numpy(std::move(words)), to_numpy(std::move(words_of_example)),
                                  to_numpy(std::vector<double>(s.sum_alpha)));
        })
        .def("load", [](DualState& s, Input<Word> words, Input<std::int64_t> words_of_example, Input<double> sums) {
            if (sums.size() != s.sum_alpha.size()) throw std::invalid_argument("the saved cuts are damaged");
            s.cuts.load(view(words), view(words_of_example));
            std::copy_n(sums.data(), sums.size(), s.sum_alpha.begin());
        }, "words"_a, "words_of_example"_a, "sum_alpha"_a);
    bind_rule<DCDRule>(m, state, "DCDRule");
    bind_rule<GatherRule>(m, state, "GatherRule");

    m.def("largest_violations", [](const Structure& structure, const Weights& w, double cost_weight, int threads) {
        return for_every_example([&](const Interrupt& interrupt) {
            return largest_violations(structure, w, cost_weight, threads, interrupt);
        });
    }, "structure"_a, "w"_a, "cost_weight"_a = 1.0, "threads"_a = 1);
    m.def("log_losses", [](const Structure& structure, const Weights& w, double beta, double gamma, int threads) {
        return for_every_example([&](const Interrupt& interrupt) {
            return log_losses(structure, w, beta, gamma, threads, interrupt);
        });
    }, "structure"_a, "w"_a, "beta"_a, "gamma"_a, "threads"_a = 1);

    nb::class_<SoftmaxMarginGradient>(m, "SoftmaxMarginGradient").def(nb::init<double, double>(), "beta"_a, "gamma"_a);
    nb::class_<HingeGradient>(m, "HingeGradient").def(nb::init<bool>(), "squared"_a);
    nb::class_<GradientPass> gradient(m, "GradientPass");
    gradient.def(nb::init<const Structure&, int>(), "structure"_a, "threads"_a, nb::keep_alive<1, 2>());
    bind_gradient<SoftmaxMarginGradient>(gradient);
    bind_gradient<HingeGradient>(gradient);

    bind_packing(m);

    using EG = ExponentiatedGradient;
    nb::class_<EG>(m, "ExponentiatedGradient")
        .def(nb::init<const Structure&, Weights&, const Weights*, double, double, double, double, double>(), "structure"_a,
             "w"_a, "center"_a.none(), "C"_a, "inverse_beta"_a, "gamma"_a, "first_step"_a, "first_score"_a, nb::keep_alive<1, 2>(),
             nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
        .def("run", [](EG& eg, std::uint64_t seed) {
            return run([&](const Interrupt& interrupt) { return eg.pass(seed, interrupt); });
        }, "seed"_a)
        .def("rebuild", &EG::rebuild, nb::call_guard<nb::gil_scoped_release>())
        .def("dual", &EG::dual, nb::call_guard<nb::gil_scoped_release>())
        .def("save", [](const EG& eg) {
            return nb::make_tuple(to_numpy(std::vector<float>(eg.theta)), to_numpy(std::vector<double>(eg.steps)));
        })
        .def("load", [](EG& eg, Input<float> theta, Input<double> steps) {
            if (theta.size() != eg.theta.size() || steps.size() != eg.steps.size()) {
                throw std::invalid_argument("the saved scores are damaged");
            }
            std::copy_n(theta.data(), theta.size(), eg.theta.begin());
            std::copy_n(steps.data(), steps.size(), eg.steps.begin());
            eg.rebuild();
        }, "theta"_a, "steps"_a);

    nb::class_<Average>(m, "Average")
        .def(nb::init<const Structure&>(), "structure"_a)
        .def("write", &Average::write, "structure"_a, "v"_a, "scale"_a, "out"_a,
             nb::call_guard<nb::gil_scoped_release>())
        .def("save", [](Average& average) {
            const float* late = average.late().data();
            return nb::make_tuple(to_numpy(std::vector<float>(late, late + average.late().dimension())),
                                  average.scales(), average.steps());
        })
        .def("load", [](Average& average, const Structure& structure, Input<float> late, double scales,
                        std::int64_t steps) {
            assign(average.late(), structure, late);
            average.set(scales, steps);
        }, "structure"_a, "late"_a, "scales"_a, "steps"_a);

    nb::class_<Chain, Structure>(m, "Chain")
        .def("__init__", [](Chain* self, Input<std::int64_t> sentences, Input<std::int64_t> offsets,
                            Input<std::int32_t> features, std::optional<Input<float>> values,
                            std::optional<Input<std::int32_t>> truth, std::int64_t dimension, int labels,
                            Input<float, nb::ndim<2>> cost,
                            std::optional<Input<std::uint8_t, nb::ndim<2>>> transitions,
                            std::optional<Input<std::int64_t>> allowed_offsets,
                            std::optional<Input<std::int32_t>> allowed) {
            new (self) Chain(chain_data({sentences, offsets, features, values, truth, cost, transitions,
                                         allowed_offsets, allowed}, dimension, labels));
        }, "sentences"_a, "offsets"_a, "features"_a, "values"_a.none(), "truth"_a.none(), "dimension"_a, "labels"_a,
           "cost"_a, "transitions"_a.none(), "allowed_offsets"_a.none(), "allowed"_a.none())
        .def_prop_ro("stride", &Chain::stride)
        .def("decode", [](const Chain& c, const Weights& w, std::int64_t i, float cost_weight) {
            const auto scratch = c.make_scratch();
            c.decode(w.data(), i, cost_weight, *scratch);
            return to_numpy(std::move(scratch->output));
        }, "w"_a, "i"_a, "cost_weight"_a)
        .def("decode_all", [](const Chain& c, const Weights& w, float cost_weight, int threads) {
            std::vector<std::int32_t> labels;
            {
                nb::gil_scoped_release no_gil;
                labels = decode_all(c, w, cost_weight, threads);
            }
            return to_numpy(std::move(labels));
        }, "w"_a, "cost_weight"_a, "threads"_a)
        .def("marginals_all", [](const Chain& c, const Weights& w, double beta, double gamma, int threads) {
            std::vector<float> marginals;
            {
                nb::gil_scoped_release no_gil;
                marginals = marginals_all(c, w, beta, gamma, threads);
            }
            return shaped(nb::cast(to_numpy(std::move(marginals))), nb::make_tuple(-1, c.labels()));
        }, "w"_a, "beta"_a, "gamma"_a, "threads"_a)
        .def("k_best", [](const Chain& c, const Weights& w, std::int64_t i, int k, float cost_weight) {
            std::vector<ScoredOutput> found;
            {
                nb::gil_scoped_release no_gil;
                const auto scratch = c.make_scratch();
                found = c.k_best(w.data(), i, cost_weight, k, *scratch);
            }
            nb::list result;
            for (auto& output : found) result.append(nb::make_tuple(output.score, to_numpy(std::move(output.labels))));
            return result;
        }, "w"_a, "i"_a, "k"_a, "cost_weight"_a)
        .def("expectation", [](const Chain& c, const Weights& w, std::int64_t i, double beta, double gamma) {
            ChainExpectation e;
            {
                nb::gil_scoped_release no_gil;
                const auto scratch = c.make_scratch();
                e = c.expectation(w.data(), i, beta, gamma, true, *scratch);
            }
            const int K = c.labels();
            return nb::make_tuple(e.log_partition, e.expected_cost,
                                  shaped(nb::cast(to_numpy(std::move(e.labels))), nb::make_tuple(-1, K)),
                                  shaped(nb::cast(to_numpy(std::move(e.pairs))), nb::make_tuple(-1, K, K)));
        }, "w"_a, "i"_a, "beta"_a, "gamma"_a)
        .def("cost", [](const Chain& c, std::int64_t i, Input<std::int32_t> output) {
            return c.cost(i, view(output));
        }, "i"_a, "output"_a)
        .def("score", [](const Chain& c, const Weights& w, std::int64_t i, Input<std::int32_t> output) {
            return c.score(w.data(), i, view(output));
        }, "w"_a, "i"_a, "output"_a)
        .def("add_features", [](const Chain& c, Weights& w, std::int64_t i, Input<std::int32_t> output, float step) {
            c.add_features(w.data(), i, view(output), step);
        }, "w"_a, "i"_a, "output"_a, "step"_a)
        .def("difference", [](const Chain& c, std::int64_t i, Input<std::int32_t> output) {
            Difference d;
            c.difference(i, view(output), d);
            return nb::make_tuple(d.cost, to_numpy(std::move(d.words)));
        }, "i"_a, "output"_a)
        .def("dot", [](const Chain& c, const Weights& w, std::int64_t i, Input<Word> words) {
            return c.dot(w.data(), i, view(words));
        }, "w"_a, "i"_a, "words"_a)
        .def("axpy", [](const Chain& c, Weights& w, std::int64_t i, Input<Word> words, float step) {
            c.axpy(w.data(), i, view(words), step);
        }, "w"_a, "i"_a, "words"_a, "step"_a)
        .def("log_loss", [](const Chain& c, const Weights& w, std::int64_t i, double beta, double gamma,
                            Weights* target, float step) {
            const auto scratch = c.make_scratch();
            const double loss = c.log_loss(w.data(), i, beta, gamma, *scratch);
            if (target) c.add_expected_difference(target->data(), i, step, *scratch);
            return nb::make_tuple(loss, c.expected_difference_norm2(i, *scratch));
        }, "w"_a, "i"_a, "beta"_a, "gamma"_a, "target"_a.none() = nb::none(), "step"_a = 1.0f)
        .def("distance2", [](const Chain& c, std::int64_t i, Input<Word> a, Input<Word> b) {
            const auto scratch = c.make_scratch();
            return c.distance2(i, view(a), view(b), *scratch);
        }, "i"_a, "a"_a, "b"_a)
        .def("inner", [](const Chain& c, std::int64_t i, Input<Word> a, Input<Word> b) {
            const auto scratch = c.make_scratch();
            return c.inner(i, view(a), view(b), *scratch);
        }, "i"_a, "a"_a, "b"_a);
}

}  // namespace dualstruct
