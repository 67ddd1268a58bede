// The buffers of one thread that works on chains; chain.cpp and chain_expectations.cpp share them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/infinity.hpp"
#include "base/memory.hpp"
#include "structures/chain/chain_kernels.hpp"
#include "structures/sparse_sum.hpp"
#include "structures/structure.hpp"

namespace dualstruct {

struct ChainScratch final : Scratch {
    FloatScratch maxima, emissions, forward, backward;
    std::vector<double> shifts;
    FloatScratch step, step_transposed;  // transitions into one token, where it has pair features

    // What log_loss leaves for the expected differences (see ChainSums).
    FloatScratch marginals, pairs, inverse, steps;
    double log_sum = 0;
    // Exponentiated transitions, and those they were computed from: in a pass at a fixed w they
    // are the same for every sentence.
    FloatScratch plain, transition, transposed;
    ChainSums sums{};
    // A sentence whose scores are given: every token is its own only feature.
    FloatScratch given, masked, given_steps;
    std::vector<std::int64_t> each_offset;
    std::vector<std::int32_t> each_feature;
};

}  // namespace dualstruct
