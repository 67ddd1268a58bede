// A visit on several cores: inference threads decode and hand what they find to the learner, which
// alone moves (α, w) and revisits cuts while it waits, `revisits` times in all. After Chang,
// Srikumar & Roth 2013, "Multi-core Structural SVM Training" (DEMI-DCD).
//
// The inference threads read w while the learner writes it. A float is seen before or after a
// change, never half, and what they find is judged anew at the learner's w, so the duals are those
// of a run that met the same outputs in the same order. That order depends on timing: the model
// does, too, but not what it converges to.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
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

template <class Rule>
PassReport visit_while_decoding(DualState& state, const Rule& rule, double delta, std::uint64_t seed, int threads,
                                int revisits, const Interrupt& interrupt) {
    using Found = std::pair<std::int64_t, Difference>;
    const Structure& structure = state.structure;
    const auto order = shuffled_order(structure.size(), seed);
    const auto n = static_cast<std::int64_t>(order.size());
    const int helpers = std::max(threads - 1, 1);

    std::mutex mutex;  // guards what is ready and the failure
    std::vector<Found> ready;
    std::exception_ptr failure;
    std::atomic<std::int64_t> next{0};
    std::atomic<int> working{helpers};
    std::atomic<bool> stop{false};
    auto infer = [&] {
        try {
            const auto scratch = structure.make_scratch();
            constexpr std::int64_t batch = 16;
            std::vector<Found> found;
            while (!stop) {
                const std::int64_t begin = next.fetch_add(batch);
                if (begin >= n) break;
                for (std::int64_t q = begin; q < std::min(begin + batch, n); ++q) {
                    const std::int64_t i = order[static_cast<std::size_t>(q)];
                    if (q + 1 < n) structure.prefetch_decode(state.w.data(), order[static_cast<std::size_t>(q + 1)]);
                    structure.decode(state.w.data(), i, 1, *scratch);
                    found.emplace_back(i, Difference{});
                    structure.difference(i, scratch->output, found.back().second);
                }
                const std::lock_guard lock(mutex);
                std::move(found.begin(), found.end(), std::back_inserter(ready));
                found.clear();
            }
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
            stop = true;
        }
        --working;
    };
    std::vector<std::thread> pool;
    try {
        for (int k = 0; k < helpers; ++k) pool.emplace_back(infer);
    } catch (const std::system_error&) {  // no more threads: those there are do the work
        working -= helpers - static_cast<int>(pool.size());
        if (pool.empty()) return visit(state, rule, delta, seed, interrupt);
    }

    PassReport report;
    PassScratch scratch(structure, seed);
    std::vector<Found> found;
    std::int64_t revisited = 0;
    const std::int64_t enough = revisits * n;  // updates of held cuts that make a pass
    while (true) {
        const bool last = working == 0;  // read before taking: nothing is handed over after it
        {
            const std::lock_guard lock(mutex);
            found.swap(ready);
        }
        for (const auto& [i, difference] : found) {
            learn_from(state, rule, i, difference, delta, false, scratch, report);
            if (state.average) state.average->end_step();
        }
        if (found.empty() && last && (revisited >= enough || state.cuts.size() == 0 || stop)) break;
        if (found.empty()) {
            for (int k = 0; k < 64; ++k, ++revisited) {
                const auto ahead = [&](std::int64_t q) { return order[static_cast<std::size_t>((revisited + q) % n)]; };
                state.cuts.prefetch_block(ahead(6));
                state.cuts.prefetch_cuts(ahead(4));
                structure.prefetch_example(ahead(4));
                state.cuts.for_each(ahead(1), [&](const Cut& cut) {
                    structure.prefetch_cut(state.w.data(), ahead(1), cut.words());
                });
                const std::int64_t i = ahead(0);
                if (state.cuts.empty(i)) continue;
                Example example(state, i, scratch);
                rule.update(example);
                if (state.average) state.average->end_step();
            }
        }
        found.clear();
        if (interrupt()) stop = true;
    }
    for (auto& thread : pool) thread.join();
    if (failure) std::rethrow_exception(failure);
    state.cuts.compact_if_worth_it();
    return report;
}

}  // namespace dualstruct
