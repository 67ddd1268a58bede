// The passes on several cores (after Ma et al. 2015, "CoCoA+"). Every thread has a copy of w and goes
// through examples of its own as a pass on one thread would; after each block of examples the copies
// are merged, in the order of the threads:
//
//   w ← w + Σ_k d_k,   d_k = Σ_iy (change of α_iy) δ_i(y) over the examples of thread k
//
// Steps of different threads that agree go too far together. So a thread's steps count `overlap` times
// in its copy, w + overlap·d_k: then it sees the others as if they did the same as itself. As
//
//   D(α + Σ_k Δ_k) − D(α) = Σ_k (gain of Δ_k where steps count overlap times) + ½ overlap Σ_k ‖d_k‖² − ½‖Σ_k d_k‖²
//
// the dual cannot fall where ‖Σ_k d_k‖² ≤ overlap Σ_k ‖d_k‖². That always holds with as many as there are
// threads, and with 1 when their steps have nothing to do with each other; how much a block needed is known
// when it is merged, and the next one takes a little more than that.
//
// What comes of a pass depends on the seed and on the number of threads, not on timing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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
    PassScratch scratch(structure, state.w, state.average, seed);
    for (std::int64_t i = 0; i < structure.size(); ++i) {
        learn_from(state, rule, i, found[static_cast<std::size_t>(i)], delta, scratch, report);
        if (state.average) state.average->end_step();
    }
    return report;
}

// How far the changes of a block go: ‖Σ_k d_k‖² and Σ_k ‖d_k‖².
struct Moved {
    double together = 0, apart = 0;
    Moved& operator+=(const Moved& other) {
        together += other.together;
        apart += other.apart;
        return *this;
    }
};

// Copies of one weight vector, which are the same at the beginning of a block and are merged at its end.
class Copies {
public:
    Copies(std::vector<Weights*> copies, Weights& base) : copies_(std::move(copies)), base_(base) {}

    Weights& operator[](int k) const { return *copies_[static_cast<std::size_t>(k)]; }

    // The first copy's weights begin … end − 1 to all others.
    void spread(std::int64_t begin, std::int64_t end) const {
        const float* from = copies_[0]->data();
        for (std::size_t k = 1; k < copies_.size(); ++k) {
            std::copy(from + begin, from + end, copies_[k]->data() + begin);
        }
        std::copy(from + begin, from + end, base_.data() + begin);
    }

    // Merges the weights begin … end − 1 of copies whose steps count `overlap` times.
    Moved merge(std::int64_t begin, std::int64_t end, double overlap) const {
        Moved moved;
        const auto share = static_cast<float>(1 / overlap);
        for (std::int64_t at = begin; at < end; at += line) merge_line(at, std::min(line, end - at), share, moved);
        return moved;
    }

private:
    static constexpr std::int64_t line = 16;  // floats of a cache line

    // Most lines have not changed, and are left alone.
    void merge_line(std::int64_t at, std::int64_t count, float share, Moved& moved) const {
        float* base = base_.data() + at;
        float sum[line] = {}, squares[line] = {};
        bool changed = false;
        for (Weights* copy : copies_) {
            const float* own = copy->data() + at;
            for (std::int64_t q = 0; q < count; ++q) changed |= own[q] != base[q];
        }
        if (!changed) return;
        for (Weights* copy : copies_) {
            const float* own = copy->data() + at;
            for (std::int64_t q = 0; q < count; ++q) {
                const float d = share * (own[q] - base[q]);
                sum[q] += d;
                squares[q] += d * d;
            }
        }
        for (std::int64_t q = 0; q < count; ++q) {
            moved.together += double{sum[q]} * sum[q];
            moved.apart += squares[q];
            base[q] += sum[q];
        }
        for (Weights* copy : copies_) std::copy(base, base + count, copy->data() + at);
    }

    std::vector<Weights*> copies_;
    Weights& base_;
};

// One thread's share of a pass: its examples, in random order, as often as there are rounds.
struct Part {
    Part(const Structure& structure, int number, int parts, Weights& w, Average* average, std::uint64_t seed,
         int rounds)
        : scratch(structure, w, average, seed + static_cast<std::uint64_t>(number)) {
        const std::int64_t n = structure.size(), begin = n * number / parts, end = n * (number + 1) / parts;
        for (int round = 0; round < rounds; ++round) {
            const auto mixed = static_cast<std::uint64_t>(round) << 32 | static_cast<std::uint64_t>(number);
            for (std::int32_t i : shuffled_order(end - begin, seed ^ mixed)) {
                order.push_back(i + static_cast<std::int32_t>(begin));
            }
        }
    }
    std::vector<std::int32_t> order;
    PassScratch scratch;
    PassReport report;
    Moved moved;  // in its part of the weights, as the last block was merged
};

// The threads of a pass and what they hold copies of: w, and if w is averaged, what the average adds up.
class Team {
public:
    Team(DualState& state, int threads, std::uint64_t seed, int rounds) : state_(state), threads_(threads) {
        const Structure& structure = state.structure;
        while (state.spare.size() < static_cast<std::size_t>(threads)) state.spare.emplace_back(structure);
        std::vector<Weights*> w{&state.w}, late;
        for (int k = 1; k < threads; ++k) w.push_back(&state.spare[static_cast<std::size_t>(k)]);
        if (state.average) {
            scales_ = state.average->scales();
            steps_ = state.average->steps();
            for (int k = 1; k < threads; ++k) averages_.emplace_back(structure, state.average->linear());
            late.push_back(&state.average->late());
            for (Average& average : averages_) late.push_back(&average.late());
            late_base_.emplace(structure);
            copies_.emplace_back(std::move(late), *late_base_);
        }
        for (int k = 0; k < threads; ++k) {
            Average* average = !state.average || k == 0 ? state.average : &averages_[static_cast<std::size_t>(k - 1)];
            parts_.push_back(std::make_unique<Part>(structure, k, threads, *w[static_cast<std::size_t>(k)], average,
                                                    seed, rounds));
        }
        copies_.emplace_back(std::move(w), state.spare[0]);  // the last: what it moved is what counts
    }

    // work(examples, scratch, stop) of every thread's share of each block.
    template <class Work>
    PassReport run(std::int64_t blocks, const Interrupt& interrupt, Work work) {
        std::atomic<bool> stopped{false};
        const auto take_part = [&](std::int64_t phase, int member, int members) {
            // Only the calling thread may ask: signals are its business.
            const Interrupt stop = [&] {
                if (member == 0 && interrupt()) stopped = true;
                return stopped.load(std::memory_order_relaxed);
            };
            for (int k = member; k < threads_; k += members) {
                if (phase == 0) {
                    spread(k);
                } else if (phase % 2 == 1) {
                    learn(k, phase / 2, blocks, stop, work);
                } else {
                    merge(k);
                }
            }
        };
        try {
            for_each_phase(1 + 2 * blocks, threads_, take_part);
        } catch (...) {
            state_.rebuild(threads_);
            throw;
        }
        state_.overlap = next_overlap(part(0).scratch.overlap);
        state_.structure.derive(state_.w.data());
        if (state_.average) set(*state_.average, place(0, blocks, blocks));
        PassReport total;
        for (const auto& part : parts_) total += part->report;
        return total;
    }

private:
    void spread(int k) {
        const auto [begin, end] = weights_of(k);
        for (const Copies& each : copies_) each.spread(begin, end);
        part(k).scratch.overlap = state_.overlap > 0 ? std::min(state_.overlap, most()) : most();
    }

    template <class Work>
    void learn(int k, std::int64_t block, std::int64_t blocks, const Interrupt& stop, Work work) {
        PassScratch& scratch = part(k).scratch;
        scratch.overlap = next_overlap(scratch.overlap);
        state_.structure.derive(scratch.w.data());
        if (scratch.average) set(*scratch.average, place(k, block, blocks));
        const std::size_t first = begin(k, block, blocks), last = begin(k, block + 1, blocks);
        const auto examples = std::span<const std::int32_t>(part(k).order).subspan(first, last - first);
        part(k).report += work(examples, scratch, stop);
    }

    void merge(int k) {
        const auto [begin, end] = weights_of(k);
        for (const Copies& each : copies_) {
            const bool is_w = &each == &copies_.back();
            part(k).moved = each.merge(begin, end, is_w ? part(k).scratch.overlap : 1);
        }
    }

    // What the last block needed and a little more; if nothing moved there, what it had.
    double next_overlap(double last) const {
        constexpr double margin = 1.1;
        Moved moved;
        for (const auto& each : parts_) moved += each->moved;
        return moved.apart > 0 ? std::clamp(margin * moved.together / moved.apart, 1.0, most()) : last;
    }

    double most() const { return threads_; }

    // Where a block begins in the order of thread k.
    std::size_t begin(int k, std::int64_t block, std::int64_t blocks) const {
        const auto size = static_cast<std::int64_t>(parts_[static_cast<std::size_t>(k)]->order.size());
        return static_cast<std::size_t>(size * block / blocks);
    }

    // How many steps an average has before thread k's share of a block, as if the threads worked in turn.
    std::int64_t place(int k, std::int64_t block, std::int64_t blocks) const {
        std::size_t before = 0;
        for (int other = 0; other < threads_; ++other) before += begin(other, other < k ? block + 1 : block, blocks);
        return static_cast<std::int64_t>(before);
    }

    // Brings an average so many steps beyond the beginning of the pass.
    void set(Average& average, std::int64_t steps) const {
        average.set(scales_, steps_);
        average.skip(steps);
    }

    // The weights that thread k copies and merges, whole cache lines.
    std::pair<std::int64_t, std::int64_t> weights_of(int k) const {
        const std::int64_t dimension = state_.w.dimension(), line = 16, lines = (dimension + line - 1) / line;
        return {line * (lines * k / threads_), std::min(line * (lines * (k + 1) / threads_), dimension)};
    }

    Part& part(int k) { return *parts_[static_cast<std::size_t>(k)]; }

    DualState& state_;
    int threads_;
    std::vector<Average> averages_;  // of all threads but the first
    std::optional<Weights> late_base_;
    std::vector<Copies> copies_;
    std::vector<std::unique_ptr<Part>> parts_;
    double scales_ = 0;
    std::int64_t steps_ = 0;
};

// A merge reads w as often as there are threads and once more, which on large models takes as long as learning from
// hundreds of examples: there are few. At first w moves most.
constexpr std::int64_t merges_of_first_visit = 16, merges_of_visit = 4, rounds_of_merge = 2;

// `rounds` passes over the cuts held.
template <class Rule>
PassReport revisit(DualState& state, const Rule& rule, std::uint64_t seed, int threads, int rounds,
                   const Interrupt& interrupt) {
    const Structure& structure = state.structure;
    threads = static_cast<int>(std::clamp<std::int64_t>(structure.size(), 1, threads));
    if (threads == 1) {
        PassReport total;
        for (int round = 0; round < rounds; ++round, ++seed) {
            PassScratch scratch(structure, state.w, state.average, seed);
            total += revisit(state, rule, shuffled_order(structure.size(), seed), scratch, interrupt);
        }
        return total;
    }
    return Team(state, threads, seed, rounds)
        .run((rounds + rounds_of_merge - 1) / rounds_of_merge, interrupt,
             [&](std::span<const std::int32_t> order, PassScratch& scratch, const Interrupt& stop) {
                 return revisit(state, rule, order, scratch, stop);
             });
}

template <class Rule>
PassReport visit(DualState& state, const Rule& rule, double delta, std::uint64_t seed, int threads,
                 const Interrupt& interrupt) {
    const Structure& structure = state.structure;
    threads = static_cast<int>(std::clamp<std::int64_t>(structure.size(), 1, threads));
    if (threads == 1) {
        PassScratch scratch(structure, state.w, state.average, seed);
        return visit(state, rule, delta, shuffled_order(structure.size(), seed), scratch, interrupt);
    }
    return Team(state, threads, seed, 1)
        .run(state.cuts.size() ? merges_of_visit : merges_of_first_visit, interrupt,
             [&](std::span<const std::int32_t> order, PassScratch& scratch, const Interrupt& stop) {
                 return visit(state, rule, delta, order, scratch, stop);
             });
}

}  // namespace dualstruct
