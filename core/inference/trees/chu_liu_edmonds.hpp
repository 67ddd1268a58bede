// The best tree, projective or not: Chu-Liu-Edmonds in O(n²), on a dense matrix that shrinks (Tarjan 1977, with the
// path of Gabow et al. 1986). The constraint on the root costs no more (Stanojević and Cohen 2021).
#pragma once

#include <cstddef>
#include <vector>

#include "inference/trees/decoder.hpp"

namespace dualstruct::trees {

class ChuLiuEdmonds final : public TreeDecoder {
public:
    bool decode(const float* scores, int words, bool single_root, std::int32_t* heads) override;

private:
    enum class State : std::uint8_t { untouched, on_path, finished };
    // A word or a contracted cycle.
    struct Component {
        std::int32_t parent = 0;  // the component it was contracted into
        std::int32_t top = 0;     // the largest component it is in, or a component on the way there
        std::int32_t row = 0;     // its arcs in score_ and end_, until it is contracted
        std::int32_t head = 0, word = 0;  // the arc that enters it
        double score = 0;                 // of that arc, reduced
        State state = State::untouched;
        bool resolved = false;
    };

    bool is_tree(const std::int32_t* heads, int words);
    bool contract(const float* scores, int words, bool spare_the_root, std::int32_t* heads);
    bool choose_arc(Component& component, int nodes, bool spare_the_root) const;
    std::int32_t contract_cycle(std::size_t begin, int nodes);
    std::int32_t top_of(std::int32_t component);

    std::vector<float> largest_;  // [nodes]: the best score into each word
    std::vector<std::int32_t> seen_;
    std::vector<double> score_;      // [nodes, nodes]: the best arc into a component from each node; reduced by the
                                     // arcs it puts out of place
    std::vector<std::int32_t> end_;  // [nodes, nodes]: the word where that arc ends
    std::vector<Component> components_;  // the root, the words, and the cycles in the order of contraction
    std::vector<std::int32_t> path_;     // each component's arc comes from the next
};

}  // namespace dualstruct::trees
