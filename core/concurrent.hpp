// Inference on several cores (after Chang, Srikumar & Roth 2013, "Multi-core structural SVM training"): all
// threads decode a few examples at the same w, then one learns from what they found. What comes of a pass depends
// neither on timing nor on the number of threads, as long as there are two.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "passes.hpp"

namespace dualstruct {

// A visit with a rule that leaves w alone: all examples are decoded first, on all threads.
template <class Rule>
PassReport gather(DualState& state, const Rule& rule, double delta, std::uint64_t seed, int threads,
                  const Interrupt& interrupt) {
    const Structure& structure = state.structure;
    std::vector<Difference> found(static_cast<std::size_t>(structure.size()));
    bool interrupted = false;
    for_all(structure, threads, [&] { return interrupted = interrupt(); },
            [&](std::int64_t i, Scratch& scratch, Difference&, bool more) {
                if (!state.part.has(i)) return 0.0;
                if (more) structure.prefetch_decode(state.w.data(), i + 1);
                structure.decode(state.w.data(), i, 1, scratch);
                structure.difference(i, scratch.output, found[static_cast<std::size_t>(i)]);
                return 0.0;
            });
    PassReport report;
    if (interrupted) return report;
    PassScratch scratch(structure, seed);
    for (std::int64_t i = state.part.first; i < structure.size(); i += state.part.step) {
        learn_from(state, rule, i, found[static_cast<std::size_t>(i)], delta, scratch, report);
        if (state.average) state.average->end_step();
    }
    return report;
}

// A visit on several threads.
template <class Rule>
PassReport visit(DualState& state, const Rule& rule, double delta, std::uint64_t seed, int threads,
                 const Interrupt& interrupt) {
    if (threads == 1) return visit(state, rule, delta, seed, interrupt);
    constexpr std::size_t batch = 16;  // larger ones decode at a w that is too old
    const Structure& structure = state.structure;
    const auto order = state.part.shuffled(structure.size(), seed);
    const std::size_t n = order.size();
    PassReport report;
    PassScratch learner(structure, seed);
    std::vector<std::unique_ptr<PassScratch>> scratches(static_cast<std::size_t>(threads));
    std::vector<Difference> found(batch);
    std::vector<char> beaten(batch);
    const bool exact = structure.exact_decoder();
    std::atomic<std::size_t> next{0};
    bool stopped = false;

    const auto decode = [&](std::size_t end, std::size_t members, PassScratch& scratch) {
        for (std::size_t q = next++; q < end; q = next++) {
            if (q + members < end) structure.prefetch_decode(state.w.data(), order[q + members]);
            structure.decode(state.w.data(), order[q], 1, *scratch.structure);
            structure.difference(order[q], scratch.structure->output, found[q % batch]);
            beaten[q % batch] = !exact && is_beaten(state, order[q], found[q % batch], scratch);
        }
    };
    const auto learn = [&](std::size_t begin, std::size_t end) {
        for (std::size_t q = begin; q < end; ++q) {
            if (interrupt()) stopped = true;
            if (stopped) return;
            prefetch_cuts(state, order, q);
            learn_from(state, rule, order[q], found[q % batch], delta, learner, report, beaten[q % batch]);
            if (state.average) state.average->end_step();
        }
        next = end;
    };
    const auto phases = static_cast<std::int64_t>(2 * ((n + batch - 1) / batch));
    for_each_phase(phases, threads, [&](std::int64_t phase, int member, int members) {
        const std::size_t begin = static_cast<std::size_t>(phase / 2) * batch, end = std::min(begin + batch, n);
        auto& scratch = scratches[static_cast<std::size_t>(member)];
        if (!scratch) scratch = std::make_unique<PassScratch>(structure, seed);
        if (phase % 2 == 0) {
            if (!stopped) decode(end, static_cast<std::size_t>(members), *scratch);
        } else if (member == 0) {
            learn(begin, end);
        }
    });
    return report;
}

}  // namespace dualstruct
