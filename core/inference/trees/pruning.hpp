// Which arcs are worth a second look, by their first-order probabilities.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inference/trees/decoder.hpp"

namespace dualstruct::trees {

struct Pruning {
    int most_heads = 10;      // a word keeps its so many most probable heads
    float threshold = 0.005f; // … of those at least so probable as this share of the best one
};

struct PruningReport {
    std::int64_t words = 0, arcs = 0;  // kept
    std::int64_t true_arcs_kept = 0;   // by probability alone: the oracle recall
};

// kept[h*(words + 1) + m] = 1 for the arcs to keep. Those of `tree` stay in any case: the best first-order tree, so
// that one tree at least is left. So do those of `truth`, unless it is empty.
void prune(std::span<const float> marginals, int words, const Pruning& pruning, std::span<const std::int32_t> tree,
           std::span<const std::int32_t> truth, std::span<std::uint8_t> kept, PruningReport& report);

}  // namespace dualstruct::trees
