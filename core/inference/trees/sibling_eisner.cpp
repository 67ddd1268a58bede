#include "inference/trees/sibling_eisner.hpp"

#include "base/index.hpp"
#include "base/infinity.hpp"

namespace dualstruct::trees {
namespace {}  // namespace

bool SiblingEisner::decode(const SecondOrderParts& parts, std::span<const double> arcs, std::span<const double> extras,
                           bool single_root, std::int32_t* heads) {
    parts_ = &parts;
    arcs_ = arcs;
    extras_ = extras;
    nodes_ = at(parts.words()) + 1;
    charts_.assign(nodes_ * nodes_ * kinds, Cell{-infinity, -1});
    heads[0] = -1;
    const int nodes = parts.words() + 1;
    for (int s = 0; s < nodes; ++s) {
        const auto& head = parts.head(s);
        const auto nothing = [&](int count, int first) {
            return extras[at(first + SecondOrderParts::step(count, 0, count + 1))];
        };
        cell(complete_right, s, s).score = nothing(head.right, head.first_right_step());
        cell(complete_left, s, s).score = nothing(head.left, head.first_step);
    }
    for (int width = 1; width < nodes; ++width) {
        for (int s = 0; s + width < nodes; ++s) fill_span(s, s + width, single_root);
    }
    if (nodes > 1 && cell(complete_right, 0, nodes - 1).score == -infinity) return false;
    follow(nodes - 1, heads);
    return true;
}

// The words s … t. A split of an arc's cell is the sibling before, or the head itself when there is none.
void SiblingEisner::fill_span(int s, int t, bool single_root) {
    const auto best = [](Cell& cell, double score, int split) {
        if (score > cell.score) cell = {score, split};
    };
    Cell& siblings = cell(between, s, t);
    for (int q = s; q < t; ++q) {
        best(siblings, cell(complete_right, s, q).score + cell(complete_left, q + 1, t).score, q);
    }

    const auto& left_end = parts_->head(s);
    const int right_arc = parts_->arc(s, t);
    if (right_arc >= 0) {
        Cell& to = cell(arc_right, s, t);
        const int first = left_end.first_arc + left_end.left, place = right_arc - first + 1;
        const double* steps = extras_.data() + left_end.first_right_step();
        const auto step = [&](int from) { return steps[SecondOrderParts::step(left_end.right, from, place)]; };
        best(to, cell(complete_left, s + 1, t).score + step(0), s);
        for (int k = 1; k < place && !(s == 0 && single_root); ++k) {
            const int r = parts_->modifier_of(first + k - 1);
            best(to, cell(arc_right, s, r).score + cell(between, r, t).score + step(k), r);
        }
        to.score += arcs_[at(right_arc)];
    }
    const auto& right_end = parts_->head(t);
    const int left_arc = s == 0 ? -1 : parts_->arc(t, s);
    if (left_arc >= 0) {
        Cell& to = cell(arc_left, s, t);
        const int first = right_end.first_arc, place = left_arc - first + 1;
        const double* steps = extras_.data() + right_end.first_step;
        const auto step = [&](int from) { return steps[SecondOrderParts::step(right_end.left, from, place)]; };
        best(to, cell(complete_right, s, t - 1).score + step(0), t);
        for (int k = 1; k < place; ++k) {
            const int r = parts_->modifier_of(first + k - 1);
            best(to, cell(arc_left, r, t).score + cell(between, s, r).score + step(k), r);
        }
        to.score += arcs_[at(left_arc)];
    }

    Cell& right = cell(complete_right, s, t);
    for (int k = 1; k <= left_end.right; ++k) {
        const int q = parts_->modifier_of(left_end.first_arc + left_end.left + k - 1);
        if (q > t) break;
        const double end =
            extras_[at(left_end.first_right_step() + SecondOrderParts::step(left_end.right, k, left_end.right + 1))];
        best(right, cell(arc_right, s, q).score + cell(complete_right, q, t).score + end, q);
    }
    Cell& left = cell(complete_left, s, t);
    for (int k = 1; k <= right_end.left; ++k) {
        const int q = parts_->modifier_of(right_end.first_arc + k - 1);
        if (q < s) break;
        const double end =
            extras_[at(right_end.first_step + SecondOrderParts::step(right_end.left, k, right_end.left + 1))];
        best(left, cell(complete_left, s, q).score + cell(arc_left, q, t).score + end, q);
    }
}

void SiblingEisner::follow(int last, std::int32_t* heads) {
    pending_.assign(1, {0, last, complete_right});
    while (!pending_.empty()) {
        const auto [s, t, kind] = pending_.back();
        pending_.pop_back();
        if (s == t) continue;
        const std::int32_t q = cell(kind, s, t).split;
        switch (kind) {
            case between:
                pending_.push_back({s, q, complete_right});
                pending_.push_back({q + 1, t, complete_left});
                break;
            case arc_right:
                heads[t] = s;
                if (q == s) {
                    pending_.push_back({s + 1, t, complete_left});
                } else {
                    pending_.push_back({s, q, arc_right});
                    pending_.push_back({q, t, between});
                }
                break;
            case arc_left:
                heads[s] = t;
                if (q == t) {
                    pending_.push_back({s, t - 1, complete_right});
                } else {
                    pending_.push_back({q, t, arc_left});
                    pending_.push_back({s, q, between});
                }
                break;
            case complete_right:
                pending_.push_back({s, q, arc_right});
                pending_.push_back({q, t, complete_right});
                break;
            case complete_left:
                pending_.push_back({s, q, complete_left});
                pending_.push_back({q, t, arc_left});
                break;
            case kinds: break;
        }
    }
}

}  // namespace dualstruct::trees
