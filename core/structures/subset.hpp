// Some of the examples of another structure, as a structure of their own: the part of the data that
// one of several machines holds, when all of them are simulated in one process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "structures/structure.hpp"

namespace dualstruct {

class Subset : public Structure {
public:
    Subset(const Structure& whole, std::vector<std::int64_t> examples)
        : whole_(whole), examples_(std::move(examples)) {
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
    std::int64_t output_size(std::int64_t i) const override { return whole_.output_size(at(i)); }

    void decode(const float* w, std::int64_t i, float cost_weight, Scratch& scratch) const override {
        whole_.decode(w, at(i), cost_weight, scratch);
    }
    bool is_output(std::int64_t i, std::span<const std::int32_t> output) const override {
        return whole_.is_output(at(i), output);
    }
    void difference(std::int64_t i, std::span<const std::int32_t> output, Difference& d) const override {
        whole_.difference(at(i), output, d);
    }
    bool is_valid(std::int64_t i, std::span<const Word> words) const override { return whole_.is_valid(at(i), words); }

    void output_of(std::int64_t i, std::span<const Word> words, std::vector<std::int32_t>& output) const override {
        whole_.output_of(at(i), words, output);
    }
    bool allows(std::int64_t i, std::span<const std::int32_t> output) const override {
        return whole_.allows(at(i), output);
    }

    double dot(const float* w, std::int64_t i, std::span<const Word> words) const override {
        return whole_.dot(w, at(i), words);
    }
    void axpy(float* w, std::int64_t i, std::span<const Word> words, float step) const override {
        whole_.axpy(w, at(i), words, step);
    }
    void accumulate(std::int64_t i, std::span<const Word> words, float coefficient, SparseSum& sum) const override {
        whole_.accumulate(at(i), words, coefficient, sum);
    }
    double inner(std::int64_t i, std::span<const Word> a, std::span<const Word> b, Scratch& scratch) const override {
        return whole_.inner(at(i), a, b, scratch);
    }
    double distance2(std::int64_t i, std::span<const Word> a, std::span<const Word> b,
                     Scratch& scratch) const override {
        return whole_.distance2(at(i), a, b, scratch);
    }
    double combination_norm2(std::int64_t i, std::span<const WeightedWords> terms, Scratch& scratch) const override {
        return whole_.combination_norm2(at(i), terms, scratch);
    }

    std::vector<ScoredOutput> k_best(const float* w, std::int64_t i, float cost_weight, int k,
                                     Scratch& scratch) const override {
        return whole_.k_best(w, at(i), cost_weight, k, scratch);
    }

    double log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const override {
        return whole_.log_loss(w, at(i), beta, gamma, scratch);
    }
    void add_expected_difference(float* target, std::int64_t i, float step, Scratch& scratch) const override {
        whole_.add_expected_difference(target, at(i), step, scratch);
    }
    double expected_difference_norm2(std::int64_t i, Scratch& scratch) const override {
        return whole_.expected_difference_norm2(at(i), scratch);
    }
    void add_variance(float* target, std::int64_t i) const override { whole_.add_variance(target, at(i)); }
    void mark_observed(float* marks, std::int64_t i) const override { whole_.mark_observed(marks, at(i)); }

    std::int64_t parts(std::int64_t i) const override { return whole_.parts(at(i)); }
    void part_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const override {
        whole_.part_scores(w, at(i), gamma, scores);
    }
    double part_marginals(std::int64_t i, std::span<const float> scores, std::span<float> marginals,
                          Scratch& scratch) const override {
        return whole_.part_marginals(at(i), scores, marginals, scratch);
    }
    double expected_part_cost(std::int64_t i, std::span<const float> marginals) const override {
        return whole_.expected_part_cost(at(i), marginals);
    }
    void add_parts(float* w, std::int64_t i, std::span<const float> marginals, float step) const override {
        whole_.add_parts(w, at(i), marginals, step);
    }
    void add_part_difference(float* w, std::int64_t i, std::span<const float> marginals, float step) const override {
        whole_.add_part_difference(w, at(i), marginals, step);
    }

    double score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const override {
        return whole_.score(w, at(i), output);
    }
    void add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const override {
        whole_.add_features(w, at(i), output, step);
    }

    void prefetch_example(std::int64_t i) const override { whole_.prefetch_example(at(i)); }
    void prefetch_decode(const float* w, std::int64_t i) const override { whole_.prefetch_decode(w, at(i)); }
    void prefetch_cut(const float* w, std::int64_t i, std::span<const Word> words) const override {
        whole_.prefetch_cut(w, at(i), words);
    }

private:
    std::int64_t at(std::int64_t i) const { return examples_[static_cast<std::size_t>(i)]; }

    const Structure& whole_;
    std::vector<std::int64_t> examples_;
};

}  // namespace dualstruct
