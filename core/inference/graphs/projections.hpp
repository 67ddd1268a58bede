// Euclidean projections onto the hulls of small logic factors, in closed form (Martins et al. 2015, §4 and
// appendix), and their maxima.
#pragma once

#include <algorithm>
#include <span>

namespace dualstruct::graphs {

inline double clip(double value) { return std::clamp(value, 0.0, 1.0); }

// max score·min(a, b) − ½‖(a, b) − z‖² over a, b in [0, 1] for score ≥ 0, and its like for score < 0,
// where both on have the score.
void project_pair(double score, std::span<double> z);

// Onto { 0 ≤ q ≤ 1, least ≤ Σ q ≤ most }; `work` has room for 2 z.size().
void project_count(std::span<double> z, int least, int most, std::span<double> work);

// Onto the hull of { the last is on exactly when one of the others is }.
void project_or_out(std::span<double> z, std::span<double> work);

// The largest sums of scores that are on. `work` as above.
double maximise_count(std::span<const double> scores, int least, int most, std::span<double> work);
double maximise_or_out(std::span<const double> scores);

}  // namespace dualstruct::graphs
