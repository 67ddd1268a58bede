// The pass of learners that hold no cuts: meet an example, move w, forget the example.
//
// L2 shrinkage would touch every weight at every step, so w = scale·v is kept as the two factors
// and a step costs as much as the example it looks at. With w = scale·v
//
//   argmax_y w·φ + c Δ                 is decode(v, c/scale)
//   p(y) ∝ exp β(w·φ + γΔ)             is that of v at (β·scale, γ/scale)
//   w ← w + a δ                        is v ← v + (a/scale) δ
//
// The scale is folded into v when it gets small and at the end of a pass, so that between passes
// v is w. The loop is in online_loop.hpp, and every step's .cpp instantiates it for itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "learning/examples.hpp"
#include "learning/passes.hpp"
#include "learning/weights.hpp"

namespace dualstruct {

// w = scale·v, and perhaps its average over all steps.
class ScaledWeights {
public:
    ScaledWeights(const Structure& structure, Weights& v, Average* average)
        : structure(structure), v(v), average_(average) {}
    // Between passes v is w, also after a pass that an exception ended.
    ~ScaledWeights() { fold(); }
    ScaledWeights(const ScaledWeights&) = delete;

    const Structure& structure;
    Weights& v;
    double scale() const { return scale_; }

    double squared_norm() const { return scale_ * scale_ * v.squared_norm(); }
    double dot(std::int64_t i, std::span<const Code> codes) const { return scale_ * structure.dot(v.data(), i, codes); }

    // w ← w + step·δ.
    void add(std::int64_t i, std::span<const Code> codes, double step) {
        moved_ = true;
        structure.axpy(v.data(), i, codes, static_cast<float>(step / scale_));
        if (average_) average_->add(structure, i, codes, step, scale_);
    }
    // w ← w + step·(φ_i(y_i) − E φ_i(y)), where scratch knows the expectation.
    void add_expected(std::int64_t i, double step, Scratch& scratch) {
        moved_ = true;
        const Expectations& sums = *structure.expectations();
        sums.add_expected_difference(v.data(), i, static_cast<float>(step / scale_), scratch);
        if (average_) {
            const double deferred = average_->scales() * step / scale_;
            sums.add_expected_difference(average_->deferred().data(), i, static_cast<float>(deferred), scratch);
        }
    }
    // w ← factor·w, for 0 ≤ factor ≤ 1.
    void shrink(double factor) {
        if (factor == 0) {
            clear();
            return;
        }
        scale_ *= factor;
        if (scale_ < smallest_scale) fold();
    }
    void end_step() {
        if (!average_) return;
        average_->end_step(scale_);
        if (average_->scales() > most_put_off * scale_ * average_->weight()) average_->settle(v);
    }
    // Whether something was added since the last call.
    bool take_moved() { return std::exchange(moved_, false); }
    // v ← scale·v, scale ← 1.
    void fold() {
        if (scale_ == 1) return;
        const auto factor = static_cast<float>(scale_);
        for (std::int64_t k = 0; k < v.dimension(); ++k) v.data()[k] *= factor;
        structure.derive(v.data());
        if (average_) average_->rescale(factor);
        scale_ = 1;
    }

private:
    // v/scale must stay far from what a float can hold.
    static constexpr double smallest_scale = 1e-6;
    // How many times larger than the sum of all w the average's terms may get: a digit of seven.
    static constexpr double most_put_off = 16;

    // w ← 0, which no scale can say.
    void clear() {
        if (average_) average_->settle(v);
        std::fill_n(v.data(), v.dimension(), 0.0f);
        structure.derive(v.data());
        scale_ = 1;
    }

    Average* average_;
    double scale_ = 1;
    bool moved_ = false;
};

// One example as a step sees it.
class ExampleStep {
public:
    ExampleStep(ScaledWeights& w, Scratch& scratch, Difference& found, PassReport& report)
        : w(w), scratch(scratch), found(found), report_(report) {}

    ScaledWeights& w;
    Scratch& scratch;
    Difference& found;  // what find found
    std::int64_t i = 0;   // in the structure
    double weight = 1;    // what C, or the step, is multiplied by here

    // max_y cost_weight·Δ_i(y) − w·δ_i(y), with the maximiser in `found`.
    double find(double cost_weight) {
        ++report_.inferences;
        w.structure.decode(w.v.data(), i, static_cast<float>(cost_weight / w.scale()), scratch);
        w.structure.difference(i, scratch.output, found);
        return found.is_truth ? 0 : violation(found, cost_weight);
    }
    double violation(const Difference& d, double cost_weight) const { return cost_weight * d.cost - w.dot(i, d.codes); }
    double norm2(const Difference& d) { return w.structure.inner(i, d.codes, d.codes, scratch); }

    // The k best outputs of the same objective, without the truth.
    std::vector<Difference> find_best(double cost_weight, int k) {
        ++report_.inferences;
        std::vector<Difference> best;
        const auto outputs = w.structure.k_best(w.v.data(), i, static_cast<float>(cost_weight / w.scale()), k, scratch);
        for (const auto& output : outputs) {
            w.structure.difference(i, output.output, found);
            if (!found.is_truth) best.push_back(found);
        }
        return best;
    }

    // (1/β) log Σ_y exp β(γΔ_i(y) − w·δ_i(y)); the expectation stays in scratch.
    double log_loss(double beta, double gamma) { return log_loss(beta, gamma, scratch); }
    double log_loss(double beta, double gamma, Scratch& scratch) const {
        ++report_.inferences;
        return w.scale() *
               w.structure.expectations()->log_loss(w.v.data(), i, beta * w.scale(), gamma / w.scale(), scratch);
    }

private:
    PassReport& report_;
};

// What steps share that need nothing but a decoder.
struct DecodingStep {
    static void check(const Structure&) {}
};

// What steps share that need sums over outputs.
struct ExpectedStep {
    static void check(const Structure& structure) { expectations_of(structure); }
};

// What most steps share: each example is a step of its own.
struct SingleStep {
    bool finish(ScaledWeights&, bool) { return true; }
};

// A Step has
//   check(structure) refuses a structure that lacks what the step needs
//   meet(example)    what the example costs at w; may move w
//   finish(w, last)  whether this example completes a step; may move w (mini-batches)
// `some` are those to meet, all if empty; they come in an order that follows from the seed.
template <class Step>
struct OnlinePass {
    static PassReport run(const Examples& from, Weights& weights, Average* average, Step& step,
                          std::span<const std::int32_t> some, std::uint64_t seed, const Interrupt& interrupt);
};

}  // namespace dualstruct
