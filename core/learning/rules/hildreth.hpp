// Hildreth's algorithm on the small problem of one example and k of its outputs:
//
//   min_w',ξ≥0  ½‖w' − w‖² + C ξ   subject to  w'·δ_j ≥ Δ_j − ξ          (j = 1 … k)
//   max_α≥0     Σ_j α_j H_j − ½‖Σ_j α_j δ_j‖²   subject to  Σ_j α_j ≤ C,    w' = w + Σ_j α_j δ_j
//
// The slack ξ is one for all k constraints, as the loss is a maximum: that gives the simplex
// Σ_j α_j ≤ C and not a box for each α_j (Martins et al. 2010, eq. (17)). A row action moves one
// multiplier to where its constraint is met with equality; the part of C that no constraint uses
// belongs to the truth, with H = 0 and δ = 0, and when nothing is left there, a row action takes from
// another constraint what it needs. Always the most violated row comes first, and takes from where it
// gains most (Fan, Chen & Lin 2005). Rows that pull against each other rise together by tiny steps: so
// what a round of actions has changed is from time to time taken as one direction, and followed as far
// as the dual rises. (Hildreth 1957; Censor & Zenios 1997, chapter 6.)
#pragma once

#include <span>
#include <vector>

namespace dualstruct {

// G[j·k + l] = δ_j·δ_l, H[j] = Δ_j − w·δ_j.
std::vector<double> hildreth(std::span<const double> G, std::span<const double> H, double C);

}  // namespace dualstruct
