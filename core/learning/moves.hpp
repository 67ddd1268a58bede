// What has moved, as sparse vectors: places in order and the number at each. Workers exchange these instead of whole
// sets of weights, and what follows costs as much as what moved.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learning/dual_state.hpp"
#include "learning/weights.hpp"

namespace dualstruct {

struct SparseVector {
    std::vector<std::uint32_t> places;
    std::vector<float> values;
};

// A sum of sparse vectors with places from `first` to before `last`: a dense vector of zeros, of which only lines that
// something was added to are read.
class SparseAdder {
public:
    SparseAdder(std::int64_t first, std::int64_t last);

    std::int64_t first() const { return first_; }
    std::int64_t last() const { return last_; }
    // All places must be in range.
    void add(std::span<const std::uint32_t> places, std::span<const float> values);
    // What is not 0; everything is 0 again.
    SparseVector take();

private:
    std::int64_t first_, last_;
    FloatBuffer sums_;
    TouchedLines touched_;
};

// How far the local weights are from w, divided by the times of each line, where lines were touched. Then the local weights
// are w again and nothing is touched.
SparseVector take_moves(SharedLines& lines, Weights& local, const Weights& w);

// What a search for exact moves keeps from one time to the next: zeros, and no line touched.
struct MoveScratch {
    explicit MoveScratch(const Structure& structure) : sums(structure), lines(structure.dimension()) {}
    Weights sums;  // what is derived from them is never read
    SharedLines lines;
};

// The same change from the duals, without the rounding of w: Σ (α − α before) δ, where `before` is what cuts.save gave.
SparseVector exact_moves(const DualState& state, std::span<const Code> codes,
                         std::span<const std::int64_t> codes_of_example, MoveScratch& scratch);

// The largest step along the line from `before`, which is what cuts.save gave, to the duals of this moment at which all α
// are still at least 0.
double largest_step(const DualState& state, std::span<const Code> codes,
                    std::span<const std::int64_t> codes_of_example);

// Whether all places are from `first` to before `last`.
bool are_places(std::span<const std::uint32_t> places, std::int64_t first, std::int64_t last);
// w·v.
double dot(const Weights& w, std::span<const std::uint32_t> places, std::span<const float> values);
// w += step·v; `copy`, if there is one, becomes the same there.
void axpy(Weights& w, std::span<const std::uint32_t> places, std::span<const float> values, double step, Weights* copy);

}  // namespace dualstruct
