// Σ_i weight_i ℓ_i(w) and its gradient, over all examples at a fixed w.
//
//   softmax_margin(β, γ)  ∇ℓ_i = −(φ_i(y_i) − E φ_i(y)),   p(y) ∝ exp β(w·φ_i(y) + γΔ_i(y))
//   hinge                 −δ_i(y*) is a subgradient,        y* = argmax_y H_i(y; w)
//   squared_hinge         −2 H_i(y*)·δ_i(y*) is one: like the hinge it has kinks where outputs tie
//
// What is added up is −∇, the descent: Σ_i E δ_i, which is also the w that the duals C·p_i stand for.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "parallel.hpp"
#include "passes.hpp"
#include "range_sums.hpp"
#include "structure.hpp"
#include "weights.hpp"

namespace dualstruct {

// weight·ℓ of one example; adds −weight·∇ℓ to the target.
struct SoftmaxMarginGradient {
    double beta, gamma;

    double operator()(const Structure& structure, const float* w, std::int64_t i, float* target, Scratch& scratch,
                      Difference&) const {
        const double loss = structure.log_loss(w, i, beta, gamma, scratch);
        const double weight = structure.weight(i);
        structure.add_expected_difference(target, i, static_cast<float>(weight), scratch);
        return weight * loss;
    }
};

struct HingeGradient {
    bool squared;

    double operator()(const Structure& structure, const float* w, std::int64_t i, float* target, Scratch& scratch,
                      Difference& found) const {
        structure.decode(w, i, 1, scratch);
        structure.difference(i, scratch.output, found);
        if (found.is_truth) return 0;
        const double violation = found.cost - structure.dot(w, i, found.words);
        if (violation <= 0) return 0;
        const double weight = structure.weight(i);
        structure.axpy(target, i, found.words, static_cast<float>(weight * (squared ? 2 * violation : 1)));
        return weight * (squared ? violation * violation : violation);
    }
};

// Adds up losses and −∇ on several threads. From two threads on the sums are the same on any number of them.
class GradientPass {
public:
    GradientPass(const Structure& structure, int threads)
        : structure_(structure), threads_(threads), sums_(structure) {
        for (int thread = 0; thread < threads; ++thread) scratch_.push_back(structure.make_scratch());
    }

    GradientPass(const GradientPass&) = delete;

    const Structure& structure() const { return structure_; }

    // Returns Σ_i weight_i ℓ_i(w); descent = −∇ of it. Both mean nothing after an interrupt.
    template <class Gradient>
    double run(const Weights& w, Weights& descent, const Gradient& gradient, const Interrupt& interrupt) {
        float* total = descent.data();
        for_each_range(descent.dimension(), threads_, [&](std::int64_t begin, std::int64_t end, int) {
            std::fill(total + begin, total + end, 0.0f);
        });
        std::vector<double> losses(static_cast<std::size_t>(RangeSums::ranges(threads_)));
        sums_.add_up(structure_.size(), threads_, total,
                     [&](std::int64_t begin, std::int64_t end, int range, int thread, float* target) {
            Difference difference;
            double loss = 0;
            for (std::int64_t i = begin; i < end; ++i) {
                // Only the calling thread may ask: signals are its business.
                if (thread == 0 && interrupt()) return;
                if (i + 1 < end) structure_.prefetch_decode(w.data(), i + 1);
                loss += gradient(structure_, w.data(), i, target, *scratch_[static_cast<std::size_t>(thread)], difference);
            }
            losses[static_cast<std::size_t>(range)] = loss;
        });
        for_each_range(descent.dimension(), threads_, [&](std::int64_t begin, std::int64_t end, int) {
            sums_.collect(total, begin, end, [](std::int64_t, std::int64_t) {});
        });
        structure_.derive(total);
        return std::accumulate(losses.begin(), losses.end(), 0.0);
    }

private:
    const Structure& structure_;
    int threads_;
    RangeSums sums_;
    std::vector<std::unique_ptr<Scratch>> scratch_;
};

}  // namespace dualstruct
