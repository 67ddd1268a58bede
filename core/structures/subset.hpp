// Some of the examples of another structure, as a structure of their own: the part of the data that
// one of several machines holds, when all of them are simulated in one process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "structures/structure.hpp"

namespace dualstruct {

class Subset final : public Structure, private Expectations, private Parts {
public:
    Subset(const Structure& whole, std::vector<std::int64_t> examples) : whole_(whole), examples_(std::move(examples)) {
        if (whole.weights().empty()) return;
        std::vector<double> weights;
        for (std::int64_t i : examples_) weights.push_back(whole.weight(i));
        set_weights(std::move(weights));
    }

    std::int64_t size() const override { return static_cast<std::int64_t>(examples_.size()); }
    bool has_truth() const override { return whole_.has_truth(); }
    std::int64_t dimension() const override { return whole_.dimension(); }
    std::int64_t storage() const override { return whole_.storage(); }
    void derive(float* w) const override { whole_.derive(w); }
    std::uint64_t layout() const override { return whole_.layout(); }
    bool exact_decoder() const override { return whole_.exact_decoder(); }
    std::unique_ptr<Scratch> make_scratch() const override { return whole_.make_scratch(); }
    std::int64_t output_size(std::int64_t i) const override { return whole_.output_size(original(i)); }

    void decode(const float* w, std::int64_t i, float cost_weight, Scratch& scratch) const override {
        whole_.decode(w, original(i), cost_weight, scratch);
    }
    bool is_output(std::int64_t i, std::span<const std::int32_t> output) const override {
        return whole_.is_output(original(i), output);
    }
    void difference(std::int64_t i, std::span<const std::int32_t> output, Difference& d) const override {
        whole_.difference(original(i), output, d);
    }
    bool is_valid(std::int64_t i, std::span<const Code> codes) const override {
        return whole_.is_valid(original(i), codes);
    }

    void output_of(std::int64_t i, std::span<const Code> codes, std::vector<std::int32_t>& output) const override {
        whole_.output_of(original(i), codes, output);
    }
    bool allows(std::int64_t i, std::span<const std::int32_t> output) const override {
        return whole_.allows(original(i), output);
    }

    double dot(const float* w, std::int64_t i, std::span<const Code> codes) const override {
        return whole_.dot(w, original(i), codes);
    }
    void axpy(float* w, std::int64_t i, std::span<const Code> codes, float step) const override {
        whole_.axpy(w, original(i), codes, step);
    }
    void accumulate(std::int64_t i, std::span<const Code> codes, float coefficient, SparseSum& sum) const override {
        whole_.accumulate(original(i), codes, coefficient, sum);
    }
    double inner(std::int64_t i, std::span<const Code> a, std::span<const Code> b, Scratch& scratch) const override {
        return whole_.inner(original(i), a, b, scratch);
    }
    double distance2(std::int64_t i, std::span<const Code> a, std::span<const Code> b,
                     Scratch& scratch) const override {
        return whole_.distance2(original(i), a, b, scratch);
    }
    double combination_norm2(std::int64_t i, std::span<const WeightedCodes> terms, Scratch& scratch) const override {
        return whole_.combination_norm2(original(i), terms, scratch);
    }

    std::vector<ScoredOutput> k_best(const float* w, std::int64_t i, float cost_weight, int k,
                                     Scratch& scratch) const override {
        return whole_.k_best(w, original(i), cost_weight, k, scratch);
    }

    void mark_observed(float* marks, std::int64_t i) const override { whole_.mark_observed(marks, original(i)); }

    // It has what the whole has.
    const Expectations* expectations() const override { return whole_.expectations() ? this : nullptr; }
    double log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const override {
        return whole_.expectations()->log_loss(w, original(i), beta, gamma, scratch);
    }
    void add_expected_difference(float* target, std::int64_t i, float step, Scratch& scratch) const override {
        whole_.expectations()->add_expected_difference(target, original(i), step, scratch);
    }
    double expected_difference_norm2(std::int64_t i, Scratch& scratch) const override {
        return whole_.expectations()->expected_difference_norm2(original(i), scratch);
    }
    void add_variance(float* target, std::int64_t i) const override {
        whole_.expectations()->add_variance(target, original(i));
    }

    const Parts* parts() const override { return whole_.parts() ? this : nullptr; }
    std::int64_t part_count(std::int64_t i) const override { return whole_.parts()->part_count(original(i)); }
    void part_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const override {
        whole_.parts()->part_scores(w, original(i), gamma, scores);
    }
    double part_marginals(std::int64_t i, std::span<const float> scores, std::span<float> marginals,
                          Scratch& scratch) const override {
        return whole_.parts()->part_marginals(original(i), scores, marginals, scratch);
    }
    double expected_part_cost(std::int64_t i, std::span<const float> marginals) const override {
        return whole_.parts()->expected_part_cost(original(i), marginals);
    }
    void add_parts(float* w, std::int64_t i, std::span<const float> marginals, float step) const override {
        whole_.parts()->add_parts(w, original(i), marginals, step);
    }
    void add_part_difference(float* w, std::int64_t i, std::span<const float> marginals, float step) const override {
        whole_.parts()->add_part_difference(w, original(i), marginals, step);
    }

    double score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const override {
        return whole_.score(w, original(i), output);
    }
    void add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const override {
        whole_.add_features(w, original(i), output, step);
    }

    void prefetch_example(std::int64_t i) const override { whole_.prefetch_example(original(i)); }
    void prefetch_decode(const float* w, std::int64_t i) const override { whole_.prefetch_decode(w, original(i)); }
    void prefetch_cut(const float* w, std::int64_t i, std::span<const Code> codes) const override {
        whole_.prefetch_cut(w, original(i), codes);
    }

private:
    std::int64_t original(std::int64_t i) const { return examples_[at(i)]; }

    const Structure& whole_;
    std::vector<std::int64_t> examples_;
};

}  // namespace dualstruct
