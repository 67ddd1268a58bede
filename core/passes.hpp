// The two passes that drive every dual solver.
//
//   visit    decode an example, admit the output found as a cut, apply the rule
//   revisit  apply the rule to the cuts already held; no inference
//
// A Rule moves one example's dual variables. It is a template argument: the structure is
// reached by one virtual call an example and cut, the rule is inlined.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cuts.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "random.hpp"
#include "structure.hpp"

namespace dualstruct {

// A weight vector in a structure's layout.
class Weights {
public:
    explicit Weights(const Structure& structure)
        : dimension_(structure.dimension()), storage_(structure.storage()),
          data_(allocate_floats(static_cast<std::size_t>(storage_))) {
        structure.derive(data_.get());
    }
    float* data() { return data_.get(); }
    const float* data() const { return data_.get(); }
    std::int64_t dimension() const { return dimension_; }
    double squared_norm() const {
        return sum_squares([this](std::int64_t k) { return data_[k]; });
    }
    // ‖w − other‖².
    double squared_distance(const Weights& other) const {
        return sum_squares([this, &other](std::int64_t k) { return data_[k] - other.data_[k]; });
    }

private:
    template <class Entry>
    double sum_squares(Entry entry) const {
        double total = 0;
        for (std::int64_t k = 0; k < dimension_; k += 8) {  // rows are multiples of 8
            float squares[8];  // products of floats vectorise; their sum is taken in double
            for (int q = 0; q < 8; ++q) squares[q] = entry(k + q) * entry(k + q);
            total += (double{squares[0]} + squares[1]) + (double{squares[2]} + squares[3]) +
                     (double{squares[4]} + squares[5]) + (double{squares[6]} + squares[7]);
        }
        return total;
    }

    std::int64_t dimension_, storage_;
    FloatBuffer data_;
};

// (α, w) with w = center + Σ_iy α_iy δ_i(y); no center stands for 0.
class DualState {
public:
    DualState(const Structure& structure, Weights& w, const Weights* center)
        : structure(structure), w(w), cuts(structure.size()),
          sum_alpha(static_cast<std::size_t>(structure.size())), center_(center) {
        return_to_center();
    }

    // Recomputes w and the sums from the duals: float32 drifts.
    void rebuild() {
        return_to_center();
        for (std::int64_t i = 0; i < cuts.examples(); ++i) {
            double total = 0;
            cuts.for_each(i, [&](const Cut& cut) {
                total += cut.alpha;
                structure.axpy(w.data(), i, cut.words(), static_cast<float>(cut.alpha));
            });
            sum_alpha[static_cast<std::size_t>(i)] = total;
        }
    }

    // Σ_iy α_iy Δ_i(y): the linear part of every dual.
    double sum_alpha_cost() const {
        double total = 0;
        for (std::int64_t i = 0; i < cuts.examples(); ++i) {
            cuts.for_each(i, [&](const Cut& cut) { total += cut.alpha * cut.cost; });
        }
        return total;
    }

    const Structure& structure;
    Weights& w;
    CutStore cuts;
    std::vector<double> sum_alpha;  // Σ_y α_iy of each example

private:
    void return_to_center() {
        if (center_) {
            std::copy_n(center_->data(), w.dimension(), w.data());
        } else {
            std::fill_n(w.data(), w.dimension(), 0.0f);
        }
        structure.derive(w.data());
    }

    const Weights* center_;
};

// One example as a rule sees it.
class Example {
public:
    Example(DualState& state, std::int64_t i, Random& random, std::vector<Cut*>& order)
        : sum_alpha(state.sum_alpha[static_cast<std::size_t>(i)]), state_(state), i_(i), random_(random),
          order_(order) {}

    double& sum_alpha;

    // The cuts in random order, but the newest first.
    const std::vector<Cut*>& newest_first() {
        order_.clear();
        state_.cuts.for_each(i_, [&](Cut& cut) { order_.push_back(&cut); });
        if (order_.size() > 1) {
            std::swap(order_.front(), order_.back());
            random_.shuffle(order_.begin() + 1, order_.end());
        }
        return order_;
    }

    // H_i(y; w) = Δ_i(y) − w·δ_i(y).
    double violation(const Cut& cut) const {
        return cut.cost - state_.structure.dot(state_.w.data(), i_, cut.words());
    }

    // α ← alpha, w ← w + (change of α)·δ.
    void set_alpha(Cut& cut, double alpha) {
        const float step = static_cast<float>(alpha - cut.alpha);
        if (step == 0) return;
        state_.structure.axpy(state_.w.data(), i_, cut.words(), step);
        sum_alpha += alpha - cut.alpha;
        cut.alpha = alpha;
    }

    void remove_zero_cuts() { state_.cuts.remove_zeros(i_); }

private:
    DualState& state_;
    std::int64_t i_;
    Random& random_;
    std::vector<Cut*>& order_;
};

struct PassReport {
    std::int64_t inferences = 0;
    std::int64_t added = 0;
    double largest_violation = 0;  // visit: over the outputs found; revisit: what the rule saw
    double loss = 0;               // visit: Σ of the rule's loss as each example was met
    bool interrupted = false;
};

// Asked now and then; true stops the pass between two examples, with (α, w) consistent.
using Interrupt = std::function<bool()>;
inline constexpr std::int64_t examples_between_asks = 256;

template <class Rule>
PassReport revisit(DualState& state, const Rule& rule, std::uint64_t seed, const Interrupt& interrupt) {
    PassReport report;
    const auto order = shuffled_order(state.structure.size(), seed);
    const auto n = static_cast<std::int64_t>(order.size());
    Random random(seed ^ 0x5EED);
    std::vector<Cut*> scratch;
    for (std::int64_t q = 0; q < n; ++q) {
        if (q % examples_between_asks == 0 && interrupt()) {
            report.interrupted = true;
            break;
        }
        if (q + 6 < n) state.cuts.prefetch_block(order[q + 6]);
        if (q + 4 < n) {
            state.cuts.prefetch_cuts(order[q + 4]);
            if (!state.cuts.empty(order[q + 4])) state.structure.prefetch_example(order[q + 4]);
        }
        if (q + 1 < n) {
            state.cuts.for_each(order[q + 1], [&](const Cut& cut) {
                state.structure.prefetch_cut(state.w.data(), order[q + 1], cut.words());
            });
        }
        const std::int64_t i = order[q];
        if (state.cuts.empty(i)) continue;
        Example example(state, i, random, scratch);
        report.largest_violation = std::max(report.largest_violation, rule.update(example));
    }
    return report;
}

template <class Rule>
PassReport visit(DualState& state, const Rule& rule, double delta, std::uint64_t seed,
                 const Interrupt& interrupt) {
    PassReport report;
    const Structure& structure = state.structure;
    const auto order = shuffled_order(structure.size(), seed);
    const auto n = static_cast<std::int64_t>(order.size());
    const auto scratch = structure.make_scratch();
    Random random(seed ^ 0x5EED);
    std::vector<Cut*> cut_order;
    Difference found;
    for (std::int64_t q = 0; q < n; ++q) {
        if (q % examples_between_asks == 0 && interrupt()) {
            report.interrupted = true;
            break;
        }
        if (q + 2 < n) structure.prefetch_example(order[q + 2]);
        if (q + 1 < n) structure.prefetch_decode(state.w.data(), order[q + 1]);
        const std::int64_t i = order[q];
        structure.decode(state.w.data(), i, 1, *scratch);
        ++report.inferences;
        structure.difference(i, scratch->output, found);
        Example example(state, i, random, cut_order);
        if (!found.words.empty()) {
            const double violation = found.cost - structure.dot(state.w.data(), i, found.words);
            report.loss += rule.loss(violation);
            const double excess = rule.excess(violation, example.sum_alpha);
            report.largest_violation = std::max(report.largest_violation, excess);
            if (excess >= delta && !state.cuts.holds(i, found.words)) {
                state.cuts.add(i, found, structure.inner(i, found.words, found.words, *scratch));
                ++report.added;
            }
        }
        if (!state.cuts.empty(i)) rule.update(example);
    }
    state.cuts.compact_if_worth_it();
    return report;
}

// max_y H_i(y; w) of every example at a fixed w: what a certificate needs.
inline std::vector<double> largest_violations(const Structure& structure, const Weights& w, int threads,
                                              const Interrupt& interrupt) {
    std::vector<double> result(static_cast<std::size_t>(structure.size()));
    for_each_range(structure.size(), threads, [&](std::int64_t begin, std::int64_t end, int thread) {
        const auto scratch = structure.make_scratch();
        Difference found;
        for (std::int64_t i = begin; i < end; ++i) {
            // Only the calling thread may ask: signals are its business.
            if (thread == 0 && (i - begin) % examples_between_asks == 0 && interrupt()) return;
            if (i + 1 < end) structure.prefetch_decode(w.data(), i + 1);
            structure.decode(w.data(), i, 1, *scratch);
            structure.difference(i, scratch->output, found);
            const double h = found.words.empty() ? 0 : found.cost - structure.dot(w.data(), i, found.words);
            result[static_cast<std::size_t>(i)] = std::max(h, 0.0);
        }
    });
    return result;
}

}  // namespace dualstruct
