// Weight vectors, and the average of all those that a run of passes went through.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/index.hpp"
#include "base/memory.hpp"
#include "structures/structure.hpp"

namespace dualstruct {

// A weight vector in a structure's layout.
class Weights {
public:
    explicit Weights(const Structure& structure)
        : dimension_(structure.dimension()), layout_(structure.layout()),
          data_(allocate_floats(at(structure.storage()))) {
        structure.derive(data_.get());
    }
    bool fits(const Structure& structure) const { return layout_ == structure.layout(); }
    float* data() { return data_.get(); }
    const float* data() const { return data_.get(); }
    std::int64_t dimension() const { return dimension_; }
    // The center's weights, or 0 without one; what is derived from them is left to the caller.
    void start_from(const Weights* center) { start_from(center, 0, dimension_); }
    void start_from(const Weights* center, std::int64_t begin, std::int64_t end) {
        if (center) {
            std::copy(center->data() + begin, center->data() + end, data() + begin);
        } else {
            std::fill(data() + begin, data() + end, 0.0f);
        }
    }
    double squared_norm(int threads = 1) const;
    // ‖w − other‖².
    double squared_distance(const Weights& other, int threads = 1) const;

private:
    std::int64_t dimension_;
    std::uint64_t layout_;
    FloatBuffer data_;
};

// The average of w over all steps, kept up lazily: a step costs as much as the change it makes.
//
// With w_t = s_t v_t and v_t = v_0 + Σ_r≤t d_r:  Σ_t≤T s_t v_t = S_T v_T − Σ_r S_r−1 d_r, where
// S_t = s_1 + … + s_t (Xu 2011). Passes without a scale have s = 1 and d the change of w. A linear
// average weighs step t by t: then s_t stands for t times the scale.
class Average {
public:
    explicit Average(const Structure& structure, bool linear = false) : deferred_(structure), linear_(linear) {}

    // What a change of w by step·δ adds to the sum of S_r−1 d_r, as a multiple of δ; and that much added. Steps along
    // the same δ may be gathered before they are added.
    double deferred_by(double step) const { return scales_ * step; }
    void add_deferred(const Structure& structure, std::int64_t i, std::span<const Code> codes, double multiple) {
        structure.axpy(deferred_.data(), i, codes, static_cast<float>(multiple));
    }
    // w changes by step·δ (v by step/scale·δ).
    void add(const Structure& structure, std::int64_t i, std::span<const Code> codes, double step, double scale) {
        add_deferred(structure, i, codes, deferred_by(step) / scale);
    }
    // Ends a step with w = scale·v.
    void end_step(double scale = 1) {
        ++steps_;
        scales_ += linear_ ? scale * static_cast<double>(steps_) : scale;
    }
    // v is about to be multiplied by `factor` and the scale divided by it. The sum of S_r−1 d_r
    // stays as it is: its first factor falls as its second one rises.
    void rescale(double factor) { scales_ /= factor; }
    // Adds up what was put off: S v − deferred becomes the new −deferred, and S starts again at 0. Where the
    // scale has fallen far, the two terms are much larger than their difference; settling before
    // that keeps the difference exact.
    void settle(const Weights& v);
    // The sum of S_r−1 d_r, for changes that are not those of a cut.
    Weights& deferred() { return deferred_; }
    bool linear() const { return linear_; }
    double scales() const { return scales_; }
    std::int64_t steps() const { return steps_; }
    // The sum of the steps' weights.
    double weight() const {
        const auto steps = static_cast<double>(steps_);
        return linear_ ? steps * (steps + 1) / 2 : steps;
    }
    void set(double scales, std::int64_t steps) {
        scales_ = scales;
        steps_ = steps;
    }

    // out = (S v − deferred) / (sum of the steps' weights), or v·scale before the first step. What the structure
    // derives from the weights is the caller's business.
    void write(const Weights& v, double scale, Weights& out) const;

private:
    Weights deferred_;
    bool linear_;
    double scales_ = 0;
    std::int64_t steps_ = 0;
};

}  // namespace dualstruct
