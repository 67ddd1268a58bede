// Factor graphs with features: each example is a graph (core/graphs) whose soft factors have a kind. A kind has
// weights [features, configurations]; the table of a factor is its features times these weights, with the
// table's entries tied to configurations where the factor says so (−1: forbidden).
//
// Weights are the kinds', one after the other, without padding. A cut's codes are (variable, state) for each
// variable that differs from the truth, in order of variables.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "inference/graphs/inference.hpp"
#include "structures/sparse_sum.hpp"
#include "structures/structure.hpp"

namespace dualstruct {

struct FactorKind {
    std::int64_t features = 0, configurations = 0;
    std::int64_t offset = 0;  // of its weights
};

// A run of factors that have features: those of factor k are row k·row_step, and its kind is
// kind + k·kind_step. Its tie, −1 for none, has a configuration for each entry of a table.
struct FactorBlock {
    std::int32_t first, count, kind, kind_step, tie;
};

// The features of a block in one example: dense rows, or offsets and ids of sparse ones.
struct BlockFeatures {
    const float* values;
    const std::int32_t* ids;      // null: dense
    const std::int64_t* offsets;  // null: dense
    std::int32_t row_step;        // 0: all factors share row 0
    std::shared_ptr<const void> owner;
};

// Graphs of one shape: the examples that share it differ in features and truth only.
struct GraphShape {
    std::shared_ptr<const graphs::Graph> graph;
    std::vector<FactorBlock> blocks;
    std::vector<double> fixed;           // [total_scores]: 0, or −∞ where a table without features forbids
    std::vector<std::int32_t> block_of;  // [factors]; −1: no features
};

class FactorGraph final : public Structure, public Expectations, public Parts {
public:
    FactorGraph(std::vector<FactorKind> kinds, graphs::RelaxationOptions map, graphs::PropagationOptions sum);

    int add_tie(std::vector<std::int32_t> tie);
    int add_shape(std::shared_ptr<const graphs::Graph> graph, std::vector<FactorBlock> blocks,
                  std::vector<double> fixed);
    // `features` has an entry for each block of the shape. Truth and costs [states of all variables] may be
    // empty; costs are 0 at the truth, Hamming by default.
    void add_example(int shape, std::vector<BlockFeatures> features, std::vector<std::int32_t> truth,
                     std::vector<float> costs);

    std::int64_t size() const override { return static_cast<std::int64_t>(examples_.size()); }
    bool has_truth() const override { return has_truth_; }
    std::int64_t dimension() const override { return dimension_; }
    std::int64_t storage() const override { return dimension_; }
    void derive(float*) const override {}
    std::uint64_t layout() const override { return layout_; }
    bool exact_decoder() const override { return forests_; }
    std::unique_ptr<Scratch> make_scratch() const override;
    std::int64_t output_size(std::int64_t i) const override { return graph(i).variables(); }

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
    std::vector<ScoredOutput> k_best(const float* w, std::int64_t i, float cost_weight, int k,
                                     Scratch& scratch) const override;
    const Expectations* expectations() const override { return this; }
    // With loops, distributions over parts would not be exact.
    const Parts* parts() const override { return forests_ ? this : nullptr; }
    double log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const override;
    void add_expected_difference(float* target, std::int64_t i, float step, Scratch& scratch) const override;
    double expected_difference_norm2(std::int64_t i, Scratch& scratch) const override;
    // Parts: the states of all variables, which have only costs, then the scores of all factors.
    std::int64_t part_count(std::int64_t i) const override;
    void part_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const override;
    double part_marginals(std::int64_t i, std::span<const float> scores, std::span<float> marginals,
                          Scratch& scratch) const override;
    double expected_part_cost(std::int64_t i, std::span<const float> marginals) const override;
    void add_parts(float* w, std::int64_t i, std::span<const float> marginals, float step) const override;
    void add_variance(float* target, std::int64_t i) const override;
    void mark_observed(float* marks, std::int64_t i) const override;
    double score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const override;
    void add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const override;

    // Decoding by the engine's own answer, and marginals, of one example.
    const graphs::Best& best(const float* w, std::int64_t i, float cost_weight, Scratch& scratch) const;
    const graphs::Marginals& marginals(const float* w, std::int64_t i, double beta, double gamma,
                                       Scratch& scratch) const;

    const graphs::Graph& graph(std::int64_t i) const { return *shape(i).graph; }
    const std::vector<FactorKind>& kinds() const { return kinds_; }
    // How many times decode was asked, and how many times its answer was not proven the best; the same for
    // sums over graphs with loops that did not come to a stand.
    std::int64_t decoded() const { return decoded_; }
    std::int64_t inexact() const { return inexact_; }
    std::int64_t unsettled() const { return unsettled_; }
    // The first factor that forbids an output, or −1.
    int violated(std::int64_t i, std::span<const std::int32_t> output) const;

private:
    struct Example {
        std::int32_t shape;
        std::vector<BlockFeatures> features;
        std::vector<std::int32_t> truth;
        std::vector<float> costs;
    };
    const Example& example(std::int64_t i) const { return examples_[at(i)]; }
    const GraphShape& shape(std::int64_t i) const { return shapes_[at(example(i).shape)]; }
    float cost(std::int64_t i, int variable, int state) const;

    // What a factor has of its kind and its block.
    struct Soft {
        std::int64_t features, configurations, offset;
        const std::int32_t* tie;
        int configuration(int entry) const { return tie ? tie[entry] : entry; }
    };
    bool is_soft(std::int64_t i, int f) const { return shape(i).block_of[at(f)] >= 0; }
    Soft soft(std::int64_t i, int f) const;
    // visit(feature, value) for the features of a factor.
    template <class Visit>
    void for_features(std::int64_t i, int f, Visit visit) const;
    template <class Visit>
    void for_soft_factors(std::int64_t i, Visit visit) const;
    // visit(f, kind, true configuration, the cut's) for each factor whose configurations differ.
    template <class Visit>
    void walk(std::int64_t i, std::span<const Code> codes, Visit visit) const;
    void fill_scores(const float* w, std::int64_t i, double scale, double cost_weight, Scratch& scratch) const;
    void fill_table(const float* w, std::int64_t i, int f, std::vector<float>& row) const;
    std::size_t entries(std::int64_t i, std::span<const Code> codes) const;
    // E φ by configurations: visit(f, kind, probabilities).
    template <class Probability, class Visit>
    void expected(std::int64_t i, Probability probability, Visit visit) const;
    [[noreturn]] void fail(std::int64_t i, const graphs::Scores& scores, graphs::Status status) const;

    std::vector<FactorKind> kinds_;
    std::vector<std::vector<std::int32_t>> ties_;
    graphs::RelaxationOptions map_;
    graphs::PropagationOptions sum_;
    std::vector<GraphShape> shapes_;
    std::vector<Example> examples_;
    std::int64_t dimension_ = 0;
    std::uint64_t layout_ = 0;
    bool has_truth_ = true, forests_ = true;
    mutable std::atomic<std::int64_t> decoded_{0}, inexact_{0}, unsettled_{0};
};

}  // namespace dualstruct
