// The best projective tree with scores of consecutive siblings: McDonald and Pereira (2006), O(n³).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "inference/trees/second_order_parts.hpp"

namespace dualstruct::trees {

class SiblingEisner {
public:
    // Scores of grandparents, if there are any, are not looked at. False when the arcs left allow no tree.
    bool decode(const SecondOrderParts& parts, std::span<const double> arcs, std::span<const double> extras,
                bool single_root, std::int32_t* heads);

private:
    enum Kind : std::uint8_t { arc_right, arc_left, between, complete_right, complete_left, kinds };
    struct Cell {
        double score;
        std::int32_t split;
    };
    struct Span {
        std::int32_t from, to;
        Kind kind;
    };

    Cell& cell(Kind kind, int s, int t) { return charts_[(at(s) * nodes_ + at(t)) * kinds + kind]; }
    void fill_span(int s, int t, bool single_root);
    void follow(int last, std::int32_t* heads);

    const SecondOrderParts* parts_ = nullptr;
    std::span<const double> arcs_, extras_;
    std::size_t nodes_ = 0;
    std::vector<Cell> charts_;
    std::vector<Span> pending_;
};

}  // namespace dualstruct::trees
