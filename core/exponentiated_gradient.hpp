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
// image of p_i behind the maximum, and the next one back, for ever: so the example's next η aims at the
// maximum of the parabola that slope and curvature describe, at most a little beyond this η.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "passes.hpp"
#include "random.hpp"
#include "structure.hpp"
#include "weights.hpp"

namespace dualstruct {

class ExponentiatedGradient {
public:
    ExponentiatedGradient(const Structure& structure, Weights& w, const Weights* center, double C,
                          double inverse_beta, double gamma, double first_step, double first_score)
        : structure_(structure), w_(w), center_(center), C_(C), inverse_beta_(inverse_beta), gamma_(gamma),
          offsets_(static_cast<std::size_t>(structure.size()) + 1),
          steps(static_cast<std::size_t>(structure.size()), first_step),
          value_(static_cast<std::size_t>(structure.size())) {
        for (std::int64_t i = 0; i < structure.size(); ++i) {
            offsets_[static_cast<std::size_t>(i) + 1] = offsets_[static_cast<std::size_t>(i)] + structure.parts(i);
        }
        theta.resize(static_cast<std::size_t>(offsets_.back()));
        std::fill_n(w_.data(), w_.dimension(), 0.0f);
        for (std::int64_t i = 0; i < structure.size(); ++i) structure.part_scores(w_.data(), i, -first_score, scores(i));
        rebuild();
    }
    ExponentiatedGradient(const ExponentiatedGradient&) = delete;

    // w = c + C Σ_i E_i δ_i and the examples' terms of D, from θ.
    void rebuild() { write(w_); }

    // The same w elsewhere; the iterate stays as it is.
    void write(Weights& out) {
        out.start_from(center_);
        const auto scratch = structure_.make_scratch();
        std::vector<float> marginals;
        for (std::int64_t i = 0; i < structure_.size(); ++i) {
            value_[static_cast<std::size_t>(i)] = measure(i, scores(i), marginals, *scratch).value;
            structure_.add_part_difference(out.data(), i, marginals, static_cast<float>(C_of(i)));
        }
        structure_.derive(out.data());
    }

    // D(p), where w is what p stands for.
    double dual(const Weights& w) const {
        double total = 0;
        for (std::size_t i = 0; i < value_.size(); ++i) total += C_of(static_cast<std::int64_t>(i)) * value_[i];
        return total - 0.5 * (w.squared_norm() - (center_ ? center_->squared_norm() : 0));
    }
    double dual() const { return dual(w_); }
    const Structure& structure() const { return structure_; }

    PassReport pass(std::uint64_t seed, const Interrupt& interrupt) {
        PassReport report;
        const auto order = shuffled_order(structure_.size(), seed);
        const auto scratch = structure_.make_scratch();
        for (std::size_t q = 0; q < order.size(); ++q) {
            if (interrupt()) break;
            update(order[q], *scratch);
            ++report.inferences;
        }
        return report;
    }

    static constexpr int most_halvings = 12;
    static constexpr double rounding = 1e-7;  // of a marginal
    static constexpr double growth = 1.1;  // of a step size that did well (the paper: 1.05)

private:
    const Structure& structure_;
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

    double C_of(std::int64_t i) const { return C_ * structure_.weight(i); }

    std::span<float> scores(std::int64_t i) {
        const auto first = static_cast<std::size_t>(offsets_[static_cast<std::size_t>(i)]);
        const auto end = static_cast<std::size_t>(offsets_[static_cast<std::size_t>(i) + 1]);
        return {theta.data() + first, end - first};
    }

    static double inner(std::span<const float> a, std::span<const float> b) {
        double total = 0;
        for (std::size_t k = 0; k < a.size(); ++k) total += double{a[k]} * b[k];
        return total;
    }

    Measure measure(std::int64_t i, std::span<const float> scores, std::vector<float>& marginals, Scratch& scratch) const {
        marginals.resize(scores.size());
        const double log_sum = structure_.part_marginals(i, scores, marginals, scratch);
        const double cost = structure_.expected_part_cost(i, marginals);
        return {inverse_beta_ * (log_sum - inner(scores, marginals)) + gamma_ * cost, log_sum};
    }

    void update(std::int64_t i, Scratch& scratch) {
        const std::span<float> old = scores(i);
        const std::size_t parts = old.size();
        const double C = C_of(i);
        double& step = steps[static_cast<std::size_t>(i)];
        const Measure before = measure(i, old, marginals_, scratch);
        gains_.resize(parts);
        structure_.part_scores(w_.data(), i, gamma_, gains_);
        trial_.resize(parts);
        change_.resize(parts);
        after_gains_.resize(parts);
        for (int halving = 0; halving < most_halvings; ++halving) {
            const double eta = std::min(step, 1 / inverse_beta_);
            const auto kept = static_cast<float>(1 - eta * inverse_beta_), moved = static_cast<float>(eta);
            for (std::size_t k = 0; k < parts; ++k) trial_[k] = kept * old[k] + moved * gains_[k];
            const Measure after = measure(i, trial_, trial_marginals_, scratch);
            // E_new δ − E_old δ = E_old φ − E_new φ.
            for (std::size_t k = 0; k < parts; ++k) change_[k] = marginals_[k] - trial_marginals_[k];
            structure_.add_parts(w_.data(), i, change_, static_cast<float>(C));
            structure_.part_scores(w_.data(), i, gamma_, after_gains_);
            double slope = 0, noise = 0, divergence = before.log_sum - after.log_sum, both = 0, length = 0;
            for (std::size_t k = 0; k < parts; ++k) {
                const double gradient = gains_[k] - inverse_beta_ * old[k], by = double{trial_[k]} - old[k];
                slope -= C * change_[k] * gradient;
                noise += C * rounding * (marginals_[k] + trial_marginals_[k]) * std::abs(gradient);
                divergence += trial_marginals_[k] * by;  // KL(p' ‖ p)
                both -= change_[k] * by;                 // KL(p' ‖ p) + KL(p ‖ p')
                length += C * change_[k] * (double{after_gains_[k]} - gains_[k]);  // ‖w' − w‖²
            }
            divergence = std::clamp(divergence, 0.0, std::max(both, 0.0));
            const double curvature = C * inverse_beta_ * divergence + 0.5 * std::max(length, 0.0);
            if (slope - curvature >= -noise) {
                // D(p + t(p' − p)) ≈ D(p) + slope·t − curvature·t² is largest at t = slope / 2 curvature.
                const bool overshot = slope > noise && slope < 2 * growth * curvature;
                step = eta * (overshot ? std::max(slope / (2 * curvature), 0.5) : growth);
                std::copy(trial_.begin(), trial_.end(), old.begin());
                value_[static_cast<std::size_t>(i)] = after.value;
                return;
            }
            structure_.add_parts(w_.data(), i, change_, -static_cast<float>(C));
            step = eta / 2;
        }
        step *= 1 << most_halvings;  // nothing to gain here and now; later there may be
    }

    std::vector<double> value_;  // H(p_i)/β + γ E_i Δ_i
    std::vector<float> marginals_, trial_marginals_, trial_, gains_, after_gains_, change_;
};

}  // namespace dualstruct
