// Block-coordinate Frank-Wolfe on the dual of the hinge loss: Algorithm 4 of Lacoste-Julien et al.
// 2013, with the cuts of an example as the vertices of its simplex.
//
// Towards the vertex v that maximises F(y) = Δ(y) − w·δ(y), by exact line search:
//
//   γ = clip((C F(v) − Σ_y α_y F(y)) / ‖w_i − C δ(v)‖², 0, 1),   w_i = Σ_y α_y δ(y)
//   α ← (1 − γ) α + γ C e_v
#pragma once

#include <algorithm>

#include "learning/example.hpp"

namespace dualstruct {

struct FrankWolfeRule {
    double C;

    double loss(double violation) const { return std::max(violation, 0.0); }
    bool admits(Example&, double violation, double admission) const { return violation > admission; }

    // After inference the vertex is what was found (the truth if nothing violates); otherwise the
    // best of the cuts held. Returns the example's share of the duality gap, divided by C.
    double update(Example& example) const {
        const double C = this->C * example.weight;
        auto& cuts = example.cuts();
        auto& violations = example.scratch.violations;
        violations.clear();
        const Cut* vertex = nullptr;
        double best = 0, mean = 0;
        for (Cut* cut : cuts) {
            violations.push_back(example.violation(*cut));
            mean += cut->alpha * violations.back();
            const bool candidate = example.decoded ? cut == example.found : violations.back() > best;
            if (candidate && violations.back() > 0) {
                best = violations.back();
                vertex = cut;
            }
        }
        const double gap = C * best - mean;
        if (gap <= 0) return 0;
        auto& terms = example.scratch.terms;
        terms.clear();
        for (const Cut* cut : cuts) terms.push_back({cut->codes(), cut->alpha - (cut == vertex ? C : 0)});
        const double curvature = example.combination_norm2(terms);
        const double gamma = curvature > 0 ? std::min(gap / curvature, 1.0) : 1.0;
        bool zeros = false;
        for (Cut* cut : cuts) {
            double alpha = (1 - gamma) * cut->alpha + (cut == vertex ? gamma * C : 0);
            if (alpha < 1e-9 * C) alpha = 0;  // vertices that were left long ago
            example.set_alpha(*cut, alpha);
            zeros = zeros || alpha == 0;
        }
        if (zeros) example.remove_zero_cuts();
        return gap / C;
    }
};

}  // namespace dualstruct
