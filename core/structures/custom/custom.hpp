// Structures that users write. Their features arrive as sparse vectors, so an output is known by its
// cost and by δ = φ_i(y_i) − φ_i(y): two outputs that share both are the same to learning.
//
// The numbers of an output, and bit for bit the codes of a cut:
//   [1]     Δ_i(y)
//   [2] …   a weight's index and the value of δ there; indices rise, no value is 0
// Floats stand there by their bits. The truth's output is a cost of 0 alone; it has no codes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "structures/sparse_sum.hpp"
#include "structures/structure.hpp"

namespace dualstruct {

struct Entry {
    std::uint32_t index;
    float value;
};
using SparseVector = std::vector<Entry>;

// Brings entries into the order that everything here relies on: indices rise, none twice, no zeros.
void tidy(SparseVector& entries);

using CustomOutput = std::vector<std::int32_t>;

// The output with these features and this cost, given the truth's features.
void encode_output(std::span<const Entry> truth, std::span<const Entry> features, float cost, CustomOutput& output);

// φ_i(y_i) of every example.
struct TrueFeatures {
    std::vector<std::int64_t> offsets{0};
    SparseVector entries;

    void add(std::span<const Entry> row) {
        entries.insert(entries.end(), row.begin(), row.end());
        offsets.push_back(static_cast<std::int64_t>(entries.size()));
    }
    std::span<const Entry> operator[](std::int64_t i) const {
        if (offsets.size() == 1) return {};  // no truth
        const auto place = at(i);
        return std::span(entries).subspan(at(offsets[place]), at(offsets[place + 1] - offsets[place]));
    }
};

// What a user's code answers; called without the GIL, and by several threads.
class UserCode {
public:
    virtual ~UserCode() = default;
    virtual void decode(const float* w, std::int64_t i, float cost_weight, CustomOutput& output) = 0;
    virtual std::vector<CustomOutput> k_best(const float* w, std::int64_t i, float cost_weight, int k) = 0;
    virtual bool has_expectation() const = 0;
    // (1/β) log Σ_y exp β(w·φ_i(y) + γΔ_i(y)), and E φ_i(y).
    virtual double expectation(const float* w, std::int64_t i, double beta, double gamma, SparseVector& features) = 0;
};

class Custom final : public Structure, public Expectations {
public:
    Custom(std::unique_ptr<UserCode> code, std::shared_ptr<const TrueFeatures> truth, std::int64_t size,
           std::int64_t dimension, bool has_truth);

    std::int64_t size() const override { return size_; }
    bool has_truth() const override { return has_truth_; }
    std::int64_t dimension() const override { return dimension_; }
    std::int64_t storage() const override { return dimension_; }
    void derive(float*) const override {}
    std::uint64_t layout() const override;
    // Nobody vouches for a user's decoder: what it finds is compared with the cuts held.
    bool exact_decoder() const override { return false; }
    std::unique_ptr<Scratch> make_scratch() const override;
    std::int64_t output_size(std::int64_t) const override;

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
    std::vector<ScoredOutput> k_best(const float* w, std::int64_t i, float cost_weight, int k,
                                     Scratch& scratch) const override;
    const Expectations* expectations() const override { return code_->has_expectation() ? this : nullptr; }
    double log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const override;
    void add_expected_difference(float* target, std::int64_t i, float step, Scratch& scratch) const override;
    double expected_difference_norm2(std::int64_t i, Scratch& scratch) const override;
    void add_variance(float* target, std::int64_t i) const override;
    void mark_observed(float* marks, std::int64_t i) const override;
    double score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const override;
    void add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const override;
    void prefetch_cut(const float* w, std::int64_t i, std::span<const Code> codes) const override;

    UserCode& code() const { return *code_; }
    const TrueFeatures& truth() const { return *truth_; }

private:
    std::unique_ptr<UserCode> code_;
    std::shared_ptr<const TrueFeatures> truth_;
    std::int64_t size_, dimension_;
    bool has_truth_;
    mutable std::vector<float> zeros_;  // weights of 0, once somebody asked for variances
};

}  // namespace dualstruct
