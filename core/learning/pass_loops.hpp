// The loops of passes.hpp, which every rule instantiates in its own file.
//
// Inference on several cores (after Chang, Srikumar & Roth 2013, "Multi-core structural SVM training"): all
// threads decode a few examples at the same w, then one learns from what they found. What comes of a pass depends
// neither on timing nor on the number of threads, as long as there are two.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "base/parallel.hpp"
#include "learning/example.hpp"
#include "learning/measures.hpp"
#include "learning/passes.hpp"

namespace dualstruct {

// Where what is random in a pass comes from, besides the order of examples.
inline Random random_of(std::uint64_t seed) { return Random(seed ^ 0x5EED); }

// The examples of a pass in their order, each looked up and fetched while those before it are at work.
class Ahead {
public:
    Ahead(DualState& state, std::span<const std::int32_t> order, Random& random, bool opens)
        : state_(state), order_(order) {
        for (auto& scratch : scratches_) scratch = std::make_unique<PassScratch>(state.structure, random, opens);
        for (std::size_t q = 0; q + 1 < ring; ++q) look_up(q);
    }

    // Good until the next one is asked for; q counts up.
    Example& at_place(std::size_t q) {
        const std::size_t n = order_.size();
        if (q + 5 < n) state_.cuts.prefetch_block(order_[q + 5]);
        if (q + 4 < n) state_.cuts.prefetch_cuts(order_[q + 4]);
        if (q + 3 < n && !state_.cuts.empty(order_[q + 3])) {
            state_.structure.prefetch_outline(state_.examples[order_[q + 3]]);
        }
        look_up(q + ring - 1);
        if (q + 1 < n) examples_[(q + 1) % ring]->prefetch();
        return *examples_[q % ring];
    }

private:
    static constexpr std::size_t ring = 3;

    void look_up(std::size_t q) {
        if (q >= order_.size()) return;
        examples_[q % ring].emplace(state_, order_[q], *scratches_[q % ring]).look_up();
    }

    DualState& state_;
    std::span<const std::int32_t> order_;
    std::array<std::unique_ptr<PassScratch>, ring> scratches_;
    std::array<std::optional<Example>, ring> examples_;
};

// Leaves only the examples that violated more than the mean, in another order.
inline void keep_lively(std::vector<std::int32_t>& order, const std::vector<double>& violations, Random& random) {
    const double sum = std::accumulate(violations.begin(), violations.end(), 0.0);
    const double mean = sum / static_cast<double>(order.size());
    std::size_t kept = 0;
    for (std::size_t q = 0; q < order.size(); ++q) {
        if (violations[q] > mean) order[kept++] = order[q];
    }
    order.resize(kept);
    random.shuffle(order.begin(), order.end());
}

template <class Rule>
PassReport Passes<Rule>::revisit(DualState& state, const Rule& rule, std::uint64_t seed, int sweeps,
                                 const Interrupt& interrupt) {
    PassReport report;
    Random random = random_of(seed);
    auto order = state.share.shuffled(state.examples.size(), seed);
    std::vector<double> violations;
    for (int k = 0; k < sweeps && !order.empty(); ++k) {
        Ahead ahead(state, order, random, rule.opens());
        violations.clear();
        for (std::size_t q = 0; q < order.size(); ++q) {
            if (interrupt()) return report;
            Example& example = ahead.at_place(q);
            violations.push_back(example.size() > 0 ? rule.update(example) : 0);
            if (state.average) state.average->end_step();
        }
        report.largest_violation = std::max(report.largest_violation, *std::ranges::max_element(violations));
        if (k + 1 < sweeps) keep_lively(order, violations, random);
    }
    return report;
}

// What was decoded before its turn comes, and what of it depends on nothing that moves until then.
struct Decoded {
    Difference difference;
    bool beaten = false;          // by a cut held, at that w: then the decoder did not find the maximum
    std::optional<double> norm2;  // of a difference that is no cut yet
};

inline void look_at(DualState& state, std::int64_t i, Decoded& decoded, PassScratch& scratch) {
    const Difference& found = decoded.difference;
    Example example(state, i, scratch);
    decoded.beaten = !state.structure.exact_decoder() && example.better_than(example.violation(found)) >= 0;
    decoded.norm2.reset();
    if (!found.is_truth && example.find(found.codes) < 0) decoded.norm2 = example.norm2(found);
}

// What follows the inference of a visit: perhaps a new cut, then the rule. An approximate decoder may
// miss an output that is already held as a cut; then that one counts as found. Where w has moved since the
// decoding, `before` says what was seen then.
template <class Rule>
void learn_from(DualState& state, const Rule& rule, Example& example, const Difference& found, double admission,
                PassReport& report, const Decoded* before = nullptr) {
    example.decoded = true;
    ++report.inferences;
    if (example.weight == 0) return;  // its duals stay 0
    double violation = example.violation(found);
    if (!found.is_truth) {
        example.found = example.find(found.codes);
        if (example.found < 0 && rule.admits(example, violation, admission)) {
            example.found = example.add(found, before && before->norm2 ? *before->norm2 : example.norm2(found));
            ++report.added;
        }
    }
    if (!state.structure.exact_decoder()) {
        if (const int better = example.better_than(violation); better >= 0) {
            report.beaten += !before || before->beaten;
            example.found = better;
            violation = example.violation(better);
        }
    }
    report.loss += example.weight * rule.loss(violation);
    if (example.size() > 0) report.largest_violation = std::max(report.largest_violation, rule.update(example));
}

template <class Rule>
PassReport visit_on_one_thread(DualState& state, const Rule& rule, double admission, std::uint64_t seed,
                               const Interrupt& interrupt) {
    PassReport report;
    const Structure& structure = state.structure;
    const Examples& examples = state.examples;
    const auto order = state.share.shuffled(examples.size(), seed);
    const std::size_t n = order.size();
    Random random = random_of(seed);
    PassScratch scratch(structure, random, rule.opens());
    Difference found;
    for (std::size_t q = 0; q < n; ++q) {
        if (interrupt()) break;
        if (q + 3 < n) state.cuts.prefetch_block(order[q + 3]);
        if (q + 2 < n) structure.prefetch_example(examples[order[q + 2]]);
        if (q + 1 < n) {
            structure.prefetch_decode(state.w.data(), examples[order[q + 1]]);
            state.cuts.prefetch_cuts(order[q + 1]);
        }
        const std::int64_t i = order[q];
        structure.decode(state.w.data(), examples[i], 1, *scratch.structure);
        structure.difference(examples[i], scratch.structure->output, found);
        Example example(state, i, scratch);
        learn_from(state, rule, example, found, admission, report);
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
    Random random = random_of(seed);
    PassScratch scratch(structure, random, rule.opens());
    for (std::int64_t i = state.share.first; i < examples.size(); i += state.share.step) {
        Example example(state, i, scratch);
        learn_from(state, rule, example, found[at(i)], admission, report);
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
    Random random = random_of(seed);
    std::vector<std::unique_ptr<PassScratch>> scratches(at(threads));
    std::vector<Decoded> found(batch);
    Ahead ahead(state, order, random, rule.opens());
    std::atomic<std::size_t> next{0};
    bool stopped = false;

    const auto decode = [&](std::size_t end, std::size_t members, PassScratch& scratch) {
        for (std::size_t q = next++; q < end; q = next++) {
            if (q + members < end) structure.prefetch_decode(state.w.data(), examples[order[q + members]]);
            structure.decode(state.w.data(), examples[order[q]], 1, *scratch.structure);
            Decoded& decoded = found[q % batch];
            structure.difference(examples[order[q]], scratch.structure->output, decoded.difference);
            look_at(state, order[q], decoded, scratch);
        }
    };
    const auto learn = [&](std::size_t begin, std::size_t end) {
        for (std::size_t q = begin; q < end; ++q) {
            if (interrupt()) stopped = true;
            if (stopped) return;
            const Decoded& decoded = found[q % batch];
            learn_from(state, rule, ahead.at_place(q), decoded.difference, admission, report, &decoded);
            if (state.average) state.average->end_step();
        }
        next = end;
    };
    const auto phases = static_cast<std::int64_t>(2 * ((n + batch - 1) / batch));
    for_each_phase(phases, threads, [&](std::int64_t phase, int member, int members) {
        const std::size_t begin = at(phase / 2) * batch, end = std::min(begin + batch, n);
        auto& scratch = scratches[at(member)];
        if (!scratch) scratch = std::make_unique<PassScratch>(structure, random, false);
        if (phase % 2 == 0) {
            if (!stopped) decode(end, at(members), *scratch);
        } else if (member == 0) {
            learn(begin, end);
        }
    });
    return report;
}

}  // namespace dualstruct
