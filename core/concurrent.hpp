// The passes on several cores. Each thread has a range of the examples, with their cuts and α, to
// itself; w is shared, and every thread moves it without waiting for the others (after Hsieh, Yu &
// Dhillon 2015, "PASSCoDe"). Inference needs a w that stands still, so a visit goes by blocks: all
// threads decode a block's examples, then all learn from what they found.
//
// Single weights are read and written as a whole (core/shared.hpp), but when two threads add to one
// at the same time, one of the additions may be lost: w drifts from center + Σ α δ a little faster
// than by rounding, and is rebuilt from the duals, which are exact, more often. What a run meets
// depends on timing: so does the model, but not what it converges to.
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
                if (more) structure.prefetch_decode(state.w.data(), i + 1);
                structure.decode(state.w.data(), i, 1, scratch);
                structure.difference(i, scratch.output, found[static_cast<std::size_t>(i)]);
                return 0.0;
            });
    PassReport report;
    if (interrupted) return report;
    PassScratch scratch(structure, seed);
    for (std::int64_t i = 0; i < structure.size(); ++i) {
        learn_from(state, rule, i, found[static_cast<std::size_t>(i)], delta, true, scratch, report);
        if (state.average) state.average->end_step();
    }
    return report;
}

// One thread's examples in random order, and what it needs to work on them.
struct Part {
    Part(const Structure& structure, int number, int parts, std::uint64_t seed)
        : scratch(structure, seed + static_cast<std::uint64_t>(number)) {
        const std::int64_t n = structure.size(), begin = n * number / parts, end = n * (number + 1) / parts;
        order = shuffled_order(end - begin, seed + static_cast<std::uint64_t>(number));
        for (auto& i : order) i += static_cast<std::int32_t>(begin);
    }
    std::vector<std::int32_t> order;
    PassScratch scratch;
    PassReport report;
    std::vector<Difference> found;  // of the examples of a block
};

class Parts {
public:
    Parts(const Structure& structure, int threads, std::uint64_t seed, const Interrupt& interrupt)
        : interrupt_(interrupt) {
        for (int k = 0; k < threads; ++k) parts_.push_back(std::make_unique<Part>(structure, k, threads, seed));
    }
    std::int64_t largest() const {
        std::size_t most = 0;
        for (const auto& part : parts_) most = std::max(most, part->order.size());
        return static_cast<std::int64_t>(most);
    }
    // work(part, phase, stop) of every part in every phase. Where `alone(phase)`, one thread does them all.
    template <class Alone, class Work>
    PassReport run(std::int64_t phases, Alone alone, Work work) {
        std::atomic<bool> stopped{false};
        for_each_phase(phases, static_cast<int>(parts_.size()), [&](std::int64_t phase, int member, int members) {
            // Only the calling thread may ask: signals are its business.
            const Interrupt stop = [&] {
                if (member == 0 && interrupt_()) stopped = true;
                return stopped.load(std::memory_order_relaxed);
            };
            const bool one = alone(phase);
            if (one && member > 0) return;
            for (std::size_t k = static_cast<std::size_t>(member); k < parts_.size();
                 k += static_cast<std::size_t>(one ? 1 : members)) {
                work(*parts_[k], phase, stop);
            }
        });
        PassReport total;
        for (const auto& part : parts_) total += part->report;
        return total;
    }

private:
    std::vector<std::unique_ptr<Part>> parts_;
    const Interrupt& interrupt_;
};

// Whether several threads may learn; if not, something that they would share is not made for it.
inline bool can_share(const DualState& state) { return state.structure.shares_weights() && !state.average; }

template <class Rule>
PassReport revisit(DualState& state, const Rule& rule, std::uint64_t seed, int threads, const Interrupt& interrupt) {
    if (threads == 1 || !can_share(state)) return revisit(state, rule, seed, interrupt);
    return Parts(state.structure, threads, seed, interrupt)
        .run(1, [](std::int64_t) { return false; }, [&](Part& part, std::int64_t, const Interrupt& stop) {
            part.report = revisit(state, rule, part.order, part.scratch, stop);
        });
}

// Examples of a block, for each thread: with more of them outputs are found at a w that has moved on when
// they are learned from, with fewer the threads mostly wait for each other.
constexpr std::int64_t block_size = 32;

template <class Rule>
PassReport visit(DualState& state, const Rule& rule, double delta, std::uint64_t seed, int threads,
                 const Interrupt& interrupt) {
    // At first every step changes what is found next.
    if (threads == 1 || state.cuts.size() == 0) return visit(state, rule, delta, seed, interrupt);
    const Structure& structure = state.structure;
    Parts parts(structure, threads, seed, interrupt);
    const std::int64_t blocks = (parts.largest() + block_size - 1) / block_size;
    const auto report = parts.run(
        2 * blocks, [&](std::int64_t phase) { return phase % 2 == 1 && !can_share(state); },
        [&](Part& part, std::int64_t phase, const Interrupt& stop) {
            const auto n = static_cast<std::int64_t>(part.order.size()), block = phase / 2;
            const std::int64_t end = std::min((block + 1) * block_size, n);
            part.found.resize(static_cast<std::size_t>(block_size));
            const auto at = [&](std::int64_t q) { return part.order[static_cast<std::size_t>(q)]; };
            for (std::int64_t q = block * block_size; q < end; ++q) {
                if (stop()) return;
                Difference& found = part.found[static_cast<std::size_t>(q % block_size)];
                if (phase % 2 == 0) {
                    if (q + 2 < n) structure.prefetch_example(at(q + 2));
                    if (q + 1 < end) structure.prefetch_decode(state.w.data(), at(q + 1));
                    structure.decode(state.w.data(), at(q), 1, *part.scratch.structure);
                    structure.difference(at(q), part.scratch.structure->output, found);
                } else {
                    learn_from(state, rule, at(q), found, delta, false, part.scratch, part.report);
                    if (state.average) state.average->end_step();
                }
            }
        });
    if (can_share(state)) state.rebuild(threads);
    return report;
}

}  // namespace dualstruct
