// One example as the rule of a dual solver sees it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "learning/dual_state.hpp"

namespace dualstruct {

// Buffers that the examples of a pass share.
struct PassScratch {
    PassScratch(const Structure& structure, std::uint64_t seed)
        : structure(structure.make_scratch()), random(seed ^ 0x5EED) {}
    std::unique_ptr<Scratch> structure;
    Random random;
    std::vector<Cut*> order;
    std::vector<double> violations;
    std::vector<WeightedCodes> terms;
};

// One example as a rule sees it.
class Example {
public:
    Example(DualState& state, std::int64_t i, PassScratch& scratch)
        : sum_alpha(state.sum_alpha[at(i)]), weight(state.examples.weight(i)), scratch(scratch), state_(state), own_(i),
          i_(state.examples[i]) {}

    double& sum_alpha;
    const double weight;       // what C is multiplied by here
    PassScratch& scratch;
    bool decoded = false;      // whether this update follows inference
    Cut* found = nullptr;      // the cut that inference found; null: the truth, or not admitted

    // The cuts, oldest first.
    std::vector<Cut*>& cuts() {
        scratch.order.clear();
        state_.cuts.for_each(own_, [&](Cut& cut) { scratch.order.push_back(&cut); });
        return scratch.order;
    }

    // The cuts in random order, but the newest first.
    const std::vector<Cut*>& newest_first() {
        auto& order = cuts();
        if (order.size() > 1) {
            std::swap(order.front(), order.back());
            scratch.random.shuffle(order.begin() + 1, order.end());
        }
        return order;
    }

    // H_i(y; w) = Δ_i(y) − w·δ_i(y).
    double violation(const Cut& cut) const { return cut.cost - state_.structure.dot(state_.w.data(), i_, cut.codes()); }
    double violation(const Difference& found) const {
        return found.is_truth ? 0 : found.cost - state_.structure.dot(state_.w.data(), i_, found.codes);
    }

    // α ← alpha, w ← w + (change of α)·δ.
    void set_alpha(Cut& cut, double alpha) {
        const float step = static_cast<float>(alpha - cut.alpha);
        if (step == 0) return;
        state_.structure.axpy(state_.w.data(), i_, cut.codes(), step);
        if (state_.average) cut.deferred += static_cast<float>(state_.average->deferred_by(step));
        sum_alpha += alpha - cut.alpha;
        cut.alpha = alpha;
    }

    // Keeps what was found as a cut.
    Cut& add(const Difference& found) {
        const double norm2 = state_.structure.inner(i_, found.codes, found.codes, *scratch.structure);
        return state_.cuts.add(own_, found, norm2);
    }

    // ‖δ − δ'‖² of two cuts, ‖Σ c_p δ_p‖² of several.
    double distance2(const Cut& a, const Cut& b) const {
        return state_.structure.distance2(i_, a.codes(), b.codes(), *scratch.structure);
    }
    double combination_norm2(std::span<const WeightedCodes> terms) const {
        return state_.structure.combination_norm2(i_, terms, *scratch.structure);
    }

    // The cut that violates most, if that is more than `violation` by more than rounding explains.
    Cut* better_than(double violation) {
        Cut* best = nullptr;
        for (Cut* cut : cuts()) {
            const double of_cut = this->violation(*cut);
            const double rounding = 1e-4 * (cut->cost + std::abs(cut->cost - of_cut));
            if (of_cut - rounding > violation) {
                violation = of_cut;
                best = cut;
            }
        }
        return best;
    }

    void remove_zero_cuts() { state_.remove_zeros(own_); }

private:
    DualState& state_;
    std::int64_t own_, i_;  // its number among those that are learned from, and in the structure
};

}  // namespace dualstruct
