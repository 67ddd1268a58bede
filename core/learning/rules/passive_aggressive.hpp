// Passive-aggressive steps: stay close to w, but pay at most what C allows for one example.
//
//   min_w'  ½‖w' − w‖² + C (ℓ(w) + ∇ℓ(w)·(w' − w))₊      gives   w' = w − min(C, ℓ(w)/‖∇ℓ(w)‖²) ∇ℓ(w)
//
// (Crammer et al. 2006; Martins et al. 2010, eq. (13) and (14), where C is 1/(λm).)
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "learning/online.hpp"
#include "learning/rules/hildreth.hpp"

namespace dualstruct {

inline double passive_aggressive_step(double C, double loss, double norm2) {
    return norm2 > 0 ? std::min(C, loss / norm2) : 0;
}

// ℓ = max_y cost_weight·Δ(y) − w·δ(y), whose gradient is that of one output: MIRA, and dual
// coordinate ascent at β = ∞. With k > 1 the constraints of the k best outputs hold together. Outputs are looked for
// with a weight of the cost of its own: 0 takes what the model predicts.
struct PassiveAggressiveStep : SingleStep, DecodingStep {
    double C;
    double cost_weight;
    int k;
    double search_weight;
    std::int64_t clamped = 0;  // examples whose estimated loss was negative and is taken for 0

    PassiveAggressiveStep(double C, double cost_weight, int k, double search_weight)
        : C(C), cost_weight(cost_weight), k(k), search_weight(search_weight) {}

    double meet(ExampleStep& example) {
        if (k > 1) return meet_best(example);
        double loss = example.find(search_weight);  // negative where an approximate decoder missed the truth
        if (search_weight != cost_weight && !example.found.is_truth) {
            loss = example.violation(example.found, cost_weight);
        }
        clamped += loss < 0;
        if (loss > 0) {
            const double step = passive_aggressive_step(C * example.weight, loss, example.norm2(example.found));
            example.w.add(example.i, example.found.codes, step);
        }
        return loss < 0 ? 0 : loss;
    }

private:
    double meet_best(ExampleStep& example) {
        const auto best = example.find_best(search_weight, k);
        const std::size_t m = best.size();
        std::vector<double> H(m), G(m * m);
        double loss = 0;
        for (std::size_t a = 0; a < m; ++a) {
            H[a] = example.violation(best[a], cost_weight);
            loss = a ? std::max(loss, H[a]) : H[a];
        }
        if (loss <= 0) return 0;  // the truth is among the k best, or nothing else is as good
        for (std::size_t a = 0; a < m; ++a) {
            for (std::size_t b = a; b < m; ++b) {
                G[a * m + b] = G[b * m + a] =
                    example.w.structure.inner(example.i, best[a].codes, best[b].codes, example.scratch);
            }
        }
        const auto alpha = hildreth(G, H, C * example.weight);
        for (std::size_t a = 0; a < m; ++a) {
            if (alpha[a] > 0) example.w.add(example.i, best[a].codes, alpha[a]);
        }
        return loss;
    }
};

// ℓ = (1/β) log Σ_y exp β(γΔ(y) − w·δ(y)), whose gradient is an expectation: dual coordinate ascent.
struct ExpectedPassiveAggressiveStep : SingleStep, ExpectedStep {
    double C, beta, gamma;
    std::int64_t clamped = 0;  // examples whose estimated loss was negative and is taken for 0

    ExpectedPassiveAggressiveStep(double C, double beta, double gamma) : C(C), beta(beta), gamma(gamma) {}

    double meet(ExampleStep& example) {
        const double loss = example.log_loss(beta, gamma);
        clamped += loss < 0;
        if (!(loss > 0)) return loss < 0 ? 0 : loss;  // NaN is passed on
        const double norm2 = example.w.structure.expectations()->expected_difference_norm2(example.i, example.scratch);
        const double step = passive_aggressive_step(C * example.weight, loss, norm2);
        if (step > 0) example.w.add_expected(example.i, step, example.scratch);
        return loss;
    }
};

}  // namespace dualstruct
