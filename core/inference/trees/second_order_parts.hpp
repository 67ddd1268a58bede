// The parts of second-order trees over the arcs that pruning left: arcs, consecutive siblings and grandparents.
//
//   score(tree) = Σ arcs (h, m)  +  Σ_h Σ_side Σ of h's chain on that side  +  Σ grandparents (g, h, m)
//
// The chain of a head's side runs from no modifier to the nearest one, to the next, …, and from the last to the end:
// (h, s, m) for each step, so that a head without modifiers on a side pays one step from nothing to the end.
//
// Arcs are numbered by their heads: first those to the left, nearest first, then those to the right, nearest first. All
// second-order scores of a head lie together: steps of its left chain, of its right chain, then grandparents.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "inference/trees/arc_list.hpp"

namespace dualstruct::trees {

class SecondOrderParts : public ArcList {
public:
    struct Head {
        std::int32_t first_arc = 0, left = 0, right = 0;  // its arcs: so many to the left, then to the right
        std::int32_t first_in = 0, in = 0;  // into the list of arcs that enter it
        std::int32_t first_step = 0;  // into the second-order scores
        std::int32_t arcs() const { return left + right; }
        std::int32_t first_right_step() const { return first_step + steps(left); }
        std::int32_t first_grandparent() const { return first_right_step() + steps(right); }
    };

    // Steps of a chain over k modifiers: from 0 (none) … k, to a later one or the end, k + 1.
    static std::int32_t steps(std::int32_t k) { return (k + 1) * (k + 2) / 2; }
    static std::int32_t step(std::int32_t k, std::int32_t from, std::int32_t to) {
        return from * (2 * k + 3 - from) / 2 + to - from - 1;
    }

    // allowed[h*(words + 1) + m]: whether the arc was kept.
    void build(int words, std::span<const std::uint8_t> allowed);

    int extras() const { return extras_; }  // second-order scores
    const Head& head(int h) const { return heads_[at(h)]; }
    // The arcs that enter a word, from the first head to the last.
    std::span<const std::int32_t> entering(int m) const {
        return std::span(entering_).subspan(at(head(m).first_in), at(head(m).in));
    }

    // f(index of a second-order score) of every part that the tree has; all its arcs were kept.
    template <class F>
    void for_each_of(std::span<const std::int32_t> heads, F f) const;
    // sibling(index, h, s, m, right): s = h stands for nothing before, m = h for the end; grandparent(index, g, h, m).
    template <class Sibling, class Grandparent>
    void for_each(Sibling sibling, Grandparent grandparent) const;
    // The sum of a tree's scores, −∞ when it has an arc that was pruned.
    double score(std::span<const std::int32_t> heads, std::span<const double> arcs,
                 std::span<const double> extras) const;

private:
    std::vector<Head> heads_;
    std::vector<std::int32_t> entering_;
    std::vector<std::int32_t> place_;  // [arcs]: among the arcs that enter its modifier
    int extras_ = 0;
};

template <class F>
void SecondOrderParts::for_each_of(std::span<const std::int32_t> heads, F f) const {
    for (int h = 0; h <= words(); ++h) {
        const Head& node = head(h);
        const int in = h == 0 ? 0 : place_[at(arc(heads[at(h)], h))];
        const auto chain = [&](int first, int count, int first_step) {
            int last = 0;
            for (int k = 1; k <= count; ++k) {
                if (heads[at(modifier_of(first + k - 1))] != h) continue;
                f(first_step + step(count, last, k));
                if (h > 0) f(node.first_grandparent() + in * node.arcs() + first + k - 1 - node.first_arc);
                last = k;
            }
            f(first_step + step(count, last, count + 1));
        };
        chain(node.first_arc, node.left, node.first_step);
        chain(node.first_arc + node.left, node.right, node.first_right_step());
    }
}

template <class Sibling, class Grandparent>
void SecondOrderParts::for_each(Sibling sibling, Grandparent grandparent) const {
    for (int h = 0; h <= words(); ++h) {
        const Head& node = head(h);
        const auto chain = [&](int first, int count, int index, bool right) {
            for (int from = 0; from <= count; ++from) {
                for (int to = from + 1; to <= count + 1; ++to, ++index) {
                    sibling(index, h, from == 0 ? h : modifier_of(first + from - 1),
                            to > count ? h : modifier_of(first + to - 1), right);
                }
            }
        };
        chain(node.first_arc, node.left, node.first_step, false);
        chain(node.first_arc + node.left, node.right, node.first_right_step(), true);
        if (h == 0) continue;
        int index = node.first_grandparent();
        for (const auto in : entering(h)) {
            for (int out = 0; out < node.arcs(); ++out, ++index) {
                grandparent(index, head_of(in), h, modifier_of(node.first_arc + out));
            }
        }
    }
}

}  // namespace dualstruct::trees
