#include "learning/rules/hildreth.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/index.hpp"

namespace dualstruct {

std::vector<double> hildreth(std::span<const double> G, std::span<const double> H, double C) {
    const std::size_t k = H.size(), truth = k;
    std::vector<double> alpha(k + 1), gradient(H.begin(), H.end());
    alpha[truth] = C;
    gradient.push_back(0);
    auto product = [&](std::size_t a, std::size_t b) { return a == truth || b == truth ? 0.0 : G[a * k + b]; };
    const double enough = 1e-9 * std::max(1.0, *std::max_element(gradient.begin(), gradient.end()));
    auto curvature = [&](std::size_t a, std::size_t b) { return product(a, a) + product(b, b) - 2 * product(a, b); };
    std::vector<double> before = alpha, direction(k + 1), bent(k + 1);
    // Along alpha − before: exactly as far as the dual rises and alpha stays at least 0.
    auto extrapolate = [&] {
        double slope = 0, bend = 0, farthest = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j <= k; ++j) direction[j] = alpha[j] - before[j];
        for (std::size_t j = 0; j <= k; ++j) {
            bent[j] = 0;
            for (std::size_t l = 0; l <= k; ++l) bent[j] += product(j, l) * direction[l];
            slope += gradient[j] * direction[j];
            bend += bent[j] * direction[j];
            if (direction[j] < 0) farthest = std::min(farthest, -alpha[j] / direction[j]);
        }
        const double step = bend * farthest > slope ? slope / bend : farthest;
        if (slope > 0 && std::isfinite(step)) {
            for (std::size_t j = 0; j <= k; ++j) {
                alpha[j] = std::max(alpha[j] + step * direction[j], 0.0);
                gradient[j] -= step * bent[j];
            }
        }
        before = alpha;
    };
    for (std::size_t action = 0; action < 1000 * k; ++action) {
        if (action % (2 * k + 2) == 2 * k + 1) extrapolate();
        const auto up = at(std::max_element(gradient.begin(), gradient.end()) - gradient.begin());
        std::size_t down = up;
        double largest = 0, best = 0;
        for (std::size_t j = 0; j <= k; ++j) {
            const double ascent = gradient[up] - gradient[j];
            if (alpha[j] <= 0 || ascent <= 0) continue;
            largest = std::max(largest, ascent);
            const double gain = ascent * ascent / std::max(curvature(up, j), 1e-12);
            if (gain > best) best = gain, down = j;
        }
        if (largest <= enough) break;
        const double ascent = gradient[up] - gradient[down], bend = curvature(up, down);
        // Without curvature the dual rises until the giver has nothing left.
        const double step = bend > 0 ? std::min(ascent / bend, alpha[down]) : alpha[down];
        alpha[up] += step;
        alpha[down] -= step;
        for (std::size_t j = 0; j < k; ++j) gradient[j] -= step * (product(j, up) - product(j, down));
    }
    alpha.pop_back();
    return alpha;
}

}  // namespace dualstruct
