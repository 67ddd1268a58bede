// The noun Structure: what the outputs of an example are, their features and their cost.
// It knows nothing of losses, solvers or duals.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "structures/shared_lines.hpp"
#include "structures/sparse_sum.hpp"

namespace dualstruct {

using Code = std::uint32_t;

// Thrown when hard constraints leave an example without any output.
class Infeasible : public std::runtime_error {
public:
    Infeasible(std::int64_t example, std::int64_t part)
        : std::runtime_error("no output satisfies the constraints"), example(example), part(part) {}
    std::int64_t example;
    std::int64_t part;  // where it first becomes impossible: a token of a chain
};

// Buffers of one thread; a structure fills in what its decoder needs.
class Scratch {
public:
    virtual ~Scratch() = default;
    std::vector<std::int32_t> output;  // what decode found
    SparseSum sum, other;              // differences under construction
};

// How an output differs from the truth, in the structure's own compact form.
struct Difference {
    bool is_truth = true;
    std::vector<Code> codes;
    float cost = 0;  // Δ_i(y)
};

struct WeightedCodes {
    std::span<const Code> codes;
    double coefficient;
};

struct ScoredOutput {
    double score;  // w·φ(y) + cost_weight·Δ(y)
    std::vector<std::int32_t> output;
};

// Thrown by a structure that lacks what a solver asks of it.
class Unsupported : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

// Sums over all outputs: p(y) ∝ exp β(w·φ_i(y) + γΔ_i(y)).
class Expectations {
public:
    // (1/β) log Σ_y exp β(γΔ_i(y) − w·δ_i(y)). What the two functions after it need of p stays in scratch.
    virtual double log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const = 0;
    // target += step·(φ_i(y_i) − E φ_i(y)).
    virtual void add_expected_difference(float* target, std::int64_t i, float step, Scratch& scratch) const = 0;
    // ‖φ_i(y_i) − E φ_i(y)‖².
    virtual double expected_difference_norm2(std::int64_t i, Scratch& scratch) const = 0;
    // target += the variance of each feature of φ_i(y) when all outputs are equally likely, or about it:
    // more than 0 wherever a feature can occur.
    virtual void add_variance(float* target, std::int64_t i) const = 0;

protected:
    ~Expectations() = default;
};

// Scores and marginals of the parts that outputs are made of, as one vector of part_count(i) numbers in
// the structure's own order: what p(y) ∝ exp(sum of y's part scores) needs when it is not w that
// scores. Parts that no output has may hold anything in scores and hold 0 in marginals.
class Parts {
public:
    virtual std::int64_t part_count(std::int64_t i) const = 0;
    // scores = those of w·φ_i(y) + gamma·Δ_i(y).
    virtual void part_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const = 0;
    // Returns log Σ_y exp(score of y).
    virtual double part_marginals(std::int64_t i, std::span<const float> scores, std::span<float> marginals,
                                  Scratch& scratch) const = 0;
    // E Δ_i(y); w += step·(Σ_part marginal·φ_part).
    virtual double expected_part_cost(std::int64_t i, std::span<const float> marginals) const = 0;
    virtual void add_parts(float* w, std::int64_t i, std::span<const float> marginals, float step) const = 0;

protected:
    ~Parts() = default;
};

// What some outputs of one example touch of w, as scores of their parts: read once, moved in place, written once.
//
//   start(i), include the codes of output 0, 1, …;  prefetch(w);  read(w);  dot, axpy, … by their numbers;  write(w)
//
// Between read and write nobody else changes w. Codes stay where they are until read has seen them.
class Excerpt {
public:
    virtual ~Excerpt() = default;
    virtual void start(std::int64_t i) = 0;
    // False if the excerpt would be too large to be worth it.
    virtual bool include(std::span<const Code> codes) = 0;
    virtual void prefetch(const float* w) const = 0;
    virtual void read(const float* w) = 0;
    // w·δ, w += step·δ, ‖Σ coefficient·δ‖².
    virtual double dot(int output) const = 0;
    virtual void axpy(int output, float step) = 0;
    virtual double combination_norm2(std::span<const double> coefficients) = 0;
    virtual void write(float* w) = 0;
    // argmax of w·φ_i(y) + Δ_i(y) over the outputs that are made of parts of those included and of the truth; returns its
    // violation Δ_i(y) − w·δ_i(y).
    virtual double decode(Difference& found) = 0;
    // One more output, of such parts, after read.
    virtual void append(std::span<const Code> codes) = 0;
};

// What every structure has: outputs, their features and cost, a decoder, and the arithmetic of differences.
// Everything here but the constructors runs without the GIL.
class Structure {
public:
    virtual ~Structure() = default;

    virtual std::int64_t size() const = 0;       // examples
    virtual bool has_truth() const = 0;
    virtual std::int64_t dimension() const = 0;  // weights, padding included; padding stays 0
    // Weights and what the structure derives from them and keeps behind them.
    virtual std::int64_t storage() const = 0;
    // Recomputes the derived part after the weights were set from outside.
    virtual void derive(float* w) const = 0;
    // Structures with the same layout can share weights.
    virtual std::uint64_t layout() const = 0;

    // Whether decode always finds the maximum. If not, what it finds is compared with the cuts held.
    virtual bool exact_decoder() const { return true; }

    virtual std::unique_ptr<Scratch> make_scratch() const = 0;

    // How many numbers an output of example i has.
    virtual std::int64_t output_size(std::int64_t i) const = 0;

    // argmax_y w·φ_i(y) + cost_weight·Δ_i(y), into scratch.output.
    virtual void decode(const float* w, std::int64_t i, float cost_weight, Scratch& scratch) const = 0;

    // Whether these numbers are in range for an output of example i: as many as it has, none beyond what there is.
    virtual bool is_output(std::int64_t i, std::span<const std::int32_t> output) const = 0;

    virtual void difference(std::int64_t i, std::span<const std::int32_t> output, Difference& d) const = 0;
    // Whether these codes could be a difference of example i.
    virtual bool is_valid(std::int64_t i, std::span<const Code> codes) const = 0;

    // The output that differs from the truth by these codes.
    virtual void output_of(std::int64_t i, std::span<const Code> codes, std::vector<std::int32_t>& output) const = 0;
    // Whether an output keeps to the hard constraints of example i; all of its numbers are in range.
    virtual bool allows(std::int64_t i, std::span<const std::int32_t> output) const = 0;
    // The difference that codes from outside stand for, made again; false if no output of example i differs so.
    bool remake(std::int64_t i, std::span<const Code> codes, Scratch& scratch, Difference& d) const;

    // With δ = φ_i(y_i) − φ_i(y) of a difference's codes: w·δ, w += step·δ, δ·δ'.
    virtual double dot(const float* w, std::int64_t i, std::span<const Code> codes) const = 0;
    virtual void axpy(float* w, std::int64_t i, std::span<const Code> codes, float step) const = 0;
    // sum += coefficient·δ.
    virtual void accumulate(std::int64_t i, std::span<const Code> codes, float coefficient, SparseSum& sum) const = 0;
    // The same on lines that other workers move as well: w·δ, with the mean of the times, by δ², or about it; and
    // w += step·(times·δ), which touches the lines.
    virtual double dot(const float* w, std::int64_t i, std::span<const Code> codes, const SharedLines& lines,
                       double& mean_times) const;
    virtual void axpy(float* w, std::int64_t i, std::span<const Code> codes, float step, SharedLines& lines) const;
    virtual double inner(std::int64_t i, std::span<const Code> a, std::span<const Code> b, Scratch& scratch) const;

    // ‖δ − δ'‖² and ‖Σ_p coefficient_p δ_p‖².
    virtual double distance2(std::int64_t i, std::span<const Code> a, std::span<const Code> b, Scratch& scratch) const;
    virtual double combination_norm2(std::int64_t i, std::span<const WeightedCodes> terms, Scratch& scratch) const;
    // The latter with the times of each line.
    double combination_norm2(std::int64_t i, std::span<const WeightedCodes> terms, const SharedLines& lines,
                             Scratch& scratch) const;

    // The k best outputs of decode's objective, best first.
    virtual std::vector<ScoredOutput> k_best(const float* w, std::int64_t i, float cost_weight, int k,
                                             Scratch& scratch) const;

    // Sets to 1 what the truth's features are weighed by; a few weights that all outputs share may
    // be counted among them.
    virtual void mark_observed(float* marks, std::int64_t i) const = 0;

    // What only some structures have, and who needs it asks for before it starts; null: this one has none.
    virtual const Expectations* expectations() const { return nullptr; }
    virtual const Parts* parts() const { return nullptr; }
    virtual std::unique_ptr<Excerpt> make_excerpt() const { return nullptr; }

    // w·φ_i(y) and w += step·φ_i(y) of a whole output.
    virtual double score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const = 0;
    virtual void add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const = 0;
    double cost(std::int64_t i, std::span<const std::int32_t> output) const {
        Difference d;
        difference(i, output, d);
        return d.cost;
    }
    // What decode maximises: w·φ_i(y) + cost_weight·Δ_i(y).
    double objective(const float* w, std::int64_t i, std::span<const std::int32_t> output, double cost_weight) const {
        return score(w, i, output) + (cost_weight == 0 ? 0 : cost_weight * cost(i, output));
    }

    // Hints that example i, or a cut of it, is used soon.
    virtual void prefetch_example(std::int64_t) const {}
    // Of an example whose cuts come next, not the whole: first where its parts are, then those of each cut.
    virtual void prefetch_outline(std::int64_t i) const { prefetch_example(i); }
    virtual void prefetch_parts(std::int64_t, std::span<const Code>) const {}
    virtual void prefetch_decode(const float*, std::int64_t) const {}
    virtual void prefetch_cut(const float*, std::int64_t, std::span<const Code>) const {}
};

inline bool Structure::remake(std::int64_t i, std::span<const Code> codes, Scratch& scratch, Difference& d) const {
    if (!is_valid(i, codes)) return false;
    output_of(i, codes, scratch.output);
    if (!allows(i, scratch.output)) return false;
    difference(i, scratch.output, d);
    return !d.is_truth && std::ranges::equal(d.codes, codes);
}

inline double Structure::dot(const float* w, std::int64_t i, std::span<const Code> codes, const SharedLines& lines,
                             double& mean_times) const {
    thread_local SparseSum delta;
    delta.reset();
    accumulate(i, codes, 1, delta);
    double total = 0, weighted = 0;
    delta.for_each([&](std::uint64_t place, float value) {
        total += double{value} * value;
        weighted += double{value} * value * lines.times(static_cast<std::int64_t>(place));
    });
    mean_times = total > 0 ? weighted / total : 1;
    return dot(w, i, codes);
}

inline void Structure::axpy(float* w, std::int64_t i, std::span<const Code> codes, float step,
                            SharedLines& lines) const {
    thread_local SparseSum change;
    change.reset();
    accumulate(i, codes, step, change);
    change.for_each(
        [&](std::uint64_t place, float value) { w[place] += value * lines.touch(static_cast<std::int64_t>(place)); });
    derive(w);
}

inline double Structure::inner(std::int64_t i, std::span<const Code> a, std::span<const Code> b,
                               Scratch& scratch) const {
    scratch.sum.reset();
    accumulate(i, a, 1, scratch.sum);
    if (a.data() == b.data() && a.size() == b.size()) return scratch.sum.squared_norm();
    scratch.other.reset();
    accumulate(i, b, 1, scratch.other);
    return scratch.sum.inner(scratch.other);
}

inline double Structure::distance2(std::int64_t i, std::span<const Code> a, std::span<const Code> b,
                                   Scratch& scratch) const {
    const WeightedCodes terms[] = {{a, 1}, {b, -1}};
    return combination_norm2(i, terms, scratch);
}

inline double Structure::combination_norm2(std::int64_t i, std::span<const WeightedCodes> terms,
                                           Scratch& scratch) const {
    scratch.sum.reset();
    for (const WeightedCodes& term : terms) {
        accumulate(i, term.codes, static_cast<float>(term.coefficient), scratch.sum);
    }
    return scratch.sum.squared_norm();
}

inline double Structure::combination_norm2(std::int64_t i, std::span<const WeightedCodes> terms,
                                           const SharedLines& lines, Scratch& scratch) const {
    scratch.sum.reset();
    for (const WeightedCodes& term : terms) {
        accumulate(i, term.codes, static_cast<float>(term.coefficient), scratch.sum);
    }
    double total = 0;
    scratch.sum.for_each([&](std::uint64_t place, float value) {
        total += double{value} * value * lines.times(static_cast<std::int64_t>(place));
    });
    return total;
}

inline std::vector<ScoredOutput> Structure::k_best(const float* w, std::int64_t i, float cost_weight, int k,
                                                   Scratch& scratch) const {
    if (k > 1) throw Unsupported("this structure has no k-best decoder");
    decode(w, i, cost_weight, scratch);
    return {{objective(w, i, scratch.output, cost_weight), scratch.output}};
}

// What a learner needs of a structure; those without it are refused.
inline const Expectations& expectations_of(const Structure& structure) {
    if (const Expectations* found = structure.expectations()) return *found;
    throw Unsupported("this structure has no expectations");
}

inline const Parts& parts_of(const Structure& structure) {
    if (const Parts* found = structure.parts()) return *found;
    throw Unsupported("the outputs of this structure do not come in parts with marginals");
}

// w += step·(φ_i(y_i) − E φ_i(y)), where the parts of y have these marginals.
inline void add_part_difference(const Structure& structure, float* w, std::int64_t i, std::span<const float> marginals,
                                float step, Scratch& scratch) {
    structure.output_of(i, {}, scratch.output);
    structure.add_features(w, i, scratch.output, step);
    structure.parts()->add_parts(w, i, marginals, -step);
}

}  // namespace dualstruct
