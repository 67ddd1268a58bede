// The features of consecutive siblings and of grandparents, in the manner of McDonald and Pereira 2006 and of Martins
// et al., hashed on the fly like those of arcs. A feature is a cache line of 16 weights:
//
//   siblings (h, s, m):      line[all] + line[direction] + line[direction and distance from h to m]
//   grandparents (g, h, m):  line[all] + line[order of the three]
//
// Nothing before the first modifier and the end after the last one are nodes of their own, with a distance of 1.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/index.hpp"
#include "base/random.hpp"
#include "structures/tree/arc_features.hpp"

namespace dualstruct {

class SecondOrderFeatures {
public:
    using Node = ArcFeatures::Node;
    static constexpr int line_width = ArcFeatures::line_width;
    static constexpr int sibling_templates = 11, grandparent_templates = 10;
    static constexpr int most_templates = 11;

    SecondOrderFeatures(const ArcFeatures& arcs, int bits) : lexical_(arcs.lexical()), bits_(bits), shift_(64 - bits) {
        for (std::size_t c = 0; c < ArcFeatures::combinations; ++c) {
            nothing_.key[c] = mix(0x3C6E'F372'FE94'F82Bull + c);
            end_.key[c] = mix(0xA54F'F53A'5F1D'36F1ull + c);
        }
    }

    std::int64_t dimension() const { return std::int64_t{line_width} << bits_; }
    int bits() const { return bits_; }

    // f(first index of the line) of every template of h's modifier m after s; s = h: the first, m = h: the end. An f
    // that takes four arguments gets what the line combines of the three nodes as well; of h possibly nothing.
    template <class F>
    void sibling_lines(std::span<const Node> nodes, int h, int s, int m, F f) const {
        const Node& head = nodes[at(h)];
        const Node& before = s == h ? nothing_ : nodes[at(s)];
        const Node& modifier = m == h ? end_ : nodes[at(m)];
        int t = first_sibling_salt;
        const auto three = [&](Combination a, Combination b, Combination c) {
            const auto pair = folded(ArcFeatures::product(head.key[a], before.key[b], t));
            visit(f, line(ArcFeatures::product(pair, modifier.key[c], t)), a, b, c);
            ++t;
        };
        const auto two = [&](Combination b, Combination c) {
            visit(f, line(ArcFeatures::product(before.key[b], modifier.key[c], t++)), none, b, c);
        };
        three(ArcFeatures::fine, ArcFeatures::fine, ArcFeatures::fine);
        three(ArcFeatures::coarse, ArcFeatures::coarse, ArcFeatures::coarse);
        three(lexical_, ArcFeatures::fine, ArcFeatures::fine);
        three(ArcFeatures::fine, lexical_, ArcFeatures::fine);
        three(ArcFeatures::fine, ArcFeatures::fine, lexical_);
        three(lexical_, ArcFeatures::coarse, lexical_);
        three(ArcFeatures::coarse, lexical_, lexical_);
        two(ArcFeatures::fine, ArcFeatures::fine);
        two(lexical_, lexical_);
        two(lexical_, ArcFeatures::fine);
        two(ArcFeatures::fine, lexical_);
    }
    static std::array<int, 3> sibling_slots(int h, int m, bool right) {
        const int from = m == h ? 0 : h, to = m == h ? 1 : m;  // the end has a distance of 1
        return {0, 1 + right, 3 + (right ? 6 : 0) + ArcFeatures::distance_bucket(from, to)};
    }

    template <class F>
    void grandparent_lines(std::span<const Node> nodes, int g, int h, int m, F f) const {
        const Node& top = nodes[at(g)];
        const Node& head = nodes[at(h)];
        const Node& modifier = nodes[at(m)];
        int t = first_grandparent_salt;
        const auto three = [&](Combination a, Combination b, Combination c) {
            const auto pair = folded(ArcFeatures::product(top.key[a], head.key[b], t));
            visit(f, line(ArcFeatures::product(pair, modifier.key[c], t)), a, b, c);
            ++t;
        };
        const auto two = [&](Combination a, Combination c) {
            visit(f, line(ArcFeatures::product(top.key[a], modifier.key[c], t++)), a, none, c);
        };
        three(ArcFeatures::fine, ArcFeatures::fine, ArcFeatures::fine);
        three(ArcFeatures::coarse, ArcFeatures::coarse, ArcFeatures::coarse);
        three(lexical_, ArcFeatures::fine, ArcFeatures::fine);
        three(ArcFeatures::fine, lexical_, ArcFeatures::fine);
        three(ArcFeatures::fine, ArcFeatures::fine, lexical_);
        three(lexical_, lexical_, lexical_);
        two(ArcFeatures::fine, ArcFeatures::fine);
        two(lexical_, lexical_);
        two(lexical_, ArcFeatures::fine);
        two(ArcFeatures::fine, lexical_);
    }
    static std::array<int, 2> grandparent_slots(int g, int h, int m) {
        return {0, 1 + 4 * (g < h) + 2 * (h < m) + (g < m)};
    }

    using Combination = ArcFeatures::Combination;
    static constexpr Combination none = ArcFeatures::combinations;

private:
    static constexpr int first_sibling_salt = 320, first_grandparent_salt = 340;

    template <class F>
    static void visit(F& f, std::int64_t line, Combination a, Combination b, Combination c) {
        if constexpr (std::is_invocable_v<F&, std::int64_t, Combination, Combination, Combination>) {
            f(line, a, b, c);
        } else {
            f(line);
        }
    }

    static std::uint64_t folded(std::uint64_t x) { return x ^ x >> 32; }
    std::int64_t line(std::uint64_t hash) const { return static_cast<std::int64_t>(hash >> shift_) * line_width; }

    Node nothing_, end_;
    Combination lexical_;
    int bits_, shift_;
};

}  // namespace dualstruct
