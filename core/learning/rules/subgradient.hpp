// Stochastic (sub)gradient steps on λ/2‖w‖² + (1/n) Σ_i ℓ_i(w) = P(w)/(C n), with λ = 1/(C n):
//
//   w ← (1 − η_t λ) w − η_t weight_i ∇ℓ_i(w)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/index.hpp"
#include "learning/online.hpp"

namespace dualstruct {

// η = η0/(1 + decay·T)^power after T steps, but at most 1/λ: a longer step would leave the
// regulariser's minimum behind.
struct Schedule {
    double lambda, eta0, decay, power;
    std::int64_t steps;  // T

    double next() {
        const double eta = eta0 / std::pow(1 + decay * static_cast<double>(steps++), power);
        return std::min(eta, 1 / lambda);
    }
    // 1 − ηλ, whatever rounding says.
    double kept(double eta) const { return std::max(1 - eta * lambda, 0.0); }
};

// Hinge losses: ℓ = H or H² with H = max_y H_i(y).
struct SubgradientStep : SingleStep, DecodingStep {
    Schedule schedule;
    bool squared;

    SubgradientStep(Schedule schedule, bool squared) : schedule(schedule), squared(squared) {}

    double meet(ExampleStep& example) {
        const double H = std::max(example.find(1), 0.0);
        const double eta = schedule.next();
        example.w.shrink(schedule.kept(eta));
        if (H > 0) example.w.add(example.i, example.found.codes, example.weight * (squared ? 2 * H * eta : eta));
        return squared ? H * H : H;
    }
};

// ℓ = (1/β) log Σ_y exp β(γΔ(y) − w·δ(y)).
struct ExpectedGradientStep : SingleStep, ExpectedStep {
    Schedule schedule;
    double beta, gamma;

    ExpectedGradientStep(Schedule schedule, double beta, double gamma) : schedule(schedule), beta(beta), gamma(gamma) {}

    double meet(ExampleStep& example) {
        const double loss = example.log_loss(beta, gamma);
        const double eta = schedule.next();
        example.w.shrink(schedule.kept(eta));
        if (eta > 0) example.w.add_expected(example.i, example.weight * eta, example.scratch);
        return loss;
    }
};

// ℓ = (1/β) log E exp βγΔ(y), p(y) ∝ exp β w·φ(y): the difference of two losses, (β, γ) and (β, 0), and so is ∇ℓ.
// (Martins et al. 2010, footnote 1: at β = γ = 1 a bound of the risk E Δ(y).)
struct RiskBoundStep : SingleStep, ExpectedStep {
    Schedule schedule;
    double beta, gamma;

    RiskBoundStep(Schedule schedule, double beta, double gamma) : schedule(schedule), beta(beta), gamma(gamma) {}

    double meet(ExampleStep& example) {
        if (!other_) other_ = example.w.structure.make_scratch();
        const double costed = example.log_loss(beta, gamma, example.scratch);
        const double plain = example.log_loss(beta, 0, *other_);
        const double eta = schedule.next();
        example.w.shrink(schedule.kept(eta));
        if (eta > 0) {
            example.w.add_expected(example.i, example.weight * eta, example.scratch);
            example.w.add_expected(example.i, -example.weight * eta, *other_);
        }
        return costed - plain;
    }

private:
    std::shared_ptr<Scratch> other_;
};

// Where max_y (cost_weight·Δ_i(y) − w·δ_i(y)) is reached and positive, at one w: the tangents of a concave part.
class FixedOutputs {
public:
    FixedOutputs(const Examples& examples, const Weights& w, double cost_weight) {
        const Structure& structure = examples.structure;
        const auto scratch = structure.make_scratch();
        of_.resize(at(structure.size()));
        Difference found;
        for (std::int64_t place = 0; place < examples.size(); ++place) {
            const std::int64_t i = examples[place];
            structure.decode(w.data(), i, static_cast<float>(cost_weight), *scratch);
            structure.difference(i, scratch->output, found);
            if (found.is_truth || !(cost_weight * found.cost - structure.dot(w.data(), i, found.codes) > 0)) continue;
            of_[at(i)] = found;
            ++size_;
        }
    }
    const std::optional<Difference>& of(std::int64_t i) const { return of_[at(i)]; }
    std::int64_t size() const { return size_; }

private:
    std::vector<std::optional<Difference>> of_;  // [examples of the structure]
    std::int64_t size_ = 0;
};

// Pegasos (Shalev-Shwartz et al. 2011): η_t = 1/(λt), the mean subgradient of a batch, and if asked
// for the projection on ‖w‖ ≤ radius. For the ramp the concave part's subgradient comes in with the
// other sign: where its maximum is now, or (CCCP) where it was when `fixed` was made.
struct PegasosStep : DecodingStep {
    double lambda;
    std::int64_t batch;
    std::int64_t steps;                 // done before
    std::optional<double> radius;       // none: no projection
    std::optional<double> concave;      // the cost weight of the ramp's second part; none: hinge
    const FixedOutputs* fixed;          // that part's tangents

    PegasosStep(double lambda, std::int64_t batch, std::int64_t steps, std::optional<double> radius,
                std::optional<double> concave, const FixedOutputs* fixed)
        : lambda(lambda), batch(batch), steps(steps), radius(radius), concave(concave), fixed(fixed) {}

    double meet(ExampleStep& example) {
        ++met_;
        double loss = std::max(example.find(1), 0.0);
        if (loss > 0) gather(example, 1);
        if (concave && fixed) {
            if (const auto& held = fixed->of(example.i)) {
                example.found = *held;
                loss -= example.violation(example.found, *concave);
                gather(example, -1);
            }
        } else if (concave) {
            const double given_up = std::max(example.find(*concave), 0.0);
            if (given_up > 0) gather(example, -1);
            loss -= given_up;
        }
        return loss;
    }

    bool finish(ScaledWeights& w, bool last) {
        if (met_ < batch && !last) return false;
        const auto t = static_cast<double>(++steps);
        if (radius && !norm2_) norm2_ = w.squared_norm();
        shrink(w, 1 - 1 / t);
        for (std::size_t g = 0; g < gathered_; ++g) {
            const Part& part = parts_[g];
            const double step = part.sign / (lambda * t * static_cast<double>(met_));
            if (radius) {
                *norm2_ += step * (2 * w.dot(part.i, part.difference.codes) + step * part.norm2);
            }
            w.add(part.i, part.difference.codes, step);
        }
        if (radius && *norm2_ > *radius * *radius) shrink(w, *radius / std::sqrt(*norm2_));
        met_ = 0;
        gathered_ = 0;
        return true;
    }

private:
    struct Part {
        std::int64_t i;
        double sign;  // times the example's weight
        double norm2;
        Difference difference;
    };

    void gather(ExampleStep& example, double sign) {
        if (gathered_ == parts_.size()) parts_.emplace_back();
        const double norm2 = radius ? example.norm2(example.found) : 0;
        Part& part = parts_[gathered_++];
        part.i = example.i;
        part.sign = sign * example.weight;
        part.norm2 = norm2;
        std::swap(part.difference, example.found);
    }

    void shrink(ScaledWeights& w, double factor) {
        w.shrink(factor);
        if (norm2_) *norm2_ *= factor * factor;
    }

    std::vector<Part> parts_;     // of the batch under way; kept for their buffers
    std::size_t gathered_ = 0;
    std::int64_t met_ = 0;
    std::optional<double> norm2_;  // ‖w‖², kept up from the pass's first step on
};

}  // namespace dualstruct
