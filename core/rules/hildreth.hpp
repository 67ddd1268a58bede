// Hildreth's algorithm on the small problem of one example and k of its outputs:
//
//   min_w',ξ≥0  ½‖w' − w‖² + C ξ   subject to  w'·δ_j ≥ Δ_j − ξ          (j = 1 … k)
//   max_α≥0     Σ_j α_j H_j − ½‖Σ_j α_j δ_j‖²   subject to  Σ_j α_j ≤ C,    w' = w + Σ_j α_j δ_j
//
// The slack ξ is one for all k constraints, as the loss is a maximum: that gives the simplex
// Σ_j α_j ≤ C and not a box for each α_j (Martins et al. 2010, eq. (17)). A row action moves one
// multiplier to where its constraint is met with equality; the part of C that no constraint uses
// belongs to the truth, with H = 0 and δ = 0, and when nothing is left there, a row action takes from
// another constraint what it needs. Always the most violated row comes first.
// (Hildreth 1957; Censor & Zenios 1997, chapter 6.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace dualstruct {

// G[j·k + l] = δ_j·δ_l, H[j] = Δ_j − w·δ_j.
inline std::vector<double> hildreth(std::span<const double> G, std::span<const double> H, double C) {
    const std::size_t k = H.size(), truth = k;
    std::vector<double> alpha(k + 1), gradient(H.begin(), H.end());
    alpha[truth] = C;
    gradient.push_back(0);
    auto product = [&](std::size_t a, std::size_t b) { return a == truth || b == truth ? 0.0 : G[a * k + b]; };
    const double enough = 1e-9 * std::max(1.0, *std::max_element(gradient.begin(), gradient.end()));
    for (std::size_t action = 0; action < 1000 * k; ++action) {
        std::size_t up = truth, down = truth;
        for (std::size_t j = 0; j <= k; ++j) {
            if (gradient[j] > gradient[up]) up = j;
            if (alpha[j] > 0 && (alpha[down] <= 0 || gradient[j] < gradient[down])) down = j;
        }
        const double ascent = gradient[up] - gradient[down];
        if (ascent <= enough) break;
        const double curvature = product(up, up) + product(down, down) - 2 * product(up, down);
        // Without curvature the dual rises until the giver has nothing left.
        const double step = curvature > 0 ? std::min(ascent / curvature, alpha[down]) : alpha[down];
        alpha[up] += step;
        alpha[down] -= step;
        for (std::size_t j = 0; j < k; ++j) gradient[j] -= step * (product(j, up) - product(j, down));
    }
    alpha.pop_back();
    return alpha;
}

}  // namespace dualstruct
