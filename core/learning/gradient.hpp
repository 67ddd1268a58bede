// Σ_i weight_i ℓ_i(w) and its gradient, over all examples at a fixed w.
//
//   softmax_margin(β, γ)  ∇ℓ_i = −(φ_i(y_i) − E φ_i(y)),   p(y) ∝ exp β(w·φ_i(y) + γΔ_i(y))
//
// What is added up is −∇, the descent: Σ_i E δ_i, which is also the w that the duals C·p_i stand for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "learning/examples.hpp"
#include "learning/passes.hpp"
#include "learning/range_sums.hpp"
#include "learning/weights.hpp"

namespace dualstruct {

// Adds up losses and −∇ on several threads. From two threads on the sums are the same on any number of them.
class GradientPass {
public:
    GradientPass(const Examples& examples, int threads);
    GradientPass(const GradientPass&) = delete;

    const Structure& structure() const { return examples_.structure; }

    // Returns Σ_i weight_i ℓ_i(w); descent = −∇ of it. Both mean nothing after an interrupt.
    double run(const Weights& w, Weights& descent, double beta, double gamma, const Interrupt& interrupt);

private:
    const Examples& examples_;
    int threads_;
    RangeSums sums_;
    std::vector<std::unique_ptr<Scratch>> scratch_;
};

}  // namespace dualstruct
