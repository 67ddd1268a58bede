// The best projective tree with consecutive siblings and grandparents: Koo and Collins (2010), model 1, on pruned arcs.
//
// Every span knows the head of its head, so charts are indexed by arcs where Eisner's are indexed by words. With a
// arcs, of which a word keeps k, that is O(a·n·k): exact, and for the few arcs that pruning leaves little more work than
// first order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "inference/trees/second_order_parts.hpp"

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
    // A word under one of its heads; the root under none.
    struct Place {
        std::int32_t word, arc, in;  // arc: that enters it, or arcs() for the root; in: among those that enter
    };
    struct Pending {
        enum Kind : std::uint8_t { complete, arc, between } kind;
        Place place;
        std::int32_t right, at, other;  // complete: where it ends; arc: the modifier's number; between: two of them
    };
    // A side of a head: its modifiers' arcs, nearest first, and the steps between them.
    struct Side {
        std::int32_t first, count, first_step;
    };

    Side side(int h, int right) const;
    int modifier(const Side& side, int k) const { return parts_->modifier_of(side.first + k - 1); }
    double step(const Side& side, int from, int to) const {
        return extras_[at(side.first_step + SecondOrderParts::step(side.count, from, to))];
    }
    Cell& complete(int right, int arc, int end) { return complete_[(at(arc) * 2 + at(right)) * nodes_ + at(end)]; }
    Cell& under(const Place& place, int arc);  // the arc with all words between its ends
    Cell& between(const Side& side, int s, int m) {
        return between_[at(side.first_step + SecondOrderParts::step(side.count, s, m))];
    }
    template <class F>
    void each_place(int word, F f) const;
    void fill(int h, int width, bool single_root);
    void follow(std::int32_t* heads);

    const SecondOrderParts* parts_ = nullptr;
    std::span<const double> arcs_, extras_;
    std::size_t nodes_ = 0;
    std::vector<Cell> complete_;  // [arcs + 1, side, nodes]: the modifier's words on that side, up to a word
    std::vector<Cell> under_;  // as grandparents are numbered, those of the root at the end
    std::vector<Cell> between_;  // as steps are numbered: the words from one sibling to the next
    std::vector<Pending> pending_;
};

}  // namespace dualstruct::trees
