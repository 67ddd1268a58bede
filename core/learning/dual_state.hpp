// The duals of a training run: the cuts of every example with their α, the w that they stand for, and sums.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "learning/cuts.hpp"
#include "learning/examples.hpp"
#include "learning/weights.hpp"

namespace dualstruct {

// A cut by its output, which stays the same when the truth changes.
struct HeldOutput {
    std::int64_t i;
    double alpha;
    std::vector<std::int32_t> output;
};

// Every so many examples, from the first-th on.
struct EveryNth {
    std::int64_t first = 0, step = 1;

    bool has(std::int64_t i) const { return i % step == first; }
    std::vector<std::int32_t> shuffled(std::int64_t n, std::uint64_t seed) const {
        auto order = shuffled_order(std::max<std::int64_t>(0, (n - first + step - 1) / step), seed);
        for (std::int32_t& i : order) i = static_cast<std::int32_t>(first + step * i);
        return order;
    }
};

// (α, w) with w = center + Σ_iy α_iy δ_i(y); no center stands for 0.
class DualState {
public:
    DualState(const Examples& examples, Weights& w, const Weights* center);

    // Where w goes from now on is averaged there; null: nowhere. A step along a cut is noted in the cut, which costs
    // nothing, and told the average when the cut goes.
    Average* average = nullptr;
    void average_into(Average* into);
    void write_average(Weights& out) const;

    // Removes the cuts of an example whose α is 0.
    void remove_zeros(std::int64_t i);

    // Recomputes w and the sums from the duals: float32 drifts.
    void rebuild(int threads);

    // Takes all cuts of some examples out, as outputs with their α: the truth may change then, and put
    // gives the outputs back as differences from the new one. w and the sums follow with rebuild.
    std::vector<HeldOutput> take(std::span<const std::int64_t> some);
    void put(std::span<const HeldOutput> held);

    // Takes what cuts.save gave, and the sums of α with the rounding that they had gathered.
    void load(std::span<const Code> codes, std::span<const std::int64_t> codes_of_example,
              std::span<const double> sums);

    // Every α to before + step·(α − before), where `before` is what cuts.save gave. w is the caller's
    // business: only it knows whether other machines move theirs.
    void interpolate(std::span<const Code> codes, std::span<const std::int64_t> codes_of_example, double step);

    // Every α times a factor, then less where those of an example are together more than its share of `most`: duals
    // that are feasible for another C. w and the sums follow with rebuild.
    void rescale(double factor, std::span<const double> most);

    // out = center + Σ_iy α_iy δ_i(y). The sum is one thread's: it takes less time than to divide it.
    void write(Weights& out, int threads) const;

    // Σ_iy α_iy Δ_i(y): the linear part of every dual.
    double sum_alpha_cost() const;

    const Examples& examples;
    const Structure& structure;
    Weights& w;
    CutStore cuts;
    std::vector<double> sum_alpha;  // Σ_y α_iy of each example
    EveryNth share;                 // what passes go through
    SharedLines* shared = nullptr;  // how w moves where other workers move it as well; null: as it is

    // Recomputes the sums of α.
    void add_up();

private:
    void settle_average();
    void settle(std::int64_t i, Cut& cut);

    void start(Weights& out, int threads) const;

    const Weights* center_;
};

}  // namespace dualstruct
