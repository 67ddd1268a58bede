// First-order chains: one label per token, emission weights for (feature, label) and
// transition weights for (label, next label), with a start and an end. A chain may have pair
// features as well: what is seen at a token then weighs the step from the label before it.
//
// Weights, one row of `stride` floats each:
//   [features]     emission
//   [labels]       transition from a label
//   [1] [1]        transition from the start, into the end
//   [pair features, labels]   from a label, by what is seen where the step arrives
// and derived from them, behind `dimension`:
//   [labels + 2]   the transitions with −∞ in the padding and where forbidden
//   [labels]       the same transposed
//
// A cut's codes are (token << label_bits | label) where the output differs from the truth,
// in order of tokens; its transitions follow from them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "base/memory.hpp"
#include "structures/chain/chain_kernels.hpp"
#include "structures/chain/shared_features.hpp"
#include "structures/sparse_sum.hpp"
#include "structures/structure.hpp"

namespace dualstruct {

struct ChainScratch;

// What a chain is built from; `owner` keeps the arrays alive.
struct ChainData {
    std::span<const std::int64_t> sentences;     // [n + 1] into tokens
    std::span<const std::int64_t> offsets;       // [tokens + 1] into features
    std::span<const std::int32_t> features;
    std::span<const float> values;               // empty: all 1
    std::span<const std::int32_t> truth;         // [tokens]; empty: prediction only
    std::int64_t dimension = 0;                  // features
    int labels = 0;
    std::span<const float> cost;                 // [labels, labels]: (truth, label)
    std::span<const float> token_weights;        // [tokens]: what the cost is multiplied by; empty: all 1
    std::span<const std::uint8_t> transitions;   // [labels + 1, labels + 1]: allowed; empty: all
    std::span<const std::int64_t> allowed_offsets;  // [tokens + 1] into allowed; empty: all
    std::span<const std::int32_t> allowed;
    std::span<const std::int64_t> pair_offsets;  // [tokens + 1] into pair_features; empty: there are none
    std::span<const std::int32_t> pair_features;  // those of a sentence's first token are not used
    std::span<const float> pair_values;           // empty: all 1
    std::int64_t pair_dimension = 0;
    std::shared_ptr<const void> owner;
};

struct ChainExpectation {
    double log_partition;       // (1/β) log Σ_y exp β(w·φ(y) + γΔ(y))
    double expected_cost;
    std::vector<float> labels;  // [tokens, labels]
    std::vector<float> pairs;   // [tokens − 1, labels, labels]
};

class Chain final : public Structure, public Expectations, public Parts {
public:
    static constexpr int label_bits = 12;
    static constexpr int max_labels = 1 << label_bits;
    static constexpr std::int64_t max_tokens = std::int64_t{1} << (32 - label_bits);

    explicit Chain(const ChainData& data);

    static int stride_for(int labels);

    std::int64_t size() const override { return static_cast<std::int64_t>(data_.sentences.size()) - 1; }
    bool has_truth() const override { return data_.sentences.back() == 0 || !data_.truth.empty(); }
    std::int64_t dimension() const override { return rows() * stride_; }
    std::int64_t storage() const override { return (rows() + 2 * data_.labels + 2) * stride_; }
    void derive(float* w) const override;
    std::uint64_t layout() const override { return layout_; }
    std::unique_ptr<Scratch> make_scratch() const override;
    std::int64_t output_size(std::int64_t i) const override { return tokens(i); }

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
    std::unique_ptr<Excerpt> make_excerpt() const override;  // none if features have values or weigh pairs
    double log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const override;
    void add_expected_difference(float* target, std::int64_t i, float step, Scratch& scratch) const override;
    double expected_difference_norm2(std::int64_t i, Scratch& scratch) const override;
    // Parts: emissions [tokens, stride], then transitions [labels + 2, stride] as among the weights, then,
    // if there are pair features, steps [tokens, labels, stride] as they add to the transitions.
    std::int64_t part_count(std::int64_t i) const override {
        return (tokens(i) + data_.labels + 2 + (has_pairs() ? tokens(i) * data_.labels : 0)) * stride_;
    }
    void part_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const override;
    double part_marginals(std::int64_t i, std::span<const float> scores, std::span<float> marginals,
                          Scratch& scratch) const override;
    double expected_part_cost(std::int64_t i, std::span<const float> marginals) const override;
    void add_parts(float* w, std::int64_t i, std::span<const float> marginals, float step) const override;
    void add_variance(float* target, std::int64_t i) const override;
    void mark_observed(float* marks, std::int64_t i) const override;
    double score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const override;
    void add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const override;

    ChainExpectation expectation(const float* w, std::int64_t i, double beta, double gamma, bool pairs,
                                 Scratch& scratch) const;

    void prefetch_example(std::int64_t i) const override;
    void prefetch_outline(std::int64_t i) const override;
    void prefetch_parts(std::int64_t i, std::span<const Code> codes) const override;
    void prefetch_decode(const float* w, std::int64_t i) const override;
    void prefetch_cut(const float* w, std::int64_t i, std::span<const Code> codes) const override;

    std::int64_t tokens(std::int64_t i) const { return data_.sentences[i + 1] - data_.sentences[i]; }
    std::int64_t first_token(std::int64_t i) const { return data_.sentences[i]; }
    int labels() const { return data_.labels; }
    int stride() const { return stride_; }

    // Other true labels, [tokens]. Cuts are differences from the truth: whoever holds some takes them out
    // before (DualState::take) and puts them back.
    void set_truth(std::vector<std::int32_t> truth) {
        truth_ = std::move(truth);
        data_.truth = truth_;
    }

private:
    friend class ChainExcerpt;

    bool has_pairs() const { return !data_.pair_offsets.empty(); }
    std::int64_t rows() const { return pair_row(data_.pair_dimension, 0); }
    std::int64_t transition_row(int from) const { return data_.dimension + from; }
    // Among the weights; to = labels is the end.
    std::int64_t transition_place(int from, int to) const {
        return to == data_.labels ? transition_row(to + 1) * stride_ + from : transition_row(from) * stride_ + to;
    }
    // 0, or −∞ where no output has this transition.
    float forbidden(int from, int to) const {
        return to == data_.labels ? forbidden_[at(to + 1) * at(stride_) + at(from)]
                                  : forbidden_[at(from) * at(stride_) + at(to)];
    }
    std::int64_t pair_row(std::int64_t feature, std::int64_t from) const {
        return data_.dimension + data_.labels + 2 + feature * data_.labels + from;
    }
    ChainInput input(const float* w, std::int64_t i, float cost_weight, ChainScratch& buffers) const;
    [[noreturn]] void fail_infeasible(const ChainInput& in, std::int64_t i, const float* maxima) const;

    template <class Emit, class Move>
    void walk(std::int64_t i, std::span<const Code> codes, Emit emit, Move move) const;
    template <class Emit, class Move>
    void walk_output(std::int64_t i, std::span<const std::int32_t> output, Emit emit, Move move) const;
    // Calls visit(row of the weights, value) for each pair feature that weighs steps from a label into a token.
    template <class Visit>
    void for_pairs(std::int64_t token, int from, int to, Visit visit) const {
        if (!has_pairs() || from >= data_.labels || to >= data_.labels) return;
        for (std::int64_t f = data_.pair_offsets[token]; f < data_.pair_offsets[token + 1]; ++f) {
            visit(pair_row(data_.pair_features[f], from), data_.pair_values.empty() ? 1 : data_.pair_values[f]);
        }
    }
    // Calls visit(token, feature's first row, value) for each pair feature of example i that is used; tokens
    // count from the sentence's start.
    template <class Visit>
    void for_all_pairs(std::int64_t i, Visit visit) const {
        if (!has_pairs()) return;
        for (std::int64_t t = 1, first = data_.sentences[i]; t < tokens(i); ++t) {
            for_pairs(first + t, 0, 0, [&](std::int64_t row, float value) { visit(t, row, value); });
        }
    }
    double sum_labellings(const ChainInput& in, std::int64_t i, float beta, Scratch& scratch) const;
    void add_block(float* to, const float* from, float step) const;  // [labels, stride]
    void exponentiate_transitions(const ChainInput& in, float beta, Scratch& scratch) const;
    void log_marginals(const ChainInput& in, std::int64_t i, float beta, Scratch& scratch) const;
    void move_transition(float* w, std::int64_t token, int from, int to, float step) const;

    // What the cost at a token is multiplied by.
    double token_weight(std::int64_t token) const {
        return data_.token_weights.empty() ? 1 : data_.token_weights[at(token)];
    }

    ChainData data_;
    std::vector<std::int32_t> truth_;  // if it was set later
    int stride_;
    FloatBuffer cost_;       // [labels, stride], padding 0
    FloatBuffer forbidden_;  // [labels + 2, stride]: 0 or −∞
    std::uint64_t layout_;
    mutable std::once_flag shared_features_made_;
    mutable std::unique_ptr<const SharedFeatures> shared_features_;
};

}  // namespace dualstruct
