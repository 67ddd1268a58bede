// Multiclass classification: one label per example. A cut's code is its label; with δ = x ⊗ (truth − label)
// everything about cuts follows from ‖x‖².
//
// Weights lie as the features ask for: [labels, stride] for dense ones, so that a cut reads and writes two rows in
// order; [features, stride] for sparse ones, so that a feature's weights for all labels share a cache line.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "structures/structure.hpp"

namespace dualstruct {

struct MulticlassData {
    std::int64_t examples = 0, features = 0;
    int labels = 0;
    std::span<const float> values;          // dense: [examples, features]
    std::span<const std::int64_t> offsets;  // sparse: [examples + 1]; empty: dense
    std::span<const std::int32_t> ids;
    std::span<const std::int32_t> truth;    // [examples]; empty: prediction only
    std::span<const float> cost;            // [labels, labels]: (truth, label)
    std::shared_ptr<const void> owner;
};

class Multiclass final : public Structure, public Expectations, public Parts {
public:
    explicit Multiclass(const MulticlassData& data);

    std::int64_t size() const override { return data_.examples; }
    bool has_truth() const override { return data_.examples == 0 || !data_.truth.empty(); }
    std::int64_t dimension() const override { return (dense() ? data_.labels : data_.features) * stride_; }
    std::int64_t storage() const override { return dimension(); }
    void derive(float*) const override {}
    std::uint64_t layout() const override;
    std::unique_ptr<Scratch> make_scratch() const override;
    std::int64_t output_size(std::int64_t) const override { return 1; }

    void decode(const float* w, std::int64_t i, float cost_weight, Scratch& scratch) const override;
    bool is_output(std::int64_t i, std::span<const std::int32_t> output) const override;
    void difference(std::int64_t i, std::span<const std::int32_t> output, Difference& d) const override;
    bool is_valid(std::int64_t i, std::span<const Code> codes) const override;
    void output_of(std::int64_t i, std::span<const Code> codes, std::vector<std::int32_t>& output) const override;
    bool allows(std::int64_t i, std::span<const std::int32_t> output) const override;
    double dot(const float* w, std::int64_t i, std::span<const Code> codes) const override;
    using Structure::axpy;
    using Structure::dot;
    void axpy(float* w, std::int64_t i, std::span<const Code> codes, float step) const override;
    void accumulate(std::int64_t i, std::span<const Code> codes, float coefficient, SparseSum& sum) const override;
    double inner(std::int64_t i, std::span<const Code> a, std::span<const Code> b, Scratch& scratch) const override;
    double combination_norm2(std::int64_t i, std::span<const WeightedCodes> terms, Scratch& scratch) const override;
    std::vector<ScoredOutput> k_best(const float* w, std::int64_t i, float cost_weight, int k,
                                     Scratch& scratch) const override;
    const Expectations* expectations() const override { return this; }
    const Parts* parts() const override { return this; }
    double log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const override;
    void add_expected_difference(float* target, std::int64_t i, float step, Scratch& scratch) const override;
    double expected_difference_norm2(std::int64_t i, Scratch& scratch) const override;
    // Parts: the labels.
    std::int64_t part_count(std::int64_t) const override { return data_.labels; }
    void part_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const override;
    double part_marginals(std::int64_t i, std::span<const float> scores, std::span<float> marginals,
                          Scratch& scratch) const override;
    double expected_part_cost(std::int64_t i, std::span<const float> marginals) const override;
    void add_parts(float* w, std::int64_t i, std::span<const float> marginals, float step) const override;
    void add_variance(float* target, std::int64_t i) const override;
    void mark_observed(float* marks, std::int64_t i) const override;
    double score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const override;
    void add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const override;
    void prefetch_example(std::int64_t i) const override;

    bool dense() const { return data_.offsets.empty(); }
    std::int64_t stride() const { return stride_; }
    int labels() const { return data_.labels; }
    // w·φ + cost_weight·Δ for every label, [labels].
    void label_scores(const float* w, std::int64_t i, float cost_weight, std::vector<float>& scores) const;

private:
    // visit(feature, value), of those that are not 0.
    template <class Visit>
    void for_features(std::int64_t i, Visit visit) const;
    const float* row(std::int64_t i) const { return data_.values.data() + i * data_.features; }
    std::int64_t weight(std::int64_t feature, std::int64_t label) const {
        return dense() ? label * stride_ + feature : feature * stride_ + label;
    }
    // w += step·x ⊗ coefficients.
    void add_rows(float* w, std::int64_t i, std::span<const float> coefficients, float step) const;
    float cost(std::int64_t i, int label) const { return data_.cost[at(data_.truth[at(i)] * data_.labels + label)]; }
    double norm2(std::int64_t i) const { return norms2_[at(i)]; }

    MulticlassData data_;
    std::int64_t stride_;
    std::vector<float> norms2_;  // [examples]: ‖x‖²
};

}  // namespace dualstruct
