#include "learning/exponentiated_gradient.hpp"

#include <algorithm>
#include <cmath>

#include "base/index.hpp"
#include "base/random.hpp"

namespace dualstruct {

static double inner(std::span<const float> a, std::span<const float> b) {
    double total = 0;
    for (std::size_t k = 0; k < a.size(); ++k) total += double{a[k]} * b[k];
    return total;
}

ExponentiatedGradient::ExponentiatedGradient(const Examples& examples, Weights& w, const Weights* center, double C,
                                             double inverse_beta, double gamma, double first_step, double first_score)
    : examples_(examples), parts_(parts_of(examples.structure)), w_(w), center_(center), C_(C),
      inverse_beta_(inverse_beta), gamma_(gamma), offsets_(at(examples.size()) + 1),
      steps(at(examples.size()), first_step), value_(at(examples.size())) {
    for (std::int64_t i = 0; i < examples.size(); ++i) {
        offsets_[at(i) + 1] = offsets_[at(i)] + parts_.part_count(examples_[i]);
    }
    theta.resize(at(offsets_.back()));
    std::fill_n(w_.data(), w_.dimension(), 0.0f);
    for (std::int64_t i = 0; i < examples.size(); ++i)
        parts_.part_scores(w_.data(), examples_[i], -first_score, scores(i));
    rebuild();
}

void ExponentiatedGradient::write(Weights& out) {
    out.start_from(center_);
    const auto scratch = structure().make_scratch();
    std::vector<float> marginals;
    for (std::int64_t i = 0; i < examples_.size(); ++i) {
        value_[at(i)] = measure(i, scores(i), marginals, *scratch).value;
        add_part_difference(structure(), out.data(), examples_[i], marginals, static_cast<float>(C_of(i)), *scratch);
    }
    structure().derive(out.data());
}

double ExponentiatedGradient::dual(const Weights& w) const {
    double total = 0;
    for (std::size_t i = 0; i < value_.size(); ++i) total += C_of(static_cast<std::int64_t>(i)) * value_[i];
    return total - 0.5 * (w.squared_norm() - (center_ ? center_->squared_norm() : 0));
}

PassReport ExponentiatedGradient::pass(std::uint64_t seed, const Interrupt& interrupt) {
    PassReport report;
    const auto order = shuffled_order(examples_.size(), seed);
    const auto scratch = structure().make_scratch();
    for (std::size_t q = 0; q < order.size(); ++q) {
        if (interrupt()) break;
        update(order[q], *scratch);
        ++report.inferences;
    }
    return report;
}

ExponentiatedGradient::Measure ExponentiatedGradient::measure(std::int64_t i, std::span<const float> scores,
                                                              std::vector<float>& marginals, Scratch& scratch) const {
    marginals.resize(scores.size());
    const double log_sum = parts_.part_marginals(examples_[i], scores, marginals, scratch);
    const double cost = parts_.expected_part_cost(examples_[i], marginals);
    return {inverse_beta_ * (log_sum - inner(scores, marginals)) + gamma_ * cost, log_sum};
}

void ExponentiatedGradient::update(std::int64_t i, Scratch& scratch) {
    const std::span<float> old = scores(i);
    const std::size_t parts = old.size();
    const double C = C_of(i);
    double& step = steps[at(i)];
    const Measure before = measure(i, old, marginals_, scratch);
    gains_.resize(parts);
    parts_.part_scores(w_.data(), examples_[i], gamma_, gains_);
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
        parts_.add_parts(w_.data(), examples_[i], change_, static_cast<float>(C));
        parts_.part_scores(w_.data(), examples_[i], gamma_, after_gains_);
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
            value_[at(i)] = after.value;
            return;
        }
        parts_.add_parts(w_.data(), examples_[i], change_, -static_cast<float>(C));
        step = eta / 2;
    }
    step *= 1 << most_halvings;  // nothing to gain here and now; later there may be
}

}  // namespace dualstruct
