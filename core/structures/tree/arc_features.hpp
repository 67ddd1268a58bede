// The features of dependency arcs, in the manner of McDonald et al. 2005, hashed on the fly: what
// an arc's features are follows from a few numbers per word, so no arc's features are ever stored.
//
//   score(h → m, label) = Σ_line (line[all] + line[direction] + line[direction and distance])
//                       + Σ_between row[part of speech]  +  Σ_row row[label]
//
// A feature that combines words has a whole cache line of 16 weights: by itself, by direction, and
// by direction and distance; one miss brings all three. Features of one word alone are summed once per
// word, those of a pair once per arc. Weights:
//   [2^line_bits]     lines of 16
//   [2^between_bits]  rows of 32: parts of speech between head and modifier
//   [2^label_bits]    rows of `stride`: a weight per label
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "base/memory.hpp"
#include "structures/tree/arc_kernels.hpp"
#include "text/token_table.hpp"

namespace dualstruct {

// What the features look at; a column of −1 is not there.
struct TreeColumns {
    int form = -1, lemma = -1, coarse = -1, fine = -1, morphology = -1, cluster = -1;
};

class ArcFeatures {
public:
    // Combinations of a word's attributes and of its neighbours' parts of speech.
    enum Combination {
        word,
        lemma,
        fine,
        coarse,
        word_fine,
        lemma_fine,
        coarse_morphology,
        fine_next,
        before_fine,
        before_fine_next,
        cluster,
        combinations
    };
    // One node of a sentence as the features see it.
    struct Node {
        std::array<std::uint64_t, combinations> key;
        std::span<const std::uint64_t> morphology;  // each attribute by itself
    };

    static constexpr int line_width = 16;
    static constexpr int between_width = 32;

    ArcFeatures(std::shared_ptr<const TokenTable> table, const TreeColumns& columns,
                std::span<const std::uint64_t> between_types, int labels, int line_bits, int label_bits);

    std::int64_t dimension() const { return label_base() + (std::int64_t{stride_} << label_bits_); }
    std::uint64_t layout() const;
    int labels() const { return labels_; }
    int stride() const { return stride_; }
    const ArcKernels& kernels() const { return *kernels_; }
    std::span<const std::int64_t> sentences() const { return table_->sentences; }

    // Node 0 is the root; node k ≥ 1 the k-th word of sentence i.
    Node node(std::int64_t i, int k) const;
    void nodes(std::int64_t i, std::vector<Node>& out) const;
    // The slot among the parts of speech between words that the k-th word has.
    int between_slot(std::int64_t i, int k) const { return between_[at(table_->sentences[at(i)] + k - 1)]; }

    // f(index) of every weight that an arc's features have, each with the value 1.
    template <class F>
    void for_each(std::int64_t i, int h, int m, int label, const Node& head, const Node& modifier, F f) const {
        for_each_arc(i, h, m, head, modifier, f);
        for_each_label_row(h, m, head, modifier, [&](std::int64_t row) { f(row + label); });
    }

    // Those that do not depend on the label.
    template <class F>
    void for_each_arc(std::int64_t i, int h, int m, const Node& head, const Node& modifier, F f) const {
        each_arc_weight(i, h, m, head, modifier, 0, f);
    }

    // f(first index) of every row of label weights that an arc has.
    template <class F>
    void for_each_label_row(int h, int m, const Node& head, const Node& modifier, F f) const {
        each_label_pair(h, m, head, modifier, f);
        each_label_word(modifier, modifier_salt, h < m, f);
    }

    // f(index, ±1) of the weights that the true arc into word m has (1) or another one (−1). Most of those that both
    // have are left out.
    template <class F>
    void for_each_difference(std::int64_t i, int m, int true_head, int true_label, int head, int label, F f) const {
        const Node modifier = node(i, m), of_truth = node(i, true_head);
        if (head == true_head) {
            for_each_label_row(head, m, of_truth, modifier, [&](std::int64_t row) {
                f(row + true_label, 1.0f);
                f(row + label, -1.0f);
            });
            return;
        }
        const bool same_direction = (true_head < m) == (head < m);
        const int shared = 1 + same_direction + (distance_slot(true_head, m) == distance_slot(head, m));
        const auto arc = [&](int h, const Node& of_head, int its_label, float sign) {
            each_arc_weight(i, h, m, of_head, modifier, shared, [&](std::int64_t index) { f(index, sign); });
            const auto row = [&](std::int64_t first) { f(first + its_label, sign); };
            each_label_pair(h, m, of_head, modifier, row);
            if (!same_direction || label != true_label) each_label_word(modifier, modifier_salt, h < m, row);
        };
        arc(true_head, of_truth, true_label, 1);
        arc(head, node(i, head), label, -1);
    }

    // Buffers of score_arcs.
    struct Sums {
        std::vector<Node> nodes;
        FloatScratch head_lines, modifier_lines;    // [n + 1, line_width]
        FloatScratch head_labels, modifier_labels;  // [n + 1, 2 directions, stride]
        std::vector<const float*> parts;            // rows that are summed
        std::vector<std::uint32_t> lines, rows;     // of one modifier and the next: [2, n + 1, templates]
        FloatScratch labels;                        // [stride]
    };

    // For every arc of sentence i, found(h, m, score without label, scores of labels [stride], the best label); all arcs
    // into a word come one after the other. With kept [n + 1, n + 1], (head, modifier), only for those that are kept.
    template <class Found>
    void score_arcs(const float* w, std::int64_t i, Sums& sums, Found found, const std::uint8_t* kept = nullptr) const;

    // The product of two well-mixed numbers, one of them odd: equal heads collide with other heads at
    // some modifiers, not at all of them, as with a sum.
    static std::uint64_t product(std::uint64_t head, std::uint64_t modifier, int salt) {
        return ((head ^ salts[at(salt)]) | 1) * modifier;
    }
    // The lemma, or the word where there are no lemmas.
    Combination lexical() const { return columns_.lemma >= 0 ? lemma : word; }

    static constexpr int pair_templates = 21, label_templates = 7;
    static constexpr std::uint64_t head_salt = 0x8F3B'91D4'6A2C'70E5ull, modifier_salt = 0x27C6'5E01'B89D'F34Bull;

    static int distance_bucket(int h, int m) {
        const int d = h < m ? m - h : h - m;
        return d <= 3 ? d - 1 : d <= 5 ? 3 : d <= 10 ? 4 : 5;
    }
    static int distance_slot(int h, int m) { return 3 + (h < m ? 6 : 0) + distance_bucket(h, m); }

    std::int64_t pair_line(int t, const Node& head, const Node& modifier) const {
        const auto [a, b] = pair_table[at(t)];
        return static_cast<std::int64_t>(product(head.key[a], modifier.key[b], t) >> line_shift_) * line_width;
    }
    // The number of a row of label weights.
    std::uint32_t label_row(int t, const Node& head, const Node& modifier, int right, int bucket) const {
        const auto [a, b, by_distance] = label_table[at(t)];
        const int salt = 64 + 2 * t + right + (by_distance ? 32 * (bucket + 1) : 0);
        return static_cast<std::uint32_t>(product(head.key[a], modifier.key[b], salt) >> label_shift_);
    }
    std::int64_t label_place(std::uint32_t row) const { return label_base() + std::int64_t{row} * stride_; }
    std::int64_t between_row(const Node& head, const Node& modifier, int right) const {
        return between_base() +
               static_cast<std::int64_t>(product(head.key[fine], modifier.key[fine], 60 + right) >> between_shift_) *
                   between_width;
    }
    // Lines of one word alone.
    template <class F>
    void each_word_line(const Node& node, std::uint64_t salt, F f) const {
        for (int c = 0; c < combinations; ++c) {
            f(static_cast<std::int64_t>(product(node.key[at(c)], salt, c) >> line_shift_) * line_width);
        }
        for (std::uint64_t value : node.morphology) {
            f(static_cast<std::int64_t>(product(value, salt, combinations) >> line_shift_) * line_width);
        }
    }
    template <class F>
    void each_label_word(const Node& node, std::uint64_t salt, int right, F f) const {
        const auto row = [&](std::uint64_t key, int t) {
            f(label_place(static_cast<std::uint32_t>(product(key, salt, 32 + 2 * t + right) >> label_shift_)));
        };
        for (int c = 0; c < combinations; ++c) row(node.key[at(c)], c);
        for (std::uint64_t value : node.morphology) row(value, combinations);
    }
    std::uint32_t between_mask(std::int64_t i, int h, int m) const {
        std::uint32_t mask = 0;
        for (int k = std::min(h, m) + 1; k < std::max(h, m); ++k) mask |= 1u << between_slot(i, k);
        return mask;
    }

    // What names are made of.
    const TokenTable& table() const { return *table_; }
    const TreeColumns& columns() const { return columns_; }
    // The number-th attribute of the k-th word's morphology: Number=Plur.
    std::string morphology_value(std::int64_t i, int k, int number) const;

    struct Pair {
        Combination head, modifier;
    };
    struct LabelPair {
        Combination head, modifier;
        bool by_distance;
    };
    static constexpr std::array<Pair, pair_templates> pair_table{{
        {word_fine, word_fine},
        {fine, word_fine},
        {word, word_fine},
        {word_fine, fine},
        {word_fine, word},
        {word, word},
        {fine, fine},
        {lemma, lemma},
        {lemma, fine},
        {fine, lemma},
        {lemma_fine, lemma_fine},
        {coarse_morphology, coarse_morphology},
        {fine_next, before_fine},
        {before_fine, before_fine},
        {fine_next, fine_next},
        {before_fine, fine_next},
        {before_fine_next, fine},
        {fine, before_fine_next},
        {before_fine_next, before_fine_next},
        {cluster, cluster},
        {lemma, coarse_morphology},
    }};
    static constexpr std::array<LabelPair, label_templates> label_table{{
        {fine, fine, false},
        {fine, fine, true},
        {lemma, fine, false},
        {fine, lemma, false},
        {lemma, lemma, false},
        {coarse_morphology, coarse_morphology, false},
        {fine, before_fine_next, false},
    }};

private:
    static const std::array<std::uint64_t, 512> salts;

    // f(index) of an arc's weights without those of labels, and without the first `shared` slots of its modifier's lines.
    template <class F>
    void each_arc_weight(std::int64_t i, int h, int m, const Node& head, const Node& modifier, int shared, F f) const {
        const int right = h < m, slots[3] = {0, 1 + right, distance_slot(h, m)};
        const auto line = [&](std::int64_t base) {
            for (int slot : slots) f(base + slot);
        };
        for (int t = 0; t < pair_templates; ++t) line(pair_line(t, head, modifier));
        each_word_line(head, head_salt, line);
        if (shared < 3) {
            each_word_line(modifier, modifier_salt, [&](std::int64_t base) {
                for (int k = shared; k < 3; ++k) f(base + slots[k]);
            });
        }
        const std::int64_t row = between_row(head, modifier, right);
        for (std::uint32_t mask = between_mask(i, h, m); mask; mask &= mask - 1) f(row + std::countr_zero(mask));
    }
    // f(first index) of the rows of label weights of an arc that its head has a part in.
    template <class F>
    void each_label_pair(int h, int m, const Node& head, const Node& modifier, F f) const {
        const int right = h < m;
        for (int t = 0; t < label_templates; ++t) {
            f(label_place(label_row(t, head, modifier, right, distance_bucket(h, m))));
        }
        each_label_word(head, head_salt, right, f);
    }
    std::int64_t between_base() const { return std::int64_t{line_width} << line_bits_; }
    std::int64_t label_base() const { return between_base() + (std::int64_t{between_width} << between_bits_); }
    void sum_words(const float* w, Sums& sums) const;
    void find_rows(const float* w, int h, int m, Sums& sums) const;
    int add_labels(const float* w, const Sums& sums, int h, int m, int right, const std::uint32_t* rows,
                   float* labels) const;
    std::uint64_t attribute(int column, std::int64_t token) const;
    std::uint64_t tag(std::int64_t first, std::int64_t end, std::int64_t token) const;

    std::shared_ptr<const TokenTable> table_;
    TreeColumns columns_;
    std::vector<std::uint8_t> between_;                     // [tokens]
    std::vector<std::vector<std::uint64_t>> morphology_;    // [type of the morphology column]
    int labels_, stride_, line_bits_, between_bits_, label_bits_;
    const ArcKernels* kernels_;
    int line_shift_, between_shift_, label_shift_;
};

template <class Found>
void ArcFeatures::score_arcs(const float* w, std::int64_t i, Sums& sums, Found found, const std::uint8_t* kept) const {
    nodes(i, sums.nodes);
    const int n = static_cast<int>(sums.nodes.size()) - 1;
    sum_words(w, sums);
    sums.lines.resize(2 * at(n + 1) * pair_templates);
    sums.rows.resize(2 * at(n + 1) * label_templates);
    float* labels = sums.labels.ensure(at(stride_));
    const auto is_wanted = [&](int h, int m) { return h != m && (!kept || kept[h * (n + 1) + m]); };
    for (int h = 0; h <= n && n > 0; ++h) {
        if (is_wanted(h, 1)) find_rows(w, h, 1, sums);
    }
    for (int m = 1; m <= n; ++m) {
        const std::uint32_t* lines = sums.lines.data() + at(m % 2) * (n + 1) * pair_templates;
        const std::uint32_t* rows = sums.rows.data() + at(m % 2) * (n + 1) * label_templates;
        const auto arc = [&](int h, std::uint32_t mask) {
            if (m < n && is_wanted(h, m + 1)) find_rows(w, h, m + 1, sums);  // fetched while those of m are summed
            if (!is_wanted(h, m)) return;
            const Node& head = sums.nodes[at(h)];
            const Node& modifier = sums.nodes[at(m)];
            const int right = h < m, direction = 1 + right, distance = distance_slot(h, m);
            const float* of_head = sums.head_lines.data() + h * line_width;
            const float* of_modifier = sums.modifier_lines.data() + m * line_width;
            float score = (of_head[0] + of_head[direction] + of_head[distance]) +
                          (of_modifier[0] + of_modifier[direction] + of_modifier[distance]);
            for (int t = 0; t < pair_templates; ++t) {
                const float* line = w + std::int64_t{lines[h * pair_templates + t]} * line_width;
                score += (line[0] + line[direction]) + line[distance];
            }
            score += kernels_->sum_marked(w + between_row(head, modifier, right), mask);
            const int best = add_labels(w, sums, h, m, right, rows + h * label_templates, labels);
            found(h, m, score, labels, best);
        };
        std::uint32_t between = 0;
        for (int h = m; h >= 0; --h) {
            arc(h, between);
            if (h > 0 && h < m) between |= 1u << between_slot(i, h);
        }
        between = 0;
        for (int h = m + 1; h <= n; ++h) {
            arc(h, between);
            between |= 1u << between_slot(i, h);
        }
    }
}

}  // namespace dualstruct
