// The loops of passes.hpp, which every rule instantiates in its own file.
//
// Inference on several cores (after Chang, Srikumar & Roth 2013, "Multi-core structural SVM training"): all
// threads decode a few examples at the same w, then one learns from what they found. What comes of a pass depends
// neither on timing nor on the number of threads, as long as there are two.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "base/parallel.hpp"
#include "learning/example.hpp"
#include "learning/measures.hpp"
#include "learning/passes.hpp"

namespace dualstruct {

// Fetches what learning from the cuts of the examples after order[q] needs.
inline void prefetch_cuts(const DualState& state, std::span<const std::int32_t> order, std::size_t q) {
    const std::size_t n = order.size();
    if (q + 6 < n) state.cuts.prefetch_block(order[q + 6]);
    if (q + 4 < n) {
        state.cuts.prefetch_cuts(order[q + 4]);
        if (!state.cuts.empty(order[q + 4])) state.structure.prefetch_example(state.examples[order[q + 4]]);
    }
    if (q + 1 < n) {
        state.cuts.for_each(order[q + 1], [&](const Cut& cut) {
            state.structure.prefetch_cut(state.w.data(), state.examples[order[q + 1]], cut.codes());
        });
    }
}

template <class Rule>
PassReport Passes<Rule>::revisit(DualState& state, const Rule& rule, std::uint64_t seed, const Interrupt& interrupt) {
    PassReport report;
    const auto order = state.share.shuffled(state.examples.size(), seed);
    PassScratch scratch(state.structure, seed);
    for (std::size_t q = 0; q < order.size(); ++q) {
        if (interrupt()) break;
        prefetch_cuts(state, order, q);
        const std::int64_t i = order[q];
        if (!state.cuts.empty(i)) {
            Example example(state, i, scratch);
            report.largest_violation = std::max(report.largest_violation, rule.update(example));
        }
        if (state.average) state.average->end_step();
    }
    return report;
}

// Whether a cut held beats what was decoded at this w: then the decoder did not find the maximum.
inline bool is_beaten(DualState& state, std::int64_t i, const Difference& found, PassScratch& scratch) {
    Example example(state, i, scratch);
    return example.better_than(example.violation(found)) != nullptr;
}

// What follows the inference of a visit: perhaps a new cut, then the rule. An approximate decoder may
// miss an output that is already held as a cut; then that one counts as found. Where w has moved since the
// decoding, `beaten` says how it was then.
template <class Rule>
void learn_from(DualState& state, const Rule& rule, std::int64_t i, const Difference& found, double admission,
                PassScratch& scratch, PassReport& report, std::optional<bool> beaten = {}) {
    Example example(state, i, scratch);
    example.decoded = true;
    ++report.inferences;
    if (example.weight == 0) return;  // its duals stay 0
    double violation = example.violation(found);
    if (!found.is_truth) {
        example.found = state.cuts.find(i, found.codes);
        if (!example.found && rule.admits(example, violation, admission)) {
            example.found = &example.add(found);
            ++report.added;
        }
    }
    if (!state.structure.exact_decoder()) {
        if (Cut* better = example.better_than(violation)) {
            report.beaten += beaten.value_or(true);
            example.found = better;
            violation = example.violation(*better);
        }
    }
    report.loss += example.weight * rule.loss(violation);
    if (!state.cuts.empty(i)) {
        report.largest_violation = std::max(report.largest_violation, rule.update(example));
    }
}

template <class Rule>
PassReport visit_on_one_thread(DualState& state, const Rule& rule, double admission, std::uint64_t seed,
                               const Interrupt& interrupt) {
    PassReport report;
    const Structure& structure = state.structure;
    const Examples& examples = state.examples;
    const auto order = state.share.shuffled(examples.size(), seed);
    const std::size_t n = order.size();
    PassScratch scratch(structure, seed);
    Difference found;
    for (std::size_t q = 0; q < n; ++q) {
        if (interrupt()) break;
        if (q + 2 < n) structure.prefetch_example(examples[order[q + 2]]);
        if (q + 1 < n) structure.prefetch_decode(state.w.data(), examples[order[q + 1]]);
        const std::int64_t i = order[q];
        structure.decode(state.w.data(), examples[i], 1, *scratch.structure);
        structure.difference(examples[i], scratch.structure->output, found);
        learn_from(state, rule, i, found, admission, scratch, report);
        if (state.average) state.average->end_step();
    }
    return report;
}

// All examples are decoded first, on all threads.
template <class Rule>
PassReport Gathering<Rule>::gather(DualState& state, const Rule& rule, double admission, std::uint64_t seed,
                                   int threads, const Interrupt& interrupt) {
    const Structure& structure = state.structure;
    const Examples& examples = state.examples;
    std::vector<Difference> found(at(examples.size()));
    bool interrupted = false;
    for_all(
        examples, threads, [&] { return interrupted = interrupt(); },
        [&](std::int64_t i, Scratch& scratch, Difference&, bool more) {
            if (!state.share.has(i)) return 0.0;
            if (more) structure.prefetch_decode(state.w.data(), examples[i + 1]);
            structure.decode(state.w.data(), examples[i], 1, scratch);
            structure.difference(examples[i], scratch.output, found[at(i)]);
            return 0.0;
        });
    PassReport report;
    if (interrupted) return report;
    PassScratch scratch(structure, seed);
    for (std::int64_t i = state.share.first; i < examples.size(); i += state.share.step) {
        learn_from(state, rule, i, found[at(i)], admission, scratch, report);
        if (state.average) state.average->end_step();
    }
    return report;
}

template <class Rule>
PassReport Passes<Rule>::visit(DualState& state, const Rule& rule, double admission, std::uint64_t seed, int threads,
                               const Interrupt& interrupt) {
    if (threads == 1) return visit_on_one_thread(state, rule, admission, seed, interrupt);
    constexpr std::size_t batch = 16;  // larger ones decode at a w that is too old
    const Structure& structure = state.structure;
    const Examples& examples = state.examples;
    const auto order = state.share.shuffled(examples.size(), seed);
    const std::size_t n = order.size();
    PassReport report;
    PassScratch learner(structure, seed);
    std::vector<std::unique_ptr<PassScratch>> scratches(at(threads));
    std::vector<Difference> found(batch);
    std::vector<char> beaten(batch);
    const bool exact = structure.exact_decoder();
    std::atomic<std::size_t> next{0};
    bool stopped = false;

    const auto decode = [&](std::size_t end, std::size_t members, PassScratch& scratch) {
        for (std::size_t q = next++; q < end; q = next++) {
            if (q + members < end) structure.prefetch_decode(state.w.data(), examples[order[q + members]]);
            structure.decode(state.w.data(), examples[order[q]], 1, *scratch.structure);
            structure.difference(examples[order[q]], scratch.structure->output, found[q % batch]);
            beaten[q % batch] = !exact && is_beaten(state, order[q], found[q % batch], scratch);
        }
    };
    const auto learn = [&](std::size_t begin, std::size_t end) {
        for (std::size_t q = begin; q < end; ++q) {
            if (interrupt()) stopped = true;
            if (stopped) return;
            prefetch_cuts(state, order, q);
            learn_from(state, rule, order[q], found[q % batch], admission, learner, report, beaten[q % batch]);
            if (state.average) state.average->end_step();
        }
        next = end;
    };
    const auto phases = static_cast<std::int64_t>(2 * ((n + batch - 1) / batch));
    for_each_phase(phases, threads, [&](std::int64_t phase, int member, int members) {
        const std::size_t begin = at(phase / 2) * batch, end = std::min(begin + batch, n);
        auto& scratch = scratches[at(member)];
        if (!scratch) scratch = std::make_unique<PassScratch>(structure, seed);
        if (phase % 2 == 0) {
            if (!stopped) decode(end, at(members), *scratch);
        } else if (member == 0) {
            learn(begin, end);
        }
    });
    return report;
}

}  // namespace dualstruct
