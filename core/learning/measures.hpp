// What is asked of every example at a fixed w: losses, and the tangent of a concave part.
#pragma once

#include <cstdint>
#include <vector>

#include "base/index.hpp"
#include "base/parallel.hpp"
#include "learning/examples.hpp"
#include "learning/passes.hpp"
#include "learning/weights.hpp"

namespace dualstruct {

// measure(i, scratch, difference) of every example, on several threads.
template <class Measure>
std::vector<double> for_all(const Examples& examples, int threads, const Interrupt& interrupt, Measure measure) {
    std::vector<double> result(at(examples.size()));
    for_each_range(examples.size(), threads, [&](std::int64_t begin, std::int64_t end, int thread) {
        const auto scratch = examples.structure.make_scratch();
        Difference difference;
        for (std::int64_t i = begin; i < end; ++i) {
            // Only the calling thread may ask: signals are its business.
            if (thread == 0 && interrupt()) return;
            result[at(i)] = measure(i, *scratch, difference, i + 1 < end);
        }
    });
    return result;
}

// max_y (cost_weight·Δ_i(y) − w·δ_i(y)) of every example at a fixed w: what a certificate needs.
std::vector<double> largest_violations(const Examples& examples, const Weights& w, double cost_weight, int threads,
                                       const Interrupt& interrupt);

// (1/β) log Σ_y exp β(γΔ_i(y) − w·δ_i(y)) of every example at a fixed w.
std::vector<double> log_losses(const Examples& examples, const Weights& w, double beta, double gamma, int threads,
                               const Interrupt& interrupt);

// The tangent at w of the concave part of the ramp: center = −C Σ_{i∈A} weight_i δ_i(y), where A are the
// examples with max_y (cost_weight·Δ_i(y) − w·δ_i(y)) > 0 and y where it is reached. Returns A.
std::vector<std::int64_t> linearise_concave(const Examples& examples, const Weights& w, double cost_weight, double C,
                                            Weights& center);

}  // namespace dualstruct
