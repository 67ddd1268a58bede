#include "inference/trees/second_order_eisner.hpp"

#include "base/index.hpp"
#include "base/infinity.hpp"

namespace dualstruct::trees {
namespace {}  // namespace

SecondOrderEisner::Side SecondOrderEisner::side(int h, int right) const {
    const auto& head = parts_->head(h);
    if (right) return {head.first_arc + head.left, head.right, head.first_right_step()};
    return {head.first_arc, head.left, head.first_step};
}

SecondOrderEisner::Cell& SecondOrderEisner::under(const Place& place, int arc) {
    const auto& head = parts_->head(place.word);
    const int out = arc - head.first_arc;
    const int where =
        place.word == 0 ? parts_->extras() + out : head.first_grandparent() + place.in * head.arcs() + out;
    return under_[at(where)];
}

template <class F>
void SecondOrderEisner::each_place(int word, F f) const {
    if (word == 0) {
        f(Place{0, parts_->arcs(), 0});
        return;
    }
    std::int32_t in = 0;
    for (const auto arc : parts_->entering(word)) f(Place{word, arc, in++});
}

bool SecondOrderEisner::decode(const SecondOrderParts& parts, std::span<const double> arcs,
                               std::span<const double> extras, bool single_root, std::int32_t* heads) {
    parts_ = &parts;
    arcs_ = arcs;
    extras_ = extras;
    const int words = parts.words();
    nodes_ = at(words) + 1;
    const Cell nothing{-infinity, 0};
    complete_.assign((at(parts.arcs()) + 1) * 2 * nodes_, nothing);
    under_.assign(at(parts.extras() + parts.head(0).arcs()), nothing);
    between_.assign(at(parts.extras()), nothing);
    for (int h = 0; h <= words; ++h) {
        each_place(h, [&](const Place& place) {
            for (int right = 0; right < 2; ++right) {
                const Side chain = side(h, right);
                complete(right, place.arc, h).score = step(chain, 0, chain.count + 1);
            }
        });
    }
    for (int width = 1; width <= words; ++width) {
        for (int h = 0; h <= words; ++h) fill(h, width, single_root);
    }
    heads[0] = -1;
    if (words == 0) return true;
    if (complete(1, parts.arcs(), words).score == -infinity) return false;
    follow(heads);
    return true;
}

// Everything of head h that spans `width` words besides the first.
void SecondOrderEisner::fill(int h, int width, bool single_root) {
    const auto better = [](Cell& cell, double score, std::int32_t split) {
        if (score > cell.score) cell = {score, split};
    };
    const int words = parts_->words();
    for (int right = 0; right < 2; ++right) {
        const int end = right ? h + width : h - width;
        if (end < (h == 0 ? 0 : 1) || end > words) continue;
        const Side chain = side(h, right);
        // Spans between siblings that are so far apart; what they are made of is shorter.
        for (int s = 1; s < chain.count; ++s) {
            for (int m = s + 1; m <= chain.count; ++m) {
                const int near = modifier(chain, s), far = modifier(chain, m);
                if ((right ? far - near : near - far) != width) continue;
                const int first = right ? near : far, last = right ? far : near;
                const int first_arc = chain.first + (right ? s : m) - 1, last_arc = chain.first + (right ? m : s) - 1;
                Cell& cell = between(chain, s, m);
                for (int q = first; q < last; ++q) {
                    better(cell, complete(1, first_arc, q).score + complete(0, last_arc, q + 1).score, q);
                }
            }
        }
        const int arc = parts_->arc(h, end);
        each_place(h, [&](const Place& place) {
            if (arc >= 0) {
                const int m = arc - chain.first + 1;
                Cell& cell = under(place, arc);
                better(cell, complete(!right, arc, right ? h + 1 : h - 1).score + step(chain, 0, m), 0);
                for (int s = 1; s < m && !(h == 0 && single_root); ++s) {
                    better(cell,
                           under(place, chain.first + s - 1).score + between(chain, s, m).score + step(chain, s, m), s);
                }
                cell.score += arcs_[at(arc)];
                if (h > 0) {
                    const auto& head = parts_->head(h);
                    cell.score += extras_[at(head.first_grandparent() + place.in * head.arcs() + arc - head.first_arc)];
                }
            }
            Cell& cell = complete(right, place.arc, end);
            for (int m = 1; m <= chain.count; ++m) {
                const int last = modifier(chain, m);
                if (right ? last > end : last < end) break;
                const int last_arc = chain.first + m - 1;
                better(cell,
                       under(place, last_arc).score + complete(right, last_arc, end).score +
                           step(chain, m, chain.count + 1),
                       m);
            }
        });
    }
}

void SecondOrderEisner::follow(std::int32_t* heads) {
    // The place of a modifier under the arc that enters it.
    const auto place_of = [this](int arc) {
        const int word = parts_->modifier_of(arc);
        std::int32_t in = 0;
        while (parts_->entering(word)[at(in)] != arc) ++in;
        return Place{word, arc, in};
    };
    pending_.assign(1, {Pending::complete, {0, parts_->arcs(), 0}, 1, parts_->words(), 0});
    while (!pending_.empty()) {
        const auto [kind, place, right, where, other] = pending_.back();
        pending_.pop_back();
        const Side chain = side(place.word, right);
        if (kind == Pending::complete) {
            if (where == place.word) continue;
            const int m = complete(right, place.arc, where).split;
            pending_.push_back({Pending::arc, place, right, m, 0});
            pending_.push_back({Pending::complete, place_of(chain.first + m - 1), right, where, 0});
        } else if (kind == Pending::arc) {
            const int arc = chain.first + where - 1, word = modifier(chain, where);
            heads[word] = place.word;
            const int s = under(place, arc).split;
            if (s == 0) {
                pending_.push_back({Pending::complete, place_of(arc), !right, place.word + (right ? 1 : -1), 0});
            } else {
                pending_.push_back({Pending::arc, place, right, s, 0});
                pending_.push_back({Pending::between, place, right, s, where});
            }
        } else {
            const int first_arc = chain.first + (right ? where : other) - 1;
            const int last_arc = chain.first + (right ? other : where) - 1;
            const int q = between(chain, where, other).split;
            pending_.push_back({Pending::complete, place_of(first_arc), 1, q, 0});
            pending_.push_back({Pending::complete, place_of(last_arc), 0, q + 1, 0});
        }
    }
}

}  // namespace dualstruct::trees
