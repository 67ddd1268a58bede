// Exponentiated gradient on the dual, one example at a time (Collins et al. 2008, Figure 4).
//
//   max_p  D(p) = C Σ_i (H(p_i)/β + γ E_i Δ_i) − ½(‖w‖² − ‖c‖²),   w = c + C Σ_i E_i δ_i
//
// with C times its weight for each example.
//
// p_i ∝ exp θ_i(y) is log-linear in scores θ_i of the parts that the structure's outputs are made of.
// A step of size η multiplies p_i by exp(η·gradient), which moves the scores of parts:
//
//   θ_i ← (1 − η/β) θ_i + η (w·φ_i + γΔ_i)
//
// At first θ_i = −first_score·Δ_i: close to the truth, where w is close to c. (From uniform p_i the
// frequent features get weights so large that many passes go into taking them back.)
//
// A step from p to p' changes D by
//
//   slope − curvature,   slope = C (p' − p)·(w·φ + γΔ − θ/β),   curvature = C KL(p' ‖ p)/β + ½‖w' − w‖²
//
// which is exact, and each term is as small as the step: the difference of two values of D would be rounding
// long before the optimum. η is halved until D does not fall. That alone would accept a step to the mirror
// image of p_i behind the maximum, and the next one back, forever: so the example's next η aims at the
// maximum of the parabola that slope and curvature describe, at most a little beyond this η.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "learning/examples.hpp"
#include "learning/passes.hpp"
#include "learning/weights.hpp"

namespace dualstruct {

class ExponentiatedGradient {
public:
    ExponentiatedGradient(const Examples& examples, Weights& w, const Weights* center, double C, double inverse_beta,
                          double gamma, double first_step, double first_score);
    ExponentiatedGradient(const ExponentiatedGradient&) = delete;

    // w = c + C Σ_i E_i δ_i and the examples' terms of D, from θ.
    void rebuild() { write(w_); }

    // The same w elsewhere; the iterate stays as it is.
    void write(Weights& out);

    // D(p), where w is what p stands for.
    double dual(const Weights& w) const;
    double dual() const { return dual(w_); }
    const Structure& structure() const { return examples_.structure; }

    PassReport pass(std::uint64_t seed, const Interrupt& interrupt);

    static constexpr int most_halvings = 12;
    static constexpr double rounding = 1e-7;  // of a marginal
    static constexpr double growth = 1.1;  // of a step size that did well (the paper: 1.05)

private:
    const Examples& examples_;
    const Parts& parts_;
    Weights& w_;
    const Weights* center_;
    double C_, inverse_beta_, gamma_;
    std::vector<std::int64_t> offsets_;  // [n + 1] into theta

public:
    std::vector<float> theta;    // scores of all parts, example after example
    std::vector<double> steps;   // η of each example

private:
    struct Measure {
        double value;    // H(p)/β + γ E Δ
        double log_sum;  // of exp θ
    };

    double C_of(std::int64_t i) const { return C_ * examples_.weight(i); }

    std::span<float> scores(std::int64_t i) {
        const auto first = at(offsets_[at(i)]);
        const auto end = at(offsets_[at(i) + 1]);
        return {theta.data() + first, end - first};
    }

    Measure measure(std::int64_t i, std::span<const float> scores, std::vector<float>& marginals,
                    Scratch& scratch) const;

    void update(std::int64_t i, Scratch& scratch);

    std::vector<double> value_;  // H(p_i)/β + γ E_i Δ_i
    std::vector<float> marginals_, trial_marginals_, trial_, gains_, after_gains_, change_;
};

}  // namespace dualstruct
