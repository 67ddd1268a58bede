#include "inference/trees/second_order_eisner.hpp"

#include "base/index.hpp"
#include "base/infinity.hpp"

namespace dualstruct::trees {

// A cell is the best of what it can be made of.
struct SecondOrderEisner::Best {
    std::vector<Cell>& cells;
    std::span<const double> arcs, extras;

    void better(std::size_t cell, double score, std::int32_t split) {
        if (score > cells[cell].score) cells[cell] = {score, split};
    }
    void start(std::size_t cell, int step) { cells[cell].score = extras[at(step)]; }
    void first(std::size_t cell, std::size_t a, int step, int split) {
        better(cell, cells[a].score + extras[at(step)], split);
    }
    void pair(std::size_t cell, std::size_t a, std::size_t b, int split) {
        better(cell, cells[a].score + cells[b].score, split);
    }
    void join(std::size_t cell, std::size_t a, std::size_t b, int step, int split) {
        better(cell, cells[a].score + cells[b].score + extras[at(step)], split);
    }
    void close(std::size_t cell, int arc, int grandparent) {
        cells[cell].score += arcs[at(arc)];
        if (grandparent >= 0) cells[cell].score += extras[at(grandparent)];
    }
};

bool SecondOrderEisner::decode(const SecondOrderParts& parts, std::span<const double> arcs,
                               std::span<const double> extras, bool single_root, std::int32_t* heads) {
    chart_.bind(parts);
    cells_.assign(chart_.cells(), {-infinity, 0});
    Best best{cells_, arcs, extras};
    chart_.forwards(single_root, best);
    heads[0] = -1;
    if (parts.words() == 0) return true;
    if (cells_[chart_.goal()].score == -infinity) return false;
    follow(heads);
    return true;
}

void SecondOrderEisner::follow(std::int32_t* heads) {
    const SecondOrderParts& parts = chart_.parts();
    // The place of a modifier under the arc that enters it.
    const auto place_of = [&parts](int arc) {
        const int word = parts.modifier_of(arc);
        std::int32_t in = 0;
        while (parts.entering(word)[at(in)] != arc) ++in;
        return Place{word, arc, in};
    };
    pending_.assign(1, {Pending::complete, {0, parts.arcs(), 0}, 1, parts.words(), 0});
    while (!pending_.empty()) {
        const auto [kind, place, right, where, other] = pending_.back();
        pending_.pop_back();
        const SecondOrderChart::Side chain = chart_.side(place.word, right);
        if (kind == Pending::complete) {
            if (where == place.word) continue;
            const int m = cells_[chart_.complete(right, place.arc, where)].split;
            pending_.push_back({Pending::arc, place, right, m, 0});
            pending_.push_back({Pending::complete, place_of(chain.first + m - 1), right, where, 0});
        } else if (kind == Pending::arc) {
            const int arc = chain.first + where - 1, word = chart_.modifier(chain, where);
            heads[word] = place.word;
            const int s = cells_[chart_.under(place, arc)].split;
            if (s == 0) {
                pending_.push_back({Pending::complete, place_of(arc), !right, place.word + (right ? 1 : -1), 0});
            } else {
                pending_.push_back({Pending::arc, place, right, s, 0});
                pending_.push_back({Pending::between, place, right, s, where});
            }
        } else {
            const int first_arc = chain.first + (right ? where : other) - 1;
            const int last_arc = chain.first + (right ? other : where) - 1;
            const int q = cells_[chart_.between(chain, where, other)].split;
            pending_.push_back({Pending::complete, place_of(first_arc), 1, q, 0});
            pending_.push_back({Pending::complete, place_of(last_arc), 0, q + 1, 0});
        }
    }
}

}  // namespace dualstruct::trees
