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

    bool opens() const { return true; }
    double loss(double violation) const { return std::max(violation, 0.0); }
    bool admits(Example&, double violation, double admission) const { return violation > admission; }

    // After inference the vertex is what was found (the truth if nothing violates); otherwise the
    // best of the cuts held. Returns the example's share of the duality gap, divided by C.
    double update(Example& example) const {
        example.open();
        const double C = this->C * example.weight;
        const int cuts = example.size();
        int vertex = -1;
        double best = 0, mean = 0;
        for (int k = 0; k < cuts; ++k) {
            const double violation = example.violation(k);
            mean += example.cut(k).alpha * violation;
            const bool candidate = example.decoded ? k == example.found : violation > best;
            if (candidate && violation > 0) {
                best = violation;
                vertex = k;
            }
        }
        const double gap = C * best - mean;
        if (gap <= 0) return 0;
        auto& coefficients = example.scratch.coefficients;
        coefficients.clear();
        for (int k = 0; k < cuts; ++k) coefficients.push_back(example.cut(k).alpha - (k == vertex ? C : 0));
        const double curvature = example.combination_norm2(coefficients);
        const double gamma = curvature > 0 ? std::min(gap / curvature, 1.0) : 1.0;
        for (int k = 0; k < cuts; ++k) {
            double alpha = (1 - gamma) * example.cut(k).alpha + (k == vertex ? gamma * C : 0);
            if (alpha < 1e-9 * C) alpha = 0;  // vertices that were left long ago
            example.set_alpha(k, alpha);
        }
        example.remove_zero_cuts();
        return gap / C;
    }
};

}  // namespace dualstruct
