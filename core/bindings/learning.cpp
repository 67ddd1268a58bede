// Duals, passes and steps for Python. Loops over examples run without the GIL.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>

#include "bindings/bindings.hpp"
#include "concurrent.hpp"
#include "cuts.hpp"
#include "online.hpp"
#include "exponentiated_gradient.hpp"
#include "gradient.hpp"
#include "packing.hpp"
#include "passes.hpp"
#include "planes.hpp"
#include "rules/dcd.hpp"
#include "rules/frank_wolfe.hpp"
#include "rules/hildreth.hpp"
#include "rules/passive_aggressive.hpp"
#include "rules/perceptron.hpp"
#include "rules/smo.hpp"
#include "rules/subgradient.hpp"
#include "simd/dispatch.hpp"
#include "weights.hpp"

NB_MAKE_OPAQUE(std::vector<dualstruct::HeldOutput>)

namespace dualstruct {

using namespace nb::literals;

namespace {

template <class Pass>
PassReport run(Pass pass) {
    PassReport report;
    {
        GilReleased no_gil;
        report = pass(SignalCheck());
    }
    raise_if_signalled();
    return report;
}

template <class Measure>
Array<double> for_every_example(Measure measure) {
    std::vector<double> values;
    {
        GilReleased no_gil;
        values = measure(SignalCheck());
    }
    raise_if_signalled();
    return to_numpy(std::move(values));
}

// A rule's class for Python and the passes that take it: one row a rule.
template <class Rule>
nb::class_<Rule> bind_rule(nb::module_& m, nb::class_<DualState>& state, const char* name) {
    state.def("visit", [](DualState& s, const Rule& rule, double delta, std::uint64_t seed, int threads) {
        return run([&](const Interrupt& interrupt) { return visit(s, rule, delta, seed, threads, interrupt); });
    }, "rule"_a, "delta"_a, "seed"_a, "threads"_a);
    state.def("revisit", [](DualState& s, const Rule& rule, std::uint64_t seed) {
        return run([&](const Interrupt& interrupt) { return revisit(s, rule, seed, interrupt); });
    }, "rule"_a, "seed"_a);
    return nb::class_<Rule>(m, name);
}

template <class Rule>
void bind_gather(nb::class_<DualState>& state) {
    state.def("gather", [](DualState& s, const Rule& rule, double delta, std::uint64_t seed, int threads) {
        return run([&](const Interrupt& interrupt) { return gather(s, rule, delta, seed, threads, interrupt); });
    }, "rule"_a, "delta"_a, "seed"_a, "threads"_a);
}

template <class Rule>
void set_C(Rule* self, double C) {
    new (self) Rule();
    self->C = C;
}

template <class Rule>
void set_smo(Rule* self, double C, double tolerance, double decoded_tolerance, int max_steps) {
    set_C(self, C);
    self->tolerance = tolerance;
    self->decoded_tolerance = decoded_tolerance;
    self->max_steps = max_steps;
}

// Planes as arrays, one after the other, for checkpoints.
nb::tuple save_planes(const PlaneStore& store) {
    std::vector<std::int64_t> examples, ends, sizes, idle;
    std::vector<float> coefficients;
    std::vector<Word> words;
    std::vector<double> numbers;
    for (const auto& plane : store.planes()) {
        examples.insert(examples.end(), plane.examples.begin(), plane.examples.end());
        ends.insert(ends.end(), plane.ends.begin(), plane.ends.end());
        coefficients.insert(coefficients.end(), plane.coefficients.begin(), plane.coefficients.end());
        words.insert(words.end(), plane.words.begin(), plane.words.end());
        sizes.push_back(static_cast<std::int64_t>(plane.examples.size()));
        idle.push_back(plane.idle);
        numbers.push_back(plane.offset);
        numbers.push_back(plane.alpha);
    }
    return nb::make_tuple(to_numpy(std::move(examples)), to_numpy(std::move(coefficients)), to_numpy(std::move(words)),
                          to_numpy(std::move(ends)), to_numpy(std::move(sizes)), to_numpy(std::move(idle)),
                          to_numpy(std::move(numbers)));
}

// Only what copying needs is checked here; whether the planes are such of these examples, the store checks.
void load_planes(PlaneStore& store, Input<std::int64_t> examples, Input<float> coefficients, Input<Word> words,
                 Input<std::int64_t> ends, Input<std::int64_t> sizes, Input<std::int64_t> idle, Input<double> numbers,
                 bool squared, int threads) {
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
        check(sizes.data()[p] > 0 && static_cast<std::size_t>(sizes.data()[p]) <= examples.size() - example);
        const std::size_t size = static_cast<std::size_t>(sizes.data()[p]);
        plane.examples.assign(examples.data() + example, examples.data() + example + size);
        plane.coefficients.assign(coefficients.data() + example, coefficients.data() + example + size);
        for (std::size_t k = 0; k < size; ++k) {
            const auto end = static_cast<std::size_t>(ends.data()[example + k]);
            check(end >= (plane.ends.empty() ? 0 : plane.ends.back()) && end <= words.size() - word);
            plane.ends.push_back(end);
        }
        plane.words.assign(words.data() + word, words.data() + word + plane.ends.back());
        plane.idle = static_cast<int>(idle.data()[p]);
        plane.offset = numbers.data()[2 * p];
        plane.alpha = numbers.data()[2 * p + 1];
        example += size;
        word += plane.ends.back();
    }
    check(example == examples.size() && word == words.size());
    store.load(std::move(planes), squared, threads);
}

// The pass of a learner without cuts: one row a step.
template <class Step>
void bind_step(nb::module_& m) {
    m.def("online_pass", [](const Structure& structure, Weights& w, Average* average, Step& step, std::uint64_t seed,
                            std::optional<Input<std::int32_t>> examples) {
        for (std::int32_t i : view(examples)) {
            if (i < 0 || i >= structure.size()) throw nb::index_error("no such example");
        }
        if (average) checked(average->late(), structure);
        return run([&](const Interrupt& interrupt) {
            return online_pass(with_truth(structure), checked(w, structure), average, step, view(examples), seed,
                               interrupt);
        });
    }, "structure"_a, "w"_a, "average"_a.none(), "step"_a, "seed"_a, "examples"_a.none() = nb::none());
}

void bind_online(nb::module_& m) {
    nb::class_<Schedule>(m, "Schedule")
        .def(nb::init<double, double, double, double, std::int64_t>(), "lambda_"_a, "eta0"_a, "decay"_a, "power"_a,
             "steps"_a);
    nb::class_<PerceptronStep>(m, "PerceptronStep").def(nb::init<>());
    nb::class_<PassiveAggressiveStep>(m, "PassiveAggressiveStep")
        .def(nb::init<double, double, int>(), "C"_a, "cost_weight"_a, "k"_a)
        .def_ro("clamped", &PassiveAggressiveStep::clamped);
    nb::class_<ExpectedPassiveAggressiveStep>(m, "ExpectedPassiveAggressiveStep")
        .def(nb::init<double, double, double>(), "C"_a, "beta"_a, "gamma"_a)
        .def_ro("clamped", &ExpectedPassiveAggressiveStep::clamped);
    nb::class_<SubgradientStep>(m, "SubgradientStep")
        .def(nb::init<Schedule, bool>(), "schedule"_a, "squared"_a);
    nb::class_<ExpectedGradientStep>(m, "ExpectedGradientStep")
        .def(nb::init<Schedule, double, double>(), "schedule"_a, "beta"_a, "gamma"_a);
    nb::class_<PegasosStep>(m, "PegasosStep")
        .def(nb::init<double, std::int64_t, std::int64_t, std::optional<double>, std::optional<double>>(), "lambda_"_a,
             "batch"_a, "steps"_a, "radius"_a.none(), "concave"_a.none());
    bind_step<PerceptronStep>(m);
    bind_step<PassiveAggressiveStep>(m);
    bind_step<ExpectedPassiveAggressiveStep>(m);
    bind_step<SubgradientStep>(m);
    bind_step<ExpectedGradientStep>(m);
    bind_step<PegasosStep>(m);
    m.def("hildreth", [](Input<double, nb::ndim<2>> G, Input<double> H, double C) {
        if (G.shape(0) != H.size() || G.shape(1) != H.size()) throw std::invalid_argument("G and H do not fit");
        return to_numpy(hildreth(view(G), view(H), C));
    }, "G"_a, "H"_a, "C"_a);
}

template <class Gradient>
void bind_gradient(nb::class_<GradientPass>& pass) {
    pass.def("run", [](GradientPass& p, const Weights& w, Weights& descent, const Gradient& gradient) {
        double loss;
        checked(w, p.structure());
        checked(descent, p.structure());
        {
            GilReleased no_gil;
            loss = p.run(w, descent, gradient, SignalCheck());
        }
        raise_if_signalled();
        return loss;
    }, "w"_a, "descent"_a, "gradient"_a);
}

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
        Weights marks(with_truth(structure));
        for (std::int64_t i = 0; i < structure.size(); ++i) structure.mark_observed(marks.data(), i);
        return to_numpy(std::vector<float>(marks.data(), marks.data() + marks.dimension()));
    }, "structure"_a);
    m.def("dots", [](const std::vector<Input<float>>& rows, const std::vector<Input<float>>& vectors, int threads) {
        const std::size_t n = vectors.empty() ? 0 : vectors[0].size();
        const auto a = row_pointers(rows, n), b = row_pointers(vectors, n);
        std::vector<double> result;
        {
            GilReleased no_gil;
            result = dots(a, b, static_cast<std::int64_t>(n), threads);
        }
        return shaped(nb::cast(to_numpy(std::move(result))), nb::make_tuple(rows.size(), vectors.size()));
    }, "rows"_a, "vectors"_a, "threads"_a = 1);
    m.def("combine", [](const std::vector<Input<float>>& rows, const std::vector<double>& coefficients,
                        Array<float> out, int threads) {
        if (rows.size() != coefficients.size()) throw std::invalid_argument("a coefficient for every row");
        const auto a = row_pointers(rows, out.size());
        GilReleased no_gil;
        combine(a, coefficients, static_cast<std::int64_t>(out.size()), threads, out.data());
    }, "rows"_a, "coefficients"_a, "out"_a, "threads"_a = 1);
    m.def("combine_weights", [](const Structure& structure, const std::vector<Input<float>>& rows,
                                const std::vector<double>& coefficients, Weights& out, int threads) {
        if (rows.size() != coefficients.size()) throw std::invalid_argument("a coefficient for every row");
        checked(out, structure);
        const auto a = row_pointers(rows, static_cast<std::size_t>(out.dimension()));
        GilReleased no_gil;
        combine(a, coefficients, out.dimension(), threads, out.data());
        structure.derive(out.data());
    }, "structure"_a, "rows"_a, "coefficients"_a, "out"_a, "threads"_a = 1);
    nb::class_<Packing>(m, "Packing")
        .def("__init__", [](Packing* self, const Structure& structure, Input<std::int64_t> index, Input<float> scale,
                            const Weights* center, int threads) {
            if (center) checked(*center, structure);
            for (std::int64_t at : view(index)) {
                if (at < 0 || at >= structure.dimension()) throw std::invalid_argument("no such weight");
            }
            if (index.size() != scale.size()) throw std::invalid_argument("a scale for every weight");
            new (self) Packing(structure, {index.data(), index.data() + index.size()},
                               {scale.data(), scale.data() + scale.size()}, center, threads);
        }, "structure"_a, "index"_a, "scale"_a, "center"_a.none(), "threads"_a, nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 5>())
        .def("unpack", [](const Packing& p, Input<float> x, Weights& w) {
            if (static_cast<std::int64_t>(x.size()) != p.size()) throw std::invalid_argument("x has another length");
            checked(w, p.structure());
            GilReleased no_gil;
            p.unpack(x.data(), w);
        }, "x"_a, "w"_a)
        .def("pack", [](const Packing& p, Input<float> x, const Weights& descent, double C, Array<float> gradient) {
            if (static_cast<std::int64_t>(x.size()) != p.size() || x.size() != gradient.size()) {
                throw std::invalid_argument("x has another length");
            }
            Packing::Norms norms;
            {
                GilReleased no_gil;
                norms = p.pack(x.data(), checked(descent, p.structure()), C, gradient.data());
            }
            return nb::make_tuple(norms.regulariser, norms.gradient_norm2, norms.descent_norm2);
        }, "x"_a, "descent"_a, "C"_a, "gradient"_a);
}

}  // namespace

void bind_learning(nb::module_& m) {
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

    nb::class_<std::vector<HeldOutput>>(m, "HeldOutputs");
    nb::class_<DualState> state(m, "DualState");
    state.def("__init__", [](DualState* self, const Structure& structure, Weights& w, const Weights* center) {
            if (center) checked(*center, structure);
            new (self) DualState(with_truth(structure), checked(w, structure), center);
        }, "structure"_a, "w"_a, "center"_a.none() = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>())
        .def_prop_ro("cuts", [](const DualState& s) { return s.cuts.size(); })
        .def("go_through", [](DualState& s, std::int64_t first, std::int64_t step) {
            if (first < 0 || first >= step) throw std::invalid_argument("no such part of the examples");
            s.part = {first, step};
        }, "first"_a, "step"_a)
        .def("average_into", [](DualState& s, Average* average) {
            if (average) checked(average->late(), s.structure);
            s.average = average;
        }, "average"_a.none(), nb::keep_alive<1, 2>())
        .def("rebuild", &DualState::rebuild, "threads"_a = 1, nb::call_guard<GilReleased>())
        .def("write", [](const DualState& s, Weights& out, int threads) {
            checked(out, s.structure);
            GilReleased no_gil;
            s.write(out, threads);
        }, "out"_a, "threads"_a = 1)
        .def("sum_alpha_cost", &DualState::sum_alpha_cost, nb::call_guard<GilReleased>())
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
            s.load(view(words), view(words_of_example), view(sums));
        }, "words"_a, "words_of_example"_a, "sum_alpha"_a)
        .def("take", [](DualState& s, Input<std::int64_t> examples) {
            for (std::int64_t i : view(examples)) {
                if (i < 0 || i >= s.cuts.examples()) throw nb::index_error("no such example");
            }
            GilReleased no_gil;
            return new std::vector<HeldOutput>(s.take(view(examples)));
        }, "examples"_a, nb::rv_policy::take_ownership)
        .def("put", [](DualState& s, const std::vector<HeldOutput>& held) {
            for (const HeldOutput& one : held) {
                if (one.i >= s.cuts.examples() || !s.structure.is_output(one.i, one.output)) {
                    throw std::invalid_argument("these outputs were taken from other data");
                }
            }
            s.put(held);
        }, "held"_a, nb::call_guard<GilReleased>())
        .def("go_along", [](DualState& s, Input<Word> words, Input<std::int64_t> words_of_example, double step) {
            GilReleased no_gil;
            s.go_along(view(words), view(words_of_example), step);
        }, "words"_a, "words_of_example"_a, "step"_a)
        .def("largest_step", [](const DualState& s, Input<Word> words, Input<std::int64_t> words_of_example) {
            GilReleased no_gil;
            return s.cuts.largest_step(view(words), view(words_of_example), s.structure);
        }, "words"_a, "words_of_example"_a);
    bind_rule<DCDRule>(m, state, "DCDRule").def("__init__", &set_C<DCDRule>, "C"_a);
    bind_rule<GatherRule>(m, state, "GatherRule").def("__init__", &set_C<GatherRule>, "C"_a);
    bind_gather<GatherRule>(state);
    bind_rule<SMORule>(m, state, "SMORule")
        .def("__init__", &set_smo<SMORule>, "C"_a, "tolerance"_a, "decoded_tolerance"_a = 0.0, "max_steps"_a = 100);
    bind_rule<SMOGatherRule>(m, state, "SMOGatherRule").def("__init__", &set_C<SMOGatherRule>, "C"_a);
    bind_gather<SMOGatherRule>(state);
    bind_rule<FrankWolfeRule>(m, state, "FrankWolfeRule").def("__init__", &set_C<FrankWolfeRule>, "C"_a);

    nb::class_<PlaneStore>(m, "PlaneStore")
        .def("__init__", [](PlaneStore* self, const Structure& structure, Weights& w, const Weights* center) {
            if (center) checked(*center, structure);
            new (self) PlaneStore(with_truth(structure), checked(w, structure), center);
        }, "structure"_a, "w"_a, "center"_a.none() = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>())
        .def_prop_ro("size", &PlaneStore::size)
        .def("add", [](PlaneStore& planes, bool squared, int threads) {
            return run([&](const Interrupt& interrupt) {
                PassReport report;
                report.loss = planes.add(squared, threads, interrupt);
                return report;
            });
        }, "squared"_a, "threads"_a)
        .def("solve", &PlaneStore::solve, "C"_a, "tolerance"_a, "patience"_a, "threads"_a,
             nb::call_guard<GilReleased>())
        .def("dual", &PlaneStore::dual)
        .def("slack", &PlaneStore::slack)
        .def("rebuild", &PlaneStore::rebuild, "threads"_a, nb::call_guard<GilReleased>())
        .def("save", &save_planes)
        .def("load", &load_planes);

    m.def("largest_violations", [](const Structure& structure, const Weights& w, double cost_weight, int threads) {
        return for_every_example([&](const Interrupt& interrupt) {
            return largest_violations(with_truth(structure), checked(w, structure), cost_weight, threads, interrupt);
        });
    }, "structure"_a, "w"_a, "cost_weight"_a = 1.0, "threads"_a = 1);
    m.def("log_losses", [](const Structure& structure, const Weights& w, double beta, double gamma, int threads) {
        return for_every_example([&](const Interrupt& interrupt) {
            return log_losses(with_truth(structure), checked(w, structure), beta, gamma, threads, interrupt);
        });
    }, "structure"_a, "w"_a, "beta"_a, "gamma"_a, "threads"_a = 1);

    m.def("linearise_concave", [](const Structure& structure, const Weights& w, double cost_weight, double C,
                                  Weights& center) {
        std::vector<std::int64_t> active;
        {
            GilReleased no_gil;
            active = linearise_concave(with_truth(structure), checked(w, structure), cost_weight, C,
                                       checked(center, structure));
        }
        return to_numpy(std::move(active));
    }, "structure"_a, "w"_a, "cost_weight"_a, "C"_a, "center"_a);

    nb::class_<SoftmaxMarginGradient>(m, "SoftmaxMarginGradient").def(nb::init<double, double>(), "beta"_a, "gamma"_a);
    nb::class_<HingeGradient>(m, "HingeGradient").def(nb::init<bool>(), "squared"_a);
    nb::class_<GradientPass> gradient(m, "GradientPass");
    gradient.def("__init__", [](GradientPass* self, const Structure& structure, int threads) {
        new (self) GradientPass(with_truth(structure), threads);
    }, "structure"_a, "threads"_a, nb::keep_alive<1, 2>());
    bind_gradient<SoftmaxMarginGradient>(gradient);
    bind_gradient<HingeGradient>(gradient);

    bind_packing(m);

    using EG = ExponentiatedGradient;
    nb::class_<EG>(m, "ExponentiatedGradient")
        .def("__init__", [](EG* self, const Structure& structure, Weights& w, const Weights* center, double C,
                            double inverse_beta, double gamma, double first_step, double first_score) {
            if (center) checked(*center, structure);
            new (self) EG(with_truth(structure), checked(w, structure), center, C, inverse_beta, gamma, first_step,
                          first_score);
        }, "structure"_a, "w"_a, "center"_a.none(), "C"_a, "inverse_beta"_a, "gamma"_a, "first_step"_a,
           "first_score"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
        .def("run", [](EG& eg, std::uint64_t seed) {
            return run([&](const Interrupt& interrupt) { return eg.pass(seed, interrupt); });
        }, "seed"_a)
        .def("rebuild", &EG::rebuild, nb::call_guard<GilReleased>())
        .def("dual", [](const EG& eg) { return eg.dual(); }, nb::call_guard<GilReleased>())
        .def("write", [](EG& eg, Weights& out) {
            checked(out, eg.structure());
            GilReleased no_gil;
            eg.write(out);
            return eg.dual(out);
        }, "out"_a)
        .def("save", [](const EG& eg) {
            return nb::make_tuple(to_numpy(std::vector<float>(eg.theta)), to_numpy(std::vector<double>(eg.steps)));
        })
        .def("load", [](EG& eg, Input<float> theta, Input<double> steps) {
            const auto is_step = [](double step) { return step > 0 && std::isfinite(step); };
            if (theta.size() != eg.theta.size() || steps.size() != eg.steps.size() ||
                !std::ranges::all_of(view(theta), [](float score) { return !std::isnan(score); }) ||
                !std::ranges::all_of(view(steps), is_step)) {
                throw std::invalid_argument("the saved scores are damaged");
            }
            std::copy_n(theta.data(), theta.size(), eg.theta.begin());
            std::copy_n(steps.data(), steps.size(), eg.steps.begin());
            eg.rebuild();
        }, "theta"_a, "steps"_a);

    nb::class_<Average>(m, "Average")
        .def(nb::init<const Structure&, bool>(), "structure"_a, "linear"_a = false)
        .def("write", [](Average& average, const Structure& structure, const Weights& v, double scale, Weights& out) {
            checked(average.late(), structure);
            GilReleased no_gil;
            average.write(structure, checked(v, structure), scale, checked(out, structure));
        }, "structure"_a, "v"_a, "scale"_a, "out"_a)
        .def("save", [](Average& average) {
            const float* late = average.late().data();
            return nb::make_tuple(to_numpy(std::vector<float>(late, late + average.late().dimension())),
                                  average.scales(), average.steps());
        })
        .def("load", [](Average& average, const Structure& structure, Input<float> late, double scales,
                        std::int64_t steps) {
            if (!std::isfinite(scales) || steps < 0) throw std::invalid_argument("the saved average is damaged");
            assign(average.late(), structure, late);
            average.set(scales, steps);
        }, "structure"_a, "late"_a, "scales"_a, "steps"_a);
    bind_online(m);
}

}  // namespace dualstruct
