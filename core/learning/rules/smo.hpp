// Sequential minimal optimisation over one example's cuts, for the hinge loss: Algorithm 2 of
// Balamurugan et al. 2011.
//
//   max_α  Σ_y α_y Δ(y) − ½‖w‖²   with α ≥ 0 and Σ_y α_y = C, the true output included
//
// The pair that violates optimality most, p = argmax F and q = argmin of F where α > 0, exchanges
//
//   d = min(α_q, (F_p − F_q)/‖δ_p − δ_q‖²)
//
// with F(y) = Δ(y) − w·δ(y) at the w of the moment. (The paper's eq. (4.6) has C in the scale of α
// and omits it in the denominator; here α is already C times the paper's.)
#pragma once

#include <algorithm>
#include <limits>

#include "base/index.hpp"
#include "learning/example.hpp"

namespace dualstruct {

// A Block has size(), alpha(p), violation(p), distance2(p, q) and move(p, q, d), which adds d to
// α_p, takes it from α_q and changes the violations; −1 stands for the true output, whose
// violation and δ are 0, and which takes part if holds_truth(). Returns max F − min F where α > 0, as it was found.
template <class Block>
double smo(Block& block, double tolerance, int max_steps) {
    double first = 0;
    for (int step = 0; step < max_steps; ++step) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        int p = block.holds_truth() ? -1 : -2, q = block.alpha(-1) > 0 ? -1 : -2;
        double most = p == -1 ? 0 : -infinity, least = q == -1 ? 0 : infinity;
        for (int k = 0; k < block.size(); ++k) {
            const double F = block.violation(k);
            if (F > most) {
                most = F;
                p = k;
            }
            if (block.alpha(k) > 0 && F < least) {
                least = F;
                q = k;
            }
        }
        const double psi = q == -2 ? 0 : most - least;
        if (step == 0) first = psi;
        if (psi <= tolerance || p == q) break;
        const double curvature = block.distance2(p, q);
        const double d = curvature > 0 ? std::min(block.alpha(q), psi / curvature) : block.alpha(q);
        block.move(p, q, d);
    }
    return first;
}

struct SMORule {
    double C;
    double tolerance = 0;          // τ̃ of Algorithm 2
    double decoded_tolerance = 0;  // τ: an example within it after inference is left alone
    int max_steps = 100;
    bool truth_leaves = false;     // a true output without a share takes part again only where inference finds it

    bool opens() const { return true; }
    double loss(double violation) const { return std::max(violation, 0.0); }

    // ψ_i > τ, line 11 of Algorithm 3.
    bool admits(Example& example, double violation, double tau) const {
        return violation - smallest_active(example) > tau;
    }

    double update(Example& example) const {
        example.open();
        CutBlock block(example, C * example.weight);
        if (truth_leaves) block.has_truth = block.alpha(-1) > 0 || (example.decoded && example.found < 0);
        // Exchanges below the rounding of w would move α without moving w.
        const double exact = std::max(tolerance, block.rounding());
        const double tau = example.decoded ? std::max(decoded_tolerance, exact) : exact;
        const double psi = smo(block, tau, 1);
        if (psi <= tau) return psi;
        smo(block, exact, max_steps - 1);
        example.remove_zero_cuts();
        return psi;
    }

    struct CutBlock {
        CutBlock(Example& example, double C) : example(example), C(C) {}

        int size() const { return example.size(); }
        bool holds_truth() const { return has_truth; }
        double alpha(int k) const {
            if (k >= 0) return example.cut(k).alpha;
            const double left = C - example.sum_alpha;
            return left > 1e-12 * C ? left : 0;  // what rounding leaves is not a share
        }
        double violation(int k) {
            if (!measured) measure();
            return example.scratch.violations[at(k)];
        }
        double distance2(int p, int q) const {
            if (p < 0) return example.norm2(q);
            if (q < 0) return example.norm2(p);
            return example.distance2(p, q);
        }
        void move(int p, int q, double d) {
            const bool empties = q >= 0 && d == example.cut(q).alpha;
            if (p >= 0) example.set_alpha(p, example.cut(p).alpha + d);
            if (q >= 0) example.set_alpha(q, empties ? 0 : example.cut(q).alpha - d);
            measured = false;  // the last move is not looked at any more
        }
        void measure() {
            auto& violations = example.scratch.violations;
            violations.clear();
            for (int k = 0; k < size(); ++k) violations.push_back(example.violation(k));
            measured = true;
        }
        double rounding() const {
            float largest = 1;
            for (int k = 0; k < size(); ++k) largest = std::max(largest, example.cut(k).cost);
            return 2e-7 * largest;
        }

        Example& example;
        double C;
        bool measured = false;
        bool has_truth = true;
    };

    double smallest_active(Example& example) const {
        CutBlock block(example, C * example.weight);
        double least = block.alpha(-1) > 0 ? 0 : std::numeric_limits<double>::infinity();
        for (int k = 0; k < block.size(); ++k) {
            if (block.alpha(k) > 0) least = std::min(least, block.violation(k));
        }
        return least == std::numeric_limits<double>::infinity() ? 0 : least;
    }
};

// Leaves the duals alone: a revisit with it measures ψ̂_i, max F − min F over the outputs with a share, eq. (4.9).
struct SMOSpreadRule : SMORule {
    double update(Example& example) const {
        CutBlock block(example, C * example.weight);
        const double infinity = std::numeric_limits<double>::infinity();
        const bool truth = block.alpha(-1) > 0;
        double most = truth ? 0 : -infinity, least = truth ? 0 : infinity;
        for (int k = 0; k < block.size(); ++k) {
            if (block.alpha(k) <= 0) continue;
            most = std::max(most, block.violation(k));
            least = std::min(least, block.violation(k));
        }
        return most > least ? most - least : 0;
    }
};

// Leaves the duals alone: a visit with it only gathers cuts, at a fixed w. Returns ψ_i.
struct SMOGatherRule : SMORule {
    double update(Example& example) const {
        const double F = example.found >= 0 ? example.violation(example.found) : 0;
        return F - smallest_active(example);
    }
};

}  // namespace dualstruct
