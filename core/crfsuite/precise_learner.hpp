// Online learning of chains in double precision over a given list of features.
//
// Other programs learn only the (attribute, label) pairs and transitions that occur in the training
// data, have no weights for the start and the end, and take their steps sentence by sentence: the
// averaged perceptron, passive-aggressive steps, AROW and stochastic gradients are here as they take them.
// δ is φ(truth) − φ(best labelling), m its number of wrong labels.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "crfsuite/precise_chain.hpp"
#include "learning/passes.hpp"

namespace dualstruct {

struct PreciseData {
    int labels;
    std::span<const std::int64_t> sentences;         // [sentences + 1] into tokens
    std::span<const std::int64_t> offsets;           // [tokens + 1] into attributes and values
    std::span<const std::int32_t> attributes;
    std::span<const double> values;                  // empty: all 1
    std::span<const std::int32_t> truth;             // [tokens]
    std::span<const std::int64_t> feature_offsets;   // [attributes + 1] into feature_labels
    std::span<const std::int32_t> feature_labels;    // the labels of an attribute's features
    std::span<const std::int32_t> transition_features;  // [labels, labels]: a feature, or −1
    std::int64_t features;                           // those of attributes come first
    std::shared_ptr<const void> owner;
};

class PreciseLearner {
public:
    explicit PreciseLearner(const PreciseData& data);

    // One pass over the sentences in this order; what they cost, each as it was met.
    // w ← w + δ; the loss is the share of wrong labels.
    double perceptron(std::span<const std::int32_t> order, const Interrupt& interrupt);
    // w ← w + τδ with τ from the loss w·(φ(best) − φ(truth)) + 1 (or √m): kind 0 τ = loss/‖δ‖²,
    // kind 1 that but at most c, kind 2 τ = loss/(‖δ‖² + 1/2c).
    double passive_aggressive(std::span<const std::int32_t> order, int kind, double c, bool error_sensitive,
                              const Interrupt& interrupt);
    // Each weight has a variance v; w ← w + loss/(γ + Σ v δ²)·v δ, 1/v ← 1/v + δ²/γ. Its margin is m.
    double arow(std::span<const std::int32_t> order, double variance, double gamma, const Interrupt& interrupt);
    // w ← (1 − ηλ) w + η ∇ log p(truth) with η = 1/(λ(t0 + t)), t counting from `first`.
    double gradient(std::span<const std::int32_t> order, double lambda, double t0, double first,
                    const Interrupt& interrupt);
    // Σ_i −log p(truth).
    double log_loss(std::span<const std::int32_t> order, const Interrupt& interrupt);

    const std::vector<double>& weights() const { return w_; }
    std::vector<double> average() const;  // over all sentences met so far
    void restart();                       // w ← 0, and nothing met

private:
    std::int64_t size() const { return static_cast<std::int64_t>(data_.sentences.size()) - 1; }
    void score_tokens(std::int64_t i, double scale = 1);
    void score_transitions(double scale = 1);
    bool find_difference(std::int64_t i);
    template <class Visit>
    void walk(std::int64_t i, std::span<const std::int32_t> output, Visit visit) const;
    void note(std::int64_t feature, double change);
    void forget_difference();
    void add(std::int64_t feature, double change);
    template <class Step>
    double meet_all(std::span<const std::int32_t> order, const Interrupt& interrupt, Step step);

    PreciseData data_;
    std::vector<double> w_;
    std::vector<double> deferred_;      // Σ (sentences met before)·change: the average is w − deferred/met
    std::vector<double> variance_;
    double met_ = 1;

    std::vector<std::int64_t> transition_of_;  // [features that are not of attributes]: the pair of labels
    std::vector<double> transitions_;          // [labels, labels]: their weights, 0 where there is no feature

    // Of the sentence at hand.
    std::vector<double> emissions_;
    PreciseDecoder decoder_;
    std::span<const std::int32_t> best_;
    int wrong_ = 0;
    double shortfall_ = 0;                // w·(φ(best) − φ(truth))
    std::vector<double> delta_;           // [features]
    std::vector<std::uint8_t> is_noted_;  // [features]
    std::vector<std::int64_t> noted_;     // where delta was touched
};

}  // namespace dualstruct
