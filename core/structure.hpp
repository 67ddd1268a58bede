// The noun Structure: what the outputs of an example are, their features and their cost.
// It knows nothing of losses, solvers or duals.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace dualstruct {

using Word = std::uint32_t;

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
};

// How an output differs from the truth, in the structure's own compact form.
struct Difference {
    std::vector<Word> words;  // empty: the output is the truth
    float cost = 0;           // Δ_i(y)
};

class Structure {
public:
    virtual ~Structure() = default;

    virtual std::int64_t size() const = 0;       // examples
    virtual std::int64_t dimension() const = 0;  // weights, padding included; padding stays 0
    // Weights and what the structure derives from them and keeps behind them.
    virtual std::int64_t storage() const = 0;
    // Recomputes the derived part after the weights were set from outside.
    virtual void derive(float* w) const = 0;

    virtual std::unique_ptr<Scratch> make_scratch() const = 0;

    // argmax_y w·φ_i(y) + cost_weight·Δ_i(y), into scratch.output.
    virtual void decode(const float* w, std::int64_t i, float cost_weight, Scratch& scratch) const = 0;

    virtual void difference(std::int64_t i, std::span<const std::int32_t> output, Difference& d) const = 0;

    // With δ = φ_i(y_i) − φ_i(y) of a difference's words: w·δ, w += step·δ, δ·δ'.
    virtual double dot(const float* w, std::int64_t i, std::span<const Word> words) const = 0;
    virtual void axpy(float* w, std::int64_t i, std::span<const Word> words, float step) const = 0;
    virtual double inner(std::int64_t i, std::span<const Word> a, std::span<const Word> b,
                         Scratch& scratch) const = 0;

    // w·φ_i(y) and w += step·φ_i(y) of a whole output.
    virtual double score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const = 0;
    virtual void add_features(float* w, std::int64_t i, std::span<const std::int32_t> output,
                              float step) const = 0;

    // Hints that example i, or a cut of it, is used soon.
    virtual void prefetch_example(std::int64_t) const {}
    virtual void prefetch_decode(const float*, std::int64_t) const {}
    virtual void prefetch_cut(const float*, std::int64_t, std::span<const Word>) const {}
};

}  // namespace dualstruct
