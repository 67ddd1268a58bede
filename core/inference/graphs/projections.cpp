#include "inference/graphs/projections.hpp"

#include <cmath>
#include <functional>
#include <limits>

#include "base/index.hpp"

namespace dualstruct::graphs {

void project_pair(double score, std::span<double> z) {
    // A negative score is a positive one for (a, not b).
    const bool negative = score < 0;
    double a = z[0], b = z[1];
    if (negative) {
        a += score;
        b = 1 - b;
        score = -score;
    }
    if (a > b + score) {
        b += score;
    } else if (b > a + score) {
        a += score;
    } else {
        a = b = (a + b + score) / 2;
    }
    z[0] = clip(a);
    z[1] = negative ? 1 - clip(b) : clip(b);
}

namespace {

// Subtracts the one number from all that makes the clipped values add up to `sum`.
void shift_to_sum(std::span<double> z, double sum, std::span<double> work) {
    // As a function of the shift the sum falls piecewise linearly, with a corner where a value enters (z) or
    // leaves (z − 1) the inside of [0, 1].
    const std::size_t n = z.size();
    for (std::size_t k = 0; k < n; ++k) {
        work[k] = z[k];
        work[n + k] = z[k] - 1;
    }
    std::sort(work.begin(), work.begin() + static_cast<std::ptrdiff_t>(n), std::greater<>());
    std::sort(work.begin() + static_cast<std::ptrdiff_t>(n), work.begin() + static_cast<std::ptrdiff_t>(2 * n),
              std::greater<>());
    std::size_t entered = 1, left = 0;  // values above 0, and at 1
    double shift = work[0], reached = 0;
    while (true) {
        const double next = std::max(entered < n ? work[entered] : -std::numeric_limits<double>::infinity(),
                                     left < n ? work[n + left] : -std::numeric_limits<double>::infinity());
        const double slope = static_cast<double>(entered - left);
        if (std::isinf(next) || reached + slope * (shift - next) >= sum) {
            if (slope > 0) shift -= (sum - reached) / slope;
            break;
        }
        reached += slope * (shift - next);
        shift = next;
        if (entered < n && work[entered] == next) {
            ++entered;
        } else {
            ++left;
        }
    }
    for (double& value : z) value = clip(value - shift);
}

}  // namespace

void project_count(std::span<double> z, int least, int most, std::span<double> work) {
    double sum = 0;
    for (double value : z) sum += clip(value);
    if (sum < least) {
        shift_to_sum(z, least, work);
    } else if (sum > most) {
        shift_to_sum(z, most, work);
    } else {
        for (double& value : z) value = clip(value);
    }
}

void project_or_out(std::span<double> z, std::span<double> work) {
    const auto inputs = z.first(z.size() - 1);
    double& output = z.back();
    const auto sum_of_inputs = [&] {
        double sum = 0;
        for (double value : inputs) sum += clip(value);
        return sum;
    };
    double largest = -std::numeric_limits<double>::infinity();
    for (double value : inputs) largest = std::max(largest, value);
    if (clip(largest) <= clip(output) && sum_of_inputs() >= clip(output)) {
        for (double& value : z) value = clip(value);
        return;
    }
    // Onto { inputs ≤ output }: the output and the inputs above it meet at their mean; then into the cube.
    const std::size_t n = inputs.size();
    std::copy(inputs.begin(), inputs.end(), work.begin());
    std::sort(work.begin(), work.begin() + static_cast<std::ptrdiff_t>(n), std::greater<>());
    double mean = output;
    std::size_t met = 0;
    while (met < n && work[met] > mean) {
        mean += (work[met] - mean) / static_cast<double>(met + 2);
        ++met;
    }
    double sum = 0;
    for (double value : inputs) sum += clip(std::min(value, mean));
    if (sum >= clip(mean)) {
        for (double& value : inputs) value = clip(std::min(value, mean));
        output = clip(mean);
        return;
    }
    // The sum of the inputs equals the output: with the output negated, exactly one is on.
    output = 1 - output;
    shift_to_sum(z, 1, work);
    output = 1 - output;
}

double maximise_count(std::span<const double> scores, int least, int most, std::span<double> work) {
    const int n = static_cast<int>(scores.size());
    if (most == 1) {
        double largest = scores[0];
        for (double score : scores) largest = std::max(largest, score);
        return least == 1 ? largest : std::max(0.0, largest);
    }
    double total = 0;
    if (least <= 1 && most >= n) {
        double largest = scores[0];
        for (double score : scores) {
            largest = std::max(largest, score);
            total += std::max(0.0, score);
        }
        return least == 1 && largest < 0 ? largest : total;
    }
    std::copy(scores.begin(), scores.end(), work.begin());
    std::sort(work.begin(), work.begin() + n, std::greater<>());
    for (int k = 0; k < std::min(n, most) && (k < least || work[at(k)] > 0); ++k) {
        total += work[at(k)];
    }
    return total;
}

double maximise_or_out(std::span<const double> scores) {
    const auto inputs = scores.first(scores.size() - 1);
    double largest = -std::numeric_limits<double>::infinity(), total = 0;
    for (double score : inputs) {
        largest = std::max(largest, score);
        total += std::max(0.0, score);
    }
    return std::max(0.0, scores.back() + (largest < 0 ? largest : total));
}

}  // namespace dualstruct::graphs
