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

// Adds up losses and −∇ on several threads, each into a vector of its own; these are then summed in
// order, so that the same number of threads gives the same sums.
class GradientPass {
public:
    GradientPass(const Structure& structure, int threads) : structure_(structure), threads_(threads) {
        for (int thread = 1; thread < threads; ++thread) parts_.push_back(std::make_unique<Weights>(structure));
        for (int thread = 0; thread < threads; ++thread) scratch_.push_back(structure.make_scratch());
    }

    GradientPass(const GradientPass&) = delete;

    const Structure& structure() const { return structure_; }

    // Returns Σ_i weight_i ℓ_i(w); descent = −∇ of it. Both mean nothing after an interrupt.
    template <class Gradient>
    double run(const Weights& w, Weights& descent, const Gradient& gradient, const Interrupt& interrupt) {
        const std::int64_t n = structure_.size();
        std::vector<double> losses(static_cast<std::size_t>(threads_));
        for_each_range(n, threads_, [&](std::int64_t begin, std::int64_t end, int thread) {
            Weights& target = thread ? *parts_[static_cast<std::size_t>(thread) - 1] : descent;
            std::fill_n(target.data(), target.dimension(), 0.0f);
            Difference difference;
            double loss = 0;
            for (std::int64_t i = begin; i < end; ++i) {
                // Only the calling thread may ask: signals are its business.
                if (thread == 0 && interrupt()) return;
                if (i + 1 < end) structure_.prefetch_decode(w.data(), i + 1);
                loss += gradient(structure_, w.data(), i, target.data(), *scratch_[static_cast<std::size_t>(thread)],
                                 difference);
            }
            losses[static_cast<std::size_t>(thread)] = loss;
        });
        const std::int64_t used = std::clamp<std::int64_t>(threads_, 1, std::max<std::int64_t>(n, 1));
        for_each_range(descent.dimension() / 8, threads_, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t part = 1; part < used; ++part) {
                const float* from = parts_[static_cast<std::size_t>(part) - 1]->data();
                for (std::int64_t k = 8 * begin; k < 8 * end; ++k) descent.data()[k] += from[k];
            }
        });
        structure_.derive(descent.data());
        return std::accumulate(losses.begin(), losses.end(), 0.0);
    }

private:
    const Structure& structure_;
    int threads_;
    std::vector<std::unique_ptr<Weights>> parts_;
    std::vector<std::unique_ptr<Scratch>> scratch_;
};

}  // namespace dualstruct
