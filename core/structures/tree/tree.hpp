// Dependency trees: a head and a label for every word, scored arc by arc (arc_features.hpp).
//
// An output is heads [n], then labels [n]; head 0 is the root. A cut's words are
// (modifier << 20 | head << 8 | label) where the output differs from the truth, in order of modifiers.
// Δ counts words with the wrong head, and words with the right head but the wrong label by label_cost.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "inference/trees/decoder.hpp"
#include "structures/sparse_sum.hpp"
#include "structures/structure.hpp"
#include "structures/tree/arc_features.hpp"

namespace dualstruct {

struct TreeOptions {
    bool projective = true;
    bool single_root = true;
    float label_cost = 1;
};

struct TreeExpectation {
    double log_partition;      // (1/β) log Σ_y exp β(w·φ(y) + γΔ(y))
    double expected_cost;
    std::vector<float> arcs;   // [n + 1, n + 1]: (head, modifier)
    std::vector<float> labels; // [n + 1, n + 1, labels]: (head, modifier, label)
};

class Tree final : public Structure, public Expectations, public Parts {
public:
    static constexpr int max_labels = 256;
    static constexpr int max_words = 4095;

    // Truth: heads and labels of all words, empty for prediction only.
    Tree(ArcFeatures features, std::vector<std::int32_t> heads, std::vector<std::int32_t> labels,
         const TreeOptions& options);

    std::int64_t size() const override { return static_cast<std::int64_t>(features_.sentences().size()) - 1; }
    bool has_truth() const override { return features_.sentences().back() == 0 || !heads_.empty(); }
    std::int64_t dimension() const override { return features_.dimension(); }
    std::int64_t storage() const override { return features_.dimension(); }
    void derive(float*) const override {}
    std::uint64_t layout() const override { return features_.layout(); }
    std::unique_ptr<Scratch> make_scratch() const override;
    std::int64_t output_size(std::int64_t i) const override { return 2 * std::int64_t{words(i)}; }

    void decode(const float* w, std::int64_t i, float cost_weight, Scratch& scratch) const override;
    bool is_output(std::int64_t i, std::span<const std::int32_t> output) const override;
    void difference(std::int64_t i, std::span<const std::int32_t> output, Difference& d) const override;
    bool is_valid(std::int64_t i, std::span<const Code> codes) const override;
    void output_of(std::int64_t i, std::span<const Code> codes, std::vector<std::int32_t>& output) const override;
    bool allows(std::int64_t i, std::span<const std::int32_t> output) const override;
    double dot(const float* w, std::int64_t i, std::span<const Code> codes) const override;
    void axpy(float* w, std::int64_t i, std::span<const Code> codes, float step) const override;
    void axpy(float* w, std::int64_t i, std::span<const Code> codes, float step, SharedLines& lines) const override;
    double dot(const float* w, std::int64_t i, std::span<const Code> codes, const SharedLines& lines,
               double& mean_times) const override;
    void accumulate(std::int64_t i, std::span<const Code> codes, float coefficient, SparseSum& sum) const override;
    std::vector<ScoredOutput> k_best(const float* w, std::int64_t i, float cost_weight, int k,
                                     Scratch& scratch) const override;
    const Expectations* expectations() const override { return this; }
    const Parts* parts() const override { return this; }
    double log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const override;
    void add_expected_difference(float* target, std::int64_t i, float step, Scratch& scratch) const override;
    double expected_difference_norm2(std::int64_t i, Scratch& scratch) const override;
    void add_variance(float* target, std::int64_t i) const override;
    void mark_observed(float* marks, std::int64_t i) const override;
    // Parts: labelled arcs, [n + 1, n + 1, labels] as (head, modifier, label).
    std::int64_t part_count(std::int64_t i) const override {
        return (std::int64_t{words(i)} + 1) * (words(i) + 1) * features_.labels();
    }
    void part_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const override;
    double part_marginals(std::int64_t i, std::span<const float> scores, std::span<float> marginals,
                          Scratch& scratch) const override;
    double expected_part_cost(std::int64_t i, std::span<const float> marginals) const override;
    void add_parts(float* w, std::int64_t i, std::span<const float> marginals, float step) const override;
    double score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const override;
    void add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const override;
    void prefetch_cut(const float* w, std::int64_t i, std::span<const Code> codes) const override;

    // γ without truth must be 0.
    TreeExpectation expectation(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const;

    int words(std::int64_t i) const {
        const auto sentences = features_.sentences();
        return static_cast<int>(sentences[at(i) + 1] - sentences[at(i)]);
    }
    const ArcFeatures& features() const { return features_; }
    const TreeOptions& options() const { return options_; }

    // What second-order trees build on.
    struct Arc {
        int modifier, head, label;
    };
    static Arc unpack(Code code) {
        return {static_cast<int>(code >> 20), static_cast<int>(code >> 8 & 0xFFF), static_cast<int>(code & 0xFF)};
    }
    Arc true_arc(std::int64_t i, int modifier) const {
        const auto token = at(features_.sentences()[at(i)] + modifier - 1);
        return {modifier, heads_[token], labels_[token]};
    }
    float cost_of(const Arc& arc, const Arc& truth) const {
        return arc.head != truth.head ? 1 : arc.label != truth.label ? options_.label_cost : 0;
    }
    // sum += φ_i(y).
    void add_to(SparseSum& sum, std::int64_t i, std::span<const std::int32_t> output) const;
    // The best label of every arc, or every arc kept, and the arc's score with it; as decode adds costs.
    void score_arcs(const float* w, std::int64_t i, float cost_weight, ArcFeatures::Sums& sums, std::span<float> arcs,
                    std::span<std::uint8_t> labels, const std::uint8_t* kept = nullptr) const;

private:
    [[noreturn]] void fail_infeasible(std::int64_t i) const { throw Infeasible(i, 0); }

    // f(index, ±1) of everything in δ = φ(truth) − φ(cut).
    template <class F>
    void for_each_in(std::int64_t i, std::span<const Code> codes, F f) const;
    template <class F>
    void for_each_of(std::int64_t i, std::span<const std::int32_t> output, F f) const;
    template <class Add>
    void add_marginals(std::int64_t i, std::span<const float> labelled, Add add) const;
    void labelled_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const;

    ArcFeatures features_;
    std::vector<std::int32_t> heads_, labels_;  // [tokens]
    TreeOptions options_;
};

}  // namespace dualstruct
