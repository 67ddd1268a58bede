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
    static constexpr double enough = 0.3;        // of the first round's largest gradient: below it no further round
    static constexpr double worth_a_cut = 0.02;  // of the cost of an output made of parts of cuts: its least gradient
    double C;
    int rounds = 1;  // how often an example's cuts are gone through at a time

    bool opens() const { return rounds > 1; }

    double loss(double violation) const { return violation > 0 ? violation * violation : 0; }

    // The gradient of the dual in α_iy.
    double gradient(const Example& example, double violation) const {
        return violation - example.sum_alpha / (2 * C * example.weight);
    }

    bool admits(Example& example, double violation, double admission) const {
        return gradient(example, violation) >= admission;
    }

    // Line 1–7. Further rounds come where the example can be opened, and end once they gain little. Returns the largest
    // projected gradient of the first.
    double update(Example& example) const {
        example.open();
        example.add_recombined([&](const Difference& found, double violation) {
            return gradient(example, violation) > worth_a_cut * found.cost;
        });
        const auto& order = example.newest_first();
        const double first = round(example, order);
        for (int k = 1; k < rounds && example.is_open() && round(example, order) > enough * first; ++k) continue;
        example.remove_zero_cuts();
        return first;
    }

    double round(Example& example, const std::vector<int>& order) const {
        double largest = 0;
        for (int k : order) {
            const Cut& cut = example.cut(k);
            const double ascent = gradient(example, example.violation(k));
            largest = std::max(largest, cut.alpha > 0 ? std::abs(ascent) : ascent);
            // Steps below the rounding of w would move α without moving w.
            if (std::abs(ascent) > rounding * std::max(1.0f, cut.cost)) {
                const double d = ascent / (example.norm2(k) + 1 / (2 * C * example.weight));
                example.set_alpha(k, std::max(cut.alpha + d, 0.0));
            }
        }
        return largest;
    }
};

// Leaves the duals alone: a visit with it only gathers cuts, at a fixed w, and reports how much
// the best new cut promises.
struct GatherRule : DCDRule {
    double update(Example& example) const {
        if (example.found < 0) return 0;
        return std::max(gradient(example, example.violation(example.found)), 0.0);
    }
};

}  // namespace dualstruct
