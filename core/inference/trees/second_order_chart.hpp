// The chart of projective trees with consecutive siblings and grandparents: Koo and Collins (2010), model 1, on pruned
// arcs. Which cells there are and what each is made of, once; whether it is the best or the sum of its parts is the
// visitor's business.
//
// Every span knows the head of its head, so charts are indexed by arcs where Eisner's are indexed by words. With a
// arcs, of which a word keeps k, that is O(a·n·k): exact, and for the few arcs that pruning leaves little more work than
// first order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/index.hpp"
#include "inference/trees/second_order_parts.hpp"

namespace dualstruct::trees {

class SecondOrderChart {
public:
    // A word under one of its heads; the root under none.
    struct Place {
        std::int32_t word, arc, in;  // arc: that enters it, or arcs() for the root; in: among those that enter
    };
    // A side of a head: its modifiers' arcs, nearest first, and the steps between them.
    struct Side {
        std::int32_t first, count, first_step;
    };

    void bind(const SecondOrderParts& parts) {
        parts_ = &parts;
        nodes_ = at(parts.words()) + 1;
        first_under_ = (at(parts.arcs()) + 1) * 2 * nodes_;
        first_between_ = first_under_ + at(parts.extras() + parts.head(0).arcs());
    }
    const SecondOrderParts& parts() const { return *parts_; }

    // Cells. complete: a modifier's words on one side, up to a word, with its chain ended. under: an arc with all words
    // between its ends. between: the words from one sibling to the next.
    std::size_t cells() const { return first_between_ + at(parts_->extras()); }
    std::size_t complete(int right, int arc, int end) const { return (at(arc) * 2 + at(right)) * nodes_ + at(end); }
    std::size_t under(const Place& place, int arc) const {
        const int out = arc - parts_->head(place.word).first_arc;
        return first_under_ + at(place.word == 0 ? parts_->extras() + out : grandparent(place, arc));
    }
    std::size_t between(const Side& side, int s, int m) const { return first_between_ + at(step(side, s, m)); }
    std::size_t goal() const { return complete(1, parts_->arcs(), parts_->words()); }

    Side side(int h, int right) const {
        const auto& head = parts_->head(h);
        if (right) return {head.first_arc + head.left, head.right, head.first_right_step()};
        return {head.first_arc, head.left, head.first_step};
    }
    int modifier(const Side& side, int k) const { return parts_->modifier_of(side.first + k - 1); }
    // Numbers of second-order scores.
    static int step(const Side& side, int from, int to) {
        return side.first_step + SecondOrderParts::step(side.count, from, to);
    }
    int grandparent(const Place& place, int arc) const {
        const auto& head = parts_->head(place.word);
        return head.first_grandparent() + place.in * head.arcs() + arc - head.first_arc;
    }
    // The step of the root's left chain, which has no modifiers: every tree has it, no cell does.
    int root_step() const { return step(side(0, 0), 0, 1); }

    // A visitor has
    //   start(cell, step)                   the cell is this score alone
    //   first(cell, a, step, split)         of the cell: a with the score
    //   pair(cell, a, b, split)             of the cell: a with b
    //   join(cell, a, b, step, split)       of the cell: a with b and the score
    //   close(cell, arc, grandparent)       all of the cell with the arc's score and, unless −1, the grandparent's
    // Forwards, cells are visited after what they are made of; backwards, all of it in the opposite order.
    template <class Visitor>
    void forwards(bool single_root, Visitor& visitor) const {
        starts(visitor);
        for (int width = 1; width <= parts_->words(); ++width) {
            for (int h = 0; h <= parts_->words(); ++h) fill<false>(h, width, single_root, visitor);
        }
    }
    template <class Visitor>
    void backwards(bool single_root, Visitor& visitor) const {
        for (int width = parts_->words(); width >= 1; --width) {
            for (int h = 0; h <= parts_->words(); ++h) fill<true>(h, width, single_root, visitor);
        }
        starts(visitor);
    }

private:
    template <class F>
    void each_place(int word, F f) const {
        if (word == 0) {
            f(Place{0, parts_->arcs(), 0});
            return;
        }
        std::int32_t in = 0;
        for (const auto arc : parts_->entering(word)) f(Place{word, arc, in++});
    }

    template <class Visitor>
    void starts(Visitor& visitor) const {
        for (int h = 0; h <= parts_->words(); ++h) {
            each_place(h, [&](const Place& place) {
                for (int right = 0; right < 2; ++right) {
                    const Side chain = side(h, right);
                    visitor.start(complete(right, place.arc, h), step(chain, 0, chain.count + 1));
                }
            });
        }
    }

    // Everything of head h that spans `width` words besides the first.
    template <bool backwards, class Visitor>
    void fill(int h, int width, bool single_root, Visitor& visitor) const {
        for (int right = 0; right < 2; ++right) {
            const int end = right ? h + width : h - width;
            if (end < (h == 0 ? 0 : 1) || end > parts_->words()) continue;
            const Side chain = side(h, right);
            const int arc = parts_->arc(h, end);
            if (!backwards) fill_between(chain, right, width, visitor);
            each_place(h, [&](const Place& place) {
                if (backwards) fill_complete(chain, place, right, end, visitor);
                if (arc >= 0) fill_under<backwards>(chain, place, right, arc, single_root, visitor);
                if (!backwards) fill_complete(chain, place, right, end, visitor);
            });
            if (backwards) fill_between(chain, right, width, visitor);
        }
    }

    // Spans between siblings that are so far apart; what they are made of is shorter.
    template <class Visitor>
    void fill_between(const Side& chain, int right, int width, Visitor& visitor) const {
        for (int s = 1; s < chain.count; ++s) {
            for (int m = s + 1; m <= chain.count; ++m) {
                const int near = modifier(chain, s), far = modifier(chain, m);
                if ((right ? far - near : near - far) != width) continue;
                const int first = right ? near : far, last = right ? far : near;
                const int first_arc = chain.first + (right ? s : m) - 1, last_arc = chain.first + (right ? m : s) - 1;
                const std::size_t cell = between(chain, s, m);
                for (int q = first; q < last; ++q) {
                    visitor.pair(cell, complete(1, first_arc, q), complete(0, last_arc, q + 1), q);
                }
            }
        }
    }

    template <bool backwards, class Visitor>
    void fill_under(const Side& chain, const Place& place, int right, int arc, bool single_root,
                    Visitor& visitor) const {
        const int h = place.word, m = arc - chain.first + 1;
        const std::size_t cell = under(place, arc);
        const int above = h > 0 ? grandparent(place, arc) : -1;
        if (backwards) visitor.close(cell, arc, above);
        visitor.first(cell, complete(!right, arc, right ? h + 1 : h - 1), step(chain, 0, m), 0);
        for (int s = 1; s < m && !(h == 0 && single_root); ++s) {
            visitor.join(cell, under(place, chain.first + s - 1), between(chain, s, m), step(chain, s, m), s);
        }
        if (!backwards) visitor.close(cell, arc, above);
    }

    template <class Visitor>
    void fill_complete(const Side& chain, const Place& place, int right, int end, Visitor& visitor) const {
        const std::size_t cell = complete(right, place.arc, end);
        for (int m = 1; m <= chain.count; ++m) {
            const int last = modifier(chain, m), last_arc = chain.first + m - 1;
            if (right ? last > end : last < end) break;
            visitor.join(cell, under(place, last_arc), complete(right, last_arc, end), step(chain, m, chain.count + 1),
                         m);
        }
    }

    const SecondOrderParts* parts_ = nullptr;
    std::size_t nodes_ = 0, first_under_ = 0, first_between_ = 0;
};

}  // namespace dualstruct::trees
