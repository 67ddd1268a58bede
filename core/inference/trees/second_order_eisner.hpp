// The best projective tree with consecutive siblings and grandparents, by the chart of second_order_chart.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inference/trees/second_order_chart.hpp"

namespace dualstruct::trees {

class SecondOrderEisner {
public:
    // False when the arcs left allow no tree.
    bool decode(const SecondOrderParts& parts, std::span<const double> arcs, std::span<const double> extras,
                bool single_root, std::int32_t* heads);

private:
    struct Cell {
        double score;
        std::int32_t split;
    };
    struct Best;
    using Place = SecondOrderChart::Place;
    struct Pending {
        enum Kind : std::uint8_t { complete, arc, between } kind;
        Place place;
        std::int32_t right, at, other;  // complete: where it ends; arc: the modifier's number; between: two of them
    };

    void follow(std::int32_t* heads);

    SecondOrderChart chart_;
    std::vector<Cell> cells_;
    std::vector<Pending> pending_;
};

}  // namespace dualstruct::trees
