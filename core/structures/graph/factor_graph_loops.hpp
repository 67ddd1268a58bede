// What the files of FactorGraph share: its buffers, and loops over scored factors and their features.
#pragma once

#include <cstdint>
#include <vector>

#include "base/index.hpp"
#include "structures/graph/factor_graph.hpp"

namespace dualstruct {

class GraphScratch final : public Scratch {
public:
    graphs::Inference inference;
    std::vector<double> variables, factors;  // scores
    std::vector<float> row;                  // of one factor, by configurations
    graphs::Marginals marginals;             // what log_loss found
};

template <class Visit>
void FactorGraph::for_soft_factors(std::int64_t i, Visit visit) const {
    for (const FactorBlock& block : shape(i).blocks) {
        for (std::int32_t f = block.first; f < block.first + block.count; ++f) visit(f, soft(i, f));
    }
}

template <class Visit>
void FactorGraph::for_features(std::int64_t i, int f, Visit visit) const {
    const GraphShape& s = shape(i);
    const std::int32_t b = s.block_of[at(f)];
    const BlockFeatures& features = example(i).features[at(b)];
    const std::int64_t row = std::int64_t{f - s.blocks[at(b)].first} * features.row_step;
    if (!features.ids) {
        const std::int64_t count = soft(i, f).features;
        const float* values = features.values + row * count;
        for (std::int64_t k = 0; k < count; ++k) {
            if (values[k] != 0) visit(k, values[k]);
        }
        return;
    }
    for (std::int64_t k = features.offsets[row]; k < features.offsets[row + 1]; ++k) {
        visit(std::int64_t{features.ids[k]}, features.values[k]);
    }
}

}  // namespace dualstruct
