// Duals, rules and their passes for Python.

#include <nanobind/stl/vector.h>
#include <cmath>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "learning/dual_state.hpp"
#include "learning/moves.hpp"
#include "learning/one_by_one.hpp"
#include "learning/rules/dcd.hpp"
#include "learning/rules/frank_wolfe.hpp"
#include "learning/rules/smo.hpp"
#include "python/passes.hpp"

NB_MAKE_OPAQUE(std::vector<dualstruct::HeldOutput>)

namespace dualstruct {

using namespace nb::literals;

namespace {

// A rule's class for Python and the passes that take it: one row per rule.
template <class Rule>
nb::class_<Rule> bind_rule(nb::module_& m, nb::class_<DualState>& state, const char* name) {
    state.def(
        "visit",
        [](DualState& s, const Rule& rule, double admission, std::uint64_t seed, int threads) {
            return run([&](const Interrupt& interrupt) {
                return Passes<Rule>::visit(s, rule, admission, seed, threads, interrupt);
            });
        },
        "rule"_a, "admission"_a, "seed"_a, "threads"_a);
    state.def(
        "revisit",
        [](DualState& s, const Rule& rule, std::uint64_t seed, int sweeps) {
            return run(
                [&](const Interrupt& interrupt) { return Passes<Rule>::revisit(s, rule, seed, sweeps, interrupt); });
        },
        "rule"_a, "seed"_a, "sweeps"_a = 1);
    return nb::class_<Rule>(m, name);
}

template <class Rule>
nb::class_<Rule> bind_gathering(nb::module_& m, nb::class_<DualState>& state, const char* name) {
    state.def(
        "gather",
        [](DualState& s, const Rule& rule, double admission, std::uint64_t seed, int threads) {
            return run([&](const Interrupt& interrupt) {
                return Gathering<Rule>::gather(s, rule, admission, seed, threads, interrupt);
            });
        },
        "rule"_a, "admission"_a, "seed"_a, "threads"_a);
    return nb::class_<Rule>(m, name);
}

template <class Rule>
void set_C(Rule* self, double C) {
    new (self) Rule();
    self->C = C;
}

// Sparse vectors from outside are checked: their places are places in memory.
void check_sparse(const Input<std::uint32_t>& places, const Input<float>& values, std::int64_t first,
                  std::int64_t last) {
    if (places.size() != values.size()) throw std::invalid_argument("a number for every place");
    if (!are_places(view(places), first, last)) throw std::invalid_argument("no such weight");
}

void check_dimension(SharedLines& lines, const Structure& structure) {
    if (lines.touched().dimension() != structure.dimension()) throw std::invalid_argument("lines of other weights");
}

void check_lines(const SharedLines& lines, const Input<std::uint8_t>& numbers) {
    if (static_cast<std::int64_t>(numbers.size()) != lines.lines()) {
        throw std::invalid_argument("a number for every line");
    }
}

void bind_sparse(nb::module_& m) {
    nb::class_<MoveScratch>(m, "MoveScratch").def(nb::init<const Structure&>(), "structure"_a);
    nb::class_<SharedLines>(m, "SharedLines")
        .def(
            "__init__",
            [](SharedLines* self, const Structure& structure) { new (self) SharedLines(structure.dimension()); },
            "structure"_a)
        .def("moved",
             [](const SharedLines& lines) {
                 return to_numpy(std::vector<std::uint8_t>(lines.moved().begin(), lines.moved().end()));
             })
        .def(
            "set_moved",
            [](SharedLines& lines, Input<std::uint8_t> moved) {
                check_lines(lines, moved);
                lines.set_moved(view(moved));
            },
            "moved"_a)
        .def(
            "set_sharers",
            [](SharedLines& lines, Input<std::uint8_t> sharers, Input<float> times) {
                check_lines(lines, sharers);
                if (times.size() != SharedLines::most_sharers + 1) {
                    throw std::invalid_argument("a number for every number of sharers");
                }
                lines.set_sharers(view(sharers), view(times));
            },
            "sharers"_a, "times"_a)
        .def(
            "take_moves",
            [](SharedLines& lines, const Structure& structure, Weights& local, const Weights& w) {
                checked(local, structure);
                checked(w, structure);
                check_dimension(lines, structure);
                auto found = without_gil([&] {
                    auto moves = take_moves(lines, local, w);
                    structure.derive(local.data());
                    return moves;
                });
                return nb::make_tuple(to_numpy(std::move(found.places)), to_numpy(std::move(found.values)));
            },
            "structure"_a, "local"_a, "w"_a);
    nb::class_<SparseAdder>(m, "SparseAdder")
        .def(nb::init<std::int64_t, std::int64_t>(), "first"_a, "last"_a)
        .def_prop_ro("first", &SparseAdder::first)
        .def_prop_ro("last", &SparseAdder::last)
        .def(
            "add",
            [](SparseAdder& adder, Input<std::uint32_t> places, Input<float> values) {
                check_sparse(places, values, adder.first(), adder.last());
                GilReleased no_gil;
                adder.add(view(places), view(values));
            },
            "places"_a, "values"_a)
        .def("take", [](SparseAdder& adder) {
            auto found = without_gil([&] { return adder.take(); });
            return nb::make_tuple(to_numpy(std::move(found.places)), to_numpy(std::move(found.values)));
        });
    m.def(
        "sparse_dot",
        [](const Weights& w, Input<std::uint32_t> places, Input<float> values) {
            check_sparse(places, values, 0, w.dimension());
            GilReleased no_gil;
            return dot(w, view(places), view(values));
        },
        "w"_a, "places"_a, "values"_a);
    m.def(
        "sparse_axpy",
        [](const Structure& structure, Weights& w, Input<std::uint32_t> places, Input<float> values, double step,
           Weights* copy) {
            checked(w, structure);
            if (copy) checked(*copy, structure);
            check_sparse(places, values, 0, w.dimension());
            GilReleased no_gil;
            axpy(w, view(places), view(values), step, copy);
            structure.derive(w.data());
            if (copy) structure.derive(copy->data());
        },
        "structure"_a, "w"_a, "places"_a, "values"_a, "step"_a, "copy"_a.none() = nb::none());
}

void set_dcd(DCDRule* self, double C, int rounds) { new (self) DCDRule{C, rounds}; }

void set_smo(SMORule* self, double C, double tolerance, double decoded_tolerance, int max_steps, bool truth_leaves) {
    new (self) SMORule{C, tolerance, decoded_tolerance, max_steps, truth_leaves};
}

}  // namespace

void bind_duals(nb::module_& m) {
    nb::class_<std::vector<HeldOutput>>(m, "HeldOutputs");
    bind_sparse(m);
    nb::class_<DualState> state(m, "DualState");
    state
        .def(
            "__init__",
            [](DualState* self, const Examples& examples, Weights& w, const Weights* center) {
                if (center) checked(*center, examples);
                new (self) DualState(with_truth(examples), checked(w, examples), center);
            },
            "examples"_a, "w"_a, "center"_a.none() = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
            nb::keep_alive<1, 4>())
        .def_prop_ro("cuts", [](const DualState& s) { return s.cuts.size(); })
        .def(
            "go_through",
            [](DualState& s, std::int64_t first, std::int64_t step) {
                if (first < 0 || first >= step) throw std::invalid_argument("no such share of the examples");
                s.share = {first, step};
            },
            "first"_a, "step"_a)
        .def(
            "average_into",
            [](DualState& s, Average* average) {
                if (average) checked(average->deferred(), s.structure);
                s.average_into(average);
            },
            "average"_a.none(), nb::keep_alive<1, 2>())
        .def(
            "write_average",
            [](const DualState& s, Weights& out) {
                checked(out, s.structure);
                GilReleased no_gil;
                s.write_average(out);
            },
            "out"_a)
        .def("rebuild", &DualState::rebuild, "threads"_a = 1, nb::call_guard<GilReleased>())
        .def(
            "write",
            [](const DualState& s, Weights& out, int threads) {
                checked(out, s.structure);
                GilReleased no_gil;
                s.write(out, threads);
            },
            "out"_a, "threads"_a = 1)
        .def("add_up", &DualState::add_up, nb::call_guard<GilReleased>())
        .def("sum_alpha_cost", &DualState::sum_alpha_cost, nb::call_guard<GilReleased>())
        .def("sum_alpha", [](const DualState& s) { return to_numpy(std::vector<double>(s.sum_alpha)); })
        .def(
            "cuts_of",
            [](const DualState& s, std::int64_t i) {
                nb::list cuts;
                s.cuts.for_each(example(s.examples, i), [&](const Cut& cut) {
                    cuts.append(nb::make_tuple(cut.alpha, cut.cost, cut.norm2,
                                               to_numpy(std::vector<Code>(cut.codes().begin(), cut.codes().end()))));
                });
                return cuts;
            },
            "i"_a)
        .def("save",
             [](const DualState& s) {
                 std::vector<std::int64_t> codes_of_example;
                 auto codes = s.cuts.save(codes_of_example);
                 return nb::make_tuple(to_numpy(std::move(codes)), to_numpy(std::move(codes_of_example)),
                                       to_numpy(std::vector<double>(s.sum_alpha)));
             })
        .def(
            "load",
            [](DualState& s, Input<Code> codes, Input<std::int64_t> codes_of_example, Input<double> sums) {
                s.load(view(codes), view(codes_of_example), view(sums));
            },
            "codes"_a, "codes_of_example"_a, "sum_alpha"_a)
        .def(
            "take",
            [](DualState& s, Input<std::int64_t> examples) {
                for (std::int64_t i : view(examples)) example(s.examples, i);
                GilReleased no_gil;
                return new std::vector<HeldOutput>(s.take(view(examples)));
            },
            "examples"_a, nb::rv_policy::take_ownership)
        .def(
            "put",
            [](DualState& s, const std::vector<HeldOutput>& held) {
                for (const HeldOutput& one : held) {
                    if (one.i >= s.cuts.examples() || !s.structure.is_output(s.examples[one.i], one.output)) {
                        throw std::invalid_argument("these outputs were taken from other data");
                    }
                }
                s.put(held);
            },
            "held"_a, nb::call_guard<GilReleased>())
        .def(
            "interpolate",
            [](DualState& s, Input<Code> codes, Input<std::int64_t> codes_of_example, double step) {
                GilReleased no_gil;
                s.interpolate(view(codes), view(codes_of_example), step);
            },
            "codes"_a, "codes_of_example"_a, "step"_a)
        .def(
            "rescale",
            [](DualState& s, double factor, Input<double> most) {
                if (!(factor >= 0) || !std::isfinite(factor)) throw std::invalid_argument("factor must be at least 0");
                GilReleased no_gil;
                s.rescale(factor, view(most));
            },
            "factor"_a, "most"_a)
        .def(
            "share",
            [](DualState& s, SharedLines& lines) {
                check_dimension(lines, s.structure);
                s.shared = &lines;
            },
            "lines"_a, nb::keep_alive<1, 2>())
        .def(
            "exact_moves",
            [](const DualState& s, Input<Code> codes, Input<std::int64_t> codes_of_example, MoveScratch& scratch) {
                checked(scratch.sums, s.structure);
                auto found = without_gil([&] { return exact_moves(s, view(codes), view(codes_of_example), scratch); });
                return nb::make_tuple(to_numpy(std::move(found.places)), to_numpy(std::move(found.values)));
            },
            "codes"_a, "codes_of_example"_a, "scratch"_a)
        .def(
            "largest_step",
            [](const DualState& s, Input<Code> codes, Input<std::int64_t> codes_of_example) {
                return without_gil([&] { return largest_step(s, view(codes), view(codes_of_example)); });
            },
            "codes"_a, "codes_of_example"_a);
    bind_rule<DCDRule>(m, state, "DCDRule").def("__init__", &set_dcd, "C"_a, "rounds"_a = 1);
    bind_gathering<GatherRule>(m, state, "GatherRule").def("__init__", &set_C<GatherRule>, "C"_a);
    bind_rule<SMORule>(m, state, "SMORule")
        .def("__init__", &set_smo, "C"_a, "tolerance"_a, "decoded_tolerance"_a = 0.0, "max_steps"_a = 100,
             "truth_leaves"_a = false);
    state
        .def(
            "largest_spread",
            [](DualState& s, double C) {
                SMOSpreadRule rule;
                rule.C = C;
                Average* average = std::exchange(s.average, nullptr);  // nothing moves: no step to average over
                const auto report = run([&](const Interrupt& interrupt) {
                    return Passes<SMOSpreadRule>::revisit(s, rule, 0, 1, interrupt);
                });
                s.average = average;
                return report.largest_violation;
            },
            "C"_a)
        .def(
            "settle_each",
            [](DualState& s, const SMORule& rule, std::uint64_t seed) {
                return run([&](const Interrupt& interrupt) { return settle_each(s, rule, seed, interrupt); });
            },
            "rule"_a, "seed"_a)
        .def(
            "optimise_after_each",
            [](DualState& s, const SMORule& rule, double epsilon, std::uint64_t seed) {
                return run(
                    [&](const Interrupt& interrupt) { return optimise_after_each(s, rule, epsilon, seed, interrupt); });
            },
            "rule"_a, "epsilon"_a, "seed"_a);
    bind_gathering<SMOGatherRule>(m, state, "SMOGatherRule").def("__init__", &set_C<SMOGatherRule>, "C"_a);
    bind_rule<FrankWolfeRule>(m, state, "FrankWolfeRule").def("__init__", &set_C<FrankWolfeRule>, "C"_a);
}

}  // namespace dualstruct
