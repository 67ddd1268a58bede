#include "learning/one_by_one.hpp"

#include <algorithm>

#include "learning/pass_loops.hpp"

namespace dualstruct {
namespace {

// Rounding can keep violations above a tolerance that is too small for it.
constexpr int most_revisits = 10000;

// Decodes example i at this w and learns from it by the rule; what came of it alone.
template <class Rule>
PassReport meet(DualState& state, const Rule& rule, std::int64_t i, double admission, PassScratch& scratch,
                Difference& found) {
    PassReport report;
    state.structure.decode(state.w.data(), state.examples[i], 1, *scratch.structure);
    state.structure.difference(state.examples[i], scratch.structure->output, found);
    Example example(state, i, scratch);
    learn_from(state, rule, example, found, admission, report);
    return report;
}

void add(PassReport& sum, const PassReport& part, bool first) {
    sum.inferences += part.inferences;
    sum.added += part.added;
    sum.beaten += part.beaten;
    if (!first) return;  // losses and violations are those that the pass met
    sum.loss += part.loss;
    sum.largest_violation = std::max(sum.largest_violation, part.largest_violation);
}

// Holds ξ_i = max(0, max of the cuts' violations) against what was found.
struct SlackRule : SMOGatherRule {
    bool admits(Example& example, double violation, double epsilon) const {
        double slack = 0;
        for (int k = 0; k < example.size(); ++k) slack = std::max(slack, example.violation(k));
        return violation > slack + epsilon;
    }
};

}  // namespace

PassReport settle_each(DualState& state, const SMORule& rule, std::uint64_t seed, const Interrupt& interrupt) {
    PassReport report;
    Random random = random_of(seed);
    PassScratch scratch(state.structure, random, rule.opens());
    Difference found;
    for (const std::int64_t i : state.share.shuffled(state.examples.size(), seed)) {
        for (bool first = true;; first = false) {
            if (interrupt()) return report;
            const PassReport met = meet(state, rule, i, rule.decoded_tolerance, scratch, found);
            add(report, met, first);
            // What is found again has been solved for, up to rounding.
            if (met.largest_violation <= rule.decoded_tolerance || (!first && !met.added)) break;
        }
        if (state.average) state.average->end_step();
    }
    return report;
}

PassReport optimise_after_each(DualState& state, const SMORule& rule, double epsilon, std::uint64_t seed,
                               const Interrupt& interrupt) {
    PassReport report;
    Random random = random_of(seed);
    PassScratch scratch(state.structure, random, rule.opens());
    Difference found;
    SlackRule gather;
    gather.C = rule.C;
    std::uint64_t inner = seed;
    for (const std::int64_t i : state.share.shuffled(state.examples.size(), seed)) {
        if (interrupt()) return report;
        const PassReport met = meet(state, gather, i, epsilon, scratch, found);
        add(report, met, true);
        if (!met.added) continue;
        for (int k = 0; k < most_revisits && !interrupt(); ++k) {
            if (Passes<SMORule>::revisit(state, rule, ++inner, 1, interrupt).largest_violation <= rule.tolerance) break;
        }
    }
    return report;
}

}  // namespace dualstruct
