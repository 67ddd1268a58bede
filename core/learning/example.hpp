// One example as the rule of a dual solver sees it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "learning/dual_state.hpp"

namespace dualstruct {

// Buffers that the examples of a pass share. Where several examples are prepared at a time, each has its own.
struct PassScratch {
    // Only rules that open examples need excerpts.
    PassScratch(const Structure& structure, Random& random, bool opens)
        : structure(structure.make_scratch()), excerpt(opens ? structure.make_excerpt() : nullptr), random(random) {}
    std::unique_ptr<Scratch> structure;
    std::unique_ptr<Excerpt> excerpt;  // null: not needed, or the structure has none
    Random& random;
    std::vector<Cut*> cuts;
    std::vector<int> order;
    std::vector<double> violations, coefficients;
    std::vector<WeightedCodes> terms;
    Difference found;
};

// One example as a rule sees it. Its cuts have numbers, the oldest is 0.
class Example {
public:
    Example(DualState& state, std::int64_t i, PassScratch& scratch)
        : sum_alpha(state.sum_alpha[at(i)]), weight(state.examples.weight(i)), scratch(scratch), state_(state), own_(i),
          i_(state.examples[i]) {}
    Example(const Example&) = delete;
    ~Example() { close(); }

    double& sum_alpha;
    const double weight;       // what C is multiplied by here
    PassScratch& scratch;
    bool decoded = false;      // whether this update follows inference
    int found = -1;            // the cut that inference found; −1: the truth, or not admitted

    int size() { return static_cast<int>(cuts().size()); }
    Cut& cut(int k) { return *cuts()[at(k)]; }

    // The cuts in random order, but the newest first.
    const std::vector<int>& newest_first() {
        auto& order = scratch.order;
        order.resize(at(size()));
        std::iota(order.begin(), order.end(), 0);
        if (order.size() > 1) {
            std::swap(order.front(), order.back());
            scratch.random.shuffle(order.begin() + 1, order.end());
        }
        return order;
    }

    // Hints that open comes soon: look up what it reads, and later fetch it.
    void look_up() {
        if (is_enclosable()) return;
        for (const Cut* cut : cuts()) state_.structure.prefetch_parts(i_, cut->codes());
    }
    void prefetch() {
        if (is_enclosable()) {
            scratch.excerpt->prefetch(state_.w.data());
        } else {
            for (const Cut* cut : cuts()) state_.structure.prefetch_cut(state_.w.data(), i_, cut->codes());
        }
    }

    // From now on cuts are measured and moved by themselves, if the structure can do so: w hears of it when the
    // example is closed. No cut is added meanwhile.
    void open() {
        if (open_ || !is_enclosable()) return;
        scratch.excerpt->read(state_.w.data());
        open_ = true;
    }
    void close() {
        if (open_) scratch.excerpt->write(state_.w.data());
        open_ = false;
    }
    bool is_open() const { return open_; }

    // H_i(y; w) = Δ_i(y) − w·δ_i(y).
    double violation(int k) {
        const Cut& cut = this->cut(k);
        if (state_.shared) {
            measured_ = k;
            return cut.cost - state_.structure.dot(state_.w.data(), i_, cut.codes(), *state_.shared, mean_times_);
        }
        return cut.cost - (open_ ? scratch.excerpt->dot(k) : state_.structure.dot(state_.w.data(), i_, cut.codes()));
    }
    double violation(const Difference& found) const {
        return found.is_truth ? 0 : found.cost - state_.structure.dot(state_.w.data(), i_, found.codes);
    }

    // ‖δ_i(y)‖², as w moves: with the times of each line.
    double norm2(int k) {
        if (!state_.shared) return cut(k).norm2;
        if (measured_ != k) violation(k);
        return cut(k).norm2 * mean_times_;
    }

    // α ← alpha, w ← w + (change of α)·δ.
    void set_alpha(int k, double alpha) {
        Cut& cut = this->cut(k);
        const float step = static_cast<float>(alpha - cut.alpha);
        if (step == 0) return;
        if (open_) {
            scratch.excerpt->axpy(k, step);
        } else if (state_.shared) {
            state_.structure.axpy(state_.w.data(), i_, cut.codes(), step, *state_.shared);
        } else {
            state_.structure.axpy(state_.w.data(), i_, cut.codes(), step);
        }
        if (state_.average) cut.deferred += static_cast<float>(state_.average->deferred_by(step));
        sum_alpha += alpha - cut.alpha;
        cut.alpha = alpha;
    }

    // The number of the cut with these codes; −1: none.
    int find(std::span<const Code> codes) {
        for (int k = 0; k < size(); ++k) {
            if (std::ranges::equal(cut(k).codes(), codes)) return k;
        }
        return -1;
    }

    // ‖δ‖² of what was found.
    double norm2(const Difference& found) {
        return state_.structure.inner(i_, found.codes, found.codes, *scratch.structure);
    }
    // Keeps what was found as a cut, the newest; returns its number.
    int add(const Difference& found, double norm2) {
        state_.cuts.add(own_, found, norm2);
        listed_ = false;
        return size() - 1;
    }

    // Adds the output that violates most of those made of parts of the cuts, if it is none of them and
    // wanted(difference, violation). Only once the example is open.
    template <class Wanted>
    void add_recombined(Wanted wanted) {
        if (!open_) return;
        Difference& found = scratch.found;
        const double violation = scratch.excerpt->decode(found);
        if (found.is_truth || !wanted(found, violation) || find(found.codes) >= 0) return;
        scratch.excerpt->append(found.codes);
        scratch.coefficients.assign(at(size()) + 1, 0);
        scratch.coefficients.back() = 1;
        state_.cuts.add(own_, found, scratch.excerpt->combination_norm2(scratch.coefficients));
        list();
    }

    // ‖Σ c_k δ_k‖² over the cuts, ‖δ_p − δ_q‖².
    double combination_norm2(std::span<const double> coefficients) {
        if (open_) return scratch.excerpt->combination_norm2(coefficients);
        scratch.terms.clear();
        for (int k = 0; k < size(); ++k) {
            if (coefficients[at(k)] != 0) scratch.terms.push_back({cut(k).codes(), coefficients[at(k)]});
        }
        if (state_.shared) {
            return state_.structure.combination_norm2(i_, scratch.terms, *state_.shared, *scratch.structure);
        }
        return state_.structure.combination_norm2(i_, scratch.terms, *scratch.structure);
    }
    double distance2(int p, int q) {
        if (!open_ && !state_.shared) {
            return state_.structure.distance2(i_, cut(p).codes(), cut(q).codes(), *scratch.structure);
        }
        scratch.coefficients.assign(at(size()), 0);
        scratch.coefficients[at(p)] = 1;
        scratch.coefficients[at(q)] = -1;
        return combination_norm2(scratch.coefficients);
    }

    // The cut that violates most, if that is more than `violation` by more than rounding explains; −1: none.
    int better_than(double violation) {
        int best = -1;
        for (int k = 0; k < size(); ++k) {
            const double of_cut = this->violation(k);
            const double rounding = 1e-4 * (cut(k).cost + std::abs(cut(k).cost - of_cut));
            if (of_cut - rounding > violation) {
                violation = of_cut;
                best = k;
            }
        }
        return best;
    }

    // The last thing that a rule does: the others have new numbers then.
    void remove_zero_cuts() {
        close();
        if (std::ranges::none_of(cuts(), [](const Cut* cut) { return cut->alpha == 0; })) return;
        state_.remove_zeros(own_);
        listed_ = false;
    }

private:
    void list() {
        scratch.cuts.clear();
        state_.cuts.for_each(own_, [&](Cut& cut) { scratch.cuts.push_back(&cut); });
    }
    std::vector<Cut*>& cuts() {
        if (!listed_) {
            list();
            listed_ = true;
            measured_ = -1;
            enclosed_ = {};
        }
        return scratch.cuts;
    }

    // Whether an excerpt of all cuts can be read. One cut alone moves once, which needs none.
    bool is_enclosable() {
        if (!enclosed_) {
            enclosed_ = scratch.excerpt && !state_.shared && cuts().size() > 1;  // it knows no times
            if (*enclosed_) scratch.excerpt->start(i_);
            for (std::size_t k = 0; *enclosed_ && k < scratch.cuts.size(); ++k) {
                enclosed_ = scratch.excerpt->include(scratch.cuts[k]->codes());
            }
        }
        return *enclosed_;
    }

    DualState& state_;
    std::int64_t own_, i_;  // its number among those that are learned from, and in the structure
    bool listed_ = false, open_ = false;
    int measured_ = -1;  // the cut that mean_times_ is of, if any
    double mean_times_ = 1;
    std::optional<bool> enclosed_;
};

}  // namespace dualstruct
