// Dependency trees with consecutive siblings and grandparents, over the arcs that pruning left.
//
// Outputs, costs and a cut's words are those of Tree; a cut's other parts follow from its heads and the truth's. The
// weights are those of Tree and then the lines of second_order_features.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "inference/trees/pruning.hpp"
#include "inference/trees/second_order.hpp"
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

class SecondOrderTree final : public Structure {
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
    void accumulate(std::int64_t i, std::span<const Code> codes, float coefficient, SparseSum& sum) const override;
    double score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const override;
    void add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const override;
    void mark_observed(float* marks, std::int64_t i) const override;

    // p(arc) [n + 1, n + 1] by loopy belief propagation, labels summed out; returns whether it converged.
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

}  // namespace dualstruct
