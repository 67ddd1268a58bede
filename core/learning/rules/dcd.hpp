// Dual coordinate descent on the squared hinge loss: Algorithm 1 of Chang & Yih 2013.
//
//   max_α≥0  Σ_iy α_iy Δ_i(y) − ½‖Σ_iy α_iy δ_i(y)‖² − (1/4C) Σ_i (Σ_y α_iy)²
//
// with C times its weight for each example.
#pragma once

#include <algorithm>
#include <cmath>

#include "learning/example.hpp"

namespace dualstruct {

struct DCDRule {
    static constexpr double rounding = 1e-7;
    double C;

    double loss(double violation) const { return violation > 0 ? violation * violation : 0; }

    // The gradient of the dual in α_iy.
    double gradient(const Example& example, double violation) const {
        return violation - example.sum_alpha / (2 * C * example.weight);
    }

    bool admits(Example& example, double violation, double admission) const {
        return gradient(example, violation) >= admission;
    }

    // Line 1–7. Returns the largest projected gradient met.
    double update(Example& example) const {
        double largest = 0;
        bool zeros = false;
        for (Cut* cut : example.newest_first()) {
            const double ascent = gradient(example, example.violation(*cut));
            largest = std::max(largest, cut->alpha > 0 ? std::abs(ascent) : ascent);
            // Steps below the rounding of w would move α without moving w.
            if (std::abs(ascent) > rounding * std::max(1.0f, cut->cost)) {
                const double d = ascent / (cut->norm2 + 1 / (2 * C * example.weight));
                example.set_alpha(*cut, std::max(cut->alpha + d, 0.0));
            }
            zeros = zeros || cut->alpha == 0;
        }
        if (zeros) example.remove_zero_cuts();
        return largest;
    }
};

// Leaves the duals alone: a visit with it only gathers cuts, at a fixed w, and reports how much
// the best new cut promises.
struct GatherRule : DCDRule {
    double update(Example& example) const {
        if (!example.found) return 0;
        return std::max(gradient(example, example.violation(*example.found)), 0.0);
    }
};

}  // namespace dualstruct
