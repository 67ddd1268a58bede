// Dependency trees with consecutive siblings and grandparents, over the arcs that pruning left.
//
// Outputs, costs and a cut's words are those of Tree; a cut's other parts follow from its heads and the truth's. The
// weights are those of Tree and then the lines of second_order_features.hpp. Sums over trees are exact where trees are
// projective, and estimates by loopy belief propagation where they are not (second_order_expectations.cpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "inference/trees/pruning.hpp"
#include "inference/trees/second_order.hpp"
#include "inference/trees/second_order_sums.hpp"
#include "structures/tree/arc_names.hpp"
#include "structures/tree/second_order_features.hpp"
#include "structures/tree/tree.hpp"

namespace dualstruct {

// The arcs left of each sentence.
struct KeptArcs {
    std::vector<std::int64_t> offsets;            // [sentences + 1]
    std::vector<std::uint16_t> heads, modifiers;  // [arcs]
};

// By the first-order marginals of β w. The arcs of the most probable heads' tree stay in any case, and those of the truth
// when asked for.
KeptArcs prune(const Tree& tree, const float* w, const trees::Pruning& pruning, double beta, bool keep_truth,
               trees::PruningReport& report, const std::function<bool()>& interrupt);

struct SecondOrderTreeOptions {
    bool siblings = true;
    bool grandparents = true;
    int max_iterations = 200;  // of AD3
    bool branch = false;       // search until the output is proven the best
};

struct SecondOrderScratch final : Scratch {
    ArcFeatures::Sums sums;
    std::vector<std::uint8_t> kept;         // [n + 1, n + 1]
    std::vector<float> arcs;                // [n + 1, n + 1]
    std::vector<std::uint8_t> labels;       // [n + 1, n + 1]
    std::vector<double> arc_scores, extra_scores;
    std::vector<std::int32_t> heads;        // [n + 1]
    trees::SecondOrderParts parts;
    trees::SecondOrderDecoder decoder;
    trees::SecondOrderSums tree_sums;
    trees::SecondOrderMarginals found;
    std::vector<float> part_scores, part_marginals;  // [part_count]
    bool summed = false;                    // whether `sum` is φ(truth) − E φ(y) of the last log_loss
};

class SecondOrderTree final : public Structure, public Expectations, public Parts {
public:
    SecondOrderTree(std::shared_ptr<const Tree> first, KeptArcs kept, int bits, const SecondOrderTreeOptions& options);

    std::int64_t size() const override { return first_->size(); }
    bool has_truth() const override { return first_->has_truth(); }
    std::int64_t dimension() const override { return first_->dimension() + features_.dimension(); }
    std::int64_t storage() const override { return dimension(); }
    void derive(float*) const override {}
    std::uint64_t layout() const override;
    std::unique_ptr<Scratch> make_scratch() const override;
    std::int64_t output_size(std::int64_t i) const override { return first_->output_size(i); }

    // AD3, which decodes trees that need not be projective, may stop before its answer is proven.
    bool exact_decoder() const override { return first_->options().projective; }
    void decode(const float* w, std::int64_t i, float cost_weight, Scratch& scratch) const override;
    void difference(std::int64_t i, std::span<const std::int32_t> output, Difference& d) const override {
        first_->difference(i, output, d);
    }
    bool is_output(std::int64_t i, std::span<const std::int32_t> output) const override {
        return first_->is_output(i, output);
    }
    bool is_valid(std::int64_t i, std::span<const Code> codes) const override { return first_->is_valid(i, codes); }
    void output_of(std::int64_t i, std::span<const Code> codes, std::vector<std::int32_t>& output) const override {
        first_->output_of(i, codes, output);
    }
    bool allows(std::int64_t i, std::span<const std::int32_t> output) const override;
    double dot(const float* w, std::int64_t i, std::span<const Code> codes) const override;
    void axpy(float* w, std::int64_t i, std::span<const Code> codes, float step) const override;
    void axpy(float* w, std::int64_t i, std::span<const Code> codes, float step, SharedLines& lines) const override;
    double dot(const float* w, std::int64_t i, std::span<const Code> codes, const SharedLines& lines,
               double& mean_times) const override;
    void accumulate(std::int64_t i, std::span<const Code> codes, float coefficient, SparseSum& sum) const override;
    double score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const override;
    void add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const override;
    void mark_observed(float* marks, std::int64_t i) const override;

    const Expectations* expectations() const override { return this; }
    // Estimates of marginals are no distribution that exponentiated gradient could hold.
    const Parts* parts() const override { return first_->options().projective ? this : nullptr; }
    double log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const override;
    void add_expected_difference(float* target, std::int64_t i, float step, Scratch& scratch) const override;
    double expected_difference_norm2(std::int64_t i, Scratch& scratch) const override;
    void add_variance(float* target, std::int64_t i) const override;
    // Parts: labelled arcs [arcs, labels] in the order of SecondOrderParts, then its second-order parts.
    std::int64_t part_count(std::int64_t i) const override;
    void part_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const override;
    double part_marginals(std::int64_t i, std::span<const float> scores, std::span<float> marginals,
                          Scratch& scratch) const override;
    double expected_part_cost(std::int64_t i, std::span<const float> marginals) const override;
    void add_parts(float* w, std::int64_t i, std::span<const float> marginals, float step) const override;

    // p(arc) [n + 1, n + 1], labels summed out: exact where trees are projective, else by loopy belief propagation.
    trees::SecondOrderMarginals marginals(const float* w, std::int64_t i, const graphs::PropagationOptions& options,
                                          Scratch& scratch, std::vector<float>& arcs) const;

    int words(std::int64_t i) const { return first_->words(i); }
    // Of all decodings since the last call: how many, how many were proven the best, and AD3's iterations.
    struct Effort {
        std::int64_t decoded, exact, iterations;
    };
    Effort take_effort() const;
    // Decodings so far whose tree was not proven the best.
    std::int64_t unproven() const { return unproven_; }

    // A second-order part of a tree.
    struct Part {
        std::int32_t first, second, third;  // (h, s, m) or (g, h, m)
        std::uint8_t kind;                  // siblings to the left, to the right, grandparents
        auto operator<=>(const Part&) const = default;
    };
    struct NamedPart {
        Part part;
        std::vector<NamedFeature> features;
    };
    // The second-order parts of a tree, heads [n], with what their weights stand for.
    std::vector<NamedPart> named_parts(std::int64_t i, std::span<const std::int32_t> heads,
                                       const ArcNames::ColumnNames& columns) const;

private:
    std::int64_t base() const { return first_->dimension(); }
    bool load(std::int64_t i, Scratch& scratch) const;
    void score_parts(const float* w, Scratch& scratch) const;
    // Of a sentence that is loaded.
    void score_all_parts(const float* w, std::int64_t i, double gamma, SecondOrderScratch& scratch,
                         std::span<float> scores) const;
    double sum_parts(std::int64_t i, std::span<const float> scores, const graphs::PropagationOptions& options,
                     SecondOrderScratch& scratch, std::span<float> marginals) const;
    // add(index, p) of every weight that parts with these probabilities have.
    template <class Add>
    void each_expected(std::int64_t i, std::span<const float> marginals, const SecondOrderScratch& scratch,
                       Add add) const;
    template <class F>
    void each_part(std::span<const std::int32_t> heads, int h, F f) const;
    template <class F>
    void each_index(std::span<const ArcFeatures::Node> nodes, const Part& part, F f) const;
    // f(index, ±1) of the second-order part of δ = φ(truth) − φ(cut).
    template <class F>
    void for_each_in(std::int64_t i, std::span<const Code> codes, F f) const;
    template <class F>
    void for_each_of(std::int64_t i, std::span<const std::int32_t> output, F f) const;

    std::shared_ptr<const Tree> first_;
    KeptArcs kept_;
    SecondOrderFeatures features_;
    SecondOrderTreeOptions options_;
    mutable std::atomic<std::int64_t> decoded_ = 0, exact_ = 0, iterations_ = 0, unproven_ = 0;
};

// f(part) of everything that one head of a tree has; heads[0 … n].
template <class F>
void SecondOrderTree::each_part(std::span<const std::int32_t> heads, int h, F f) const {
    const int nodes = static_cast<int>(heads.size());
    for (int right = 0; right < 2; ++right) {
        int before = h;
        const auto kind = static_cast<std::uint8_t>(right);
        for (int m = right ? h + 1 : h - 1; right ? m < nodes : m > 0; m += right ? 1 : -1) {
            if (heads[at(m)] != h) continue;
            if (options_.siblings) f(Part{h, before, m, kind});
            if (options_.grandparents && h > 0) f(Part{heads[at(h)], h, m, 2});
            before = m;
        }
        if (options_.siblings) f(Part{h, before, h, kind});
    }
}

template <class F>
void SecondOrderTree::each_index(std::span<const ArcFeatures::Node> nodes, const Part& part, F f) const {
    const auto [a, b, c, kind] = part;
    if (kind < 2) {
        const auto slots = SecondOrderFeatures::sibling_slots(a, c, kind == 1);
        features_.sibling_lines(nodes, a, b, c, [&](std::int64_t line) {
            for (int slot : slots) f(base() + line + slot);
        });
    } else {
        const auto slots = SecondOrderFeatures::grandparent_slots(a, b, c);
        features_.grandparent_lines(nodes, a, b, c, [&](std::int64_t line) {
            for (int slot : slots) f(base() + line + slot);
        });
    }
}

template <class F>
void SecondOrderTree::for_each_of(std::int64_t i, std::span<const std::int32_t> output, F f) const {
    thread_local std::vector<std::int32_t> heads;
    thread_local std::vector<ArcFeatures::Node> nodes;
    const int n = words(i);
    heads.assign(1, -1);
    heads.insert(heads.end(), output.begin(), output.begin() + n);
    first_->features().nodes(i, nodes);
    for (int h = 0; h <= n && n > 0; ++h) {
        each_part(heads, h, [&](const Part& part) { each_index(nodes, part, f); });
    }
}

}  // namespace dualstruct
