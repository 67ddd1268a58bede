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

// What the search for moves keeps from one time to the next: zeros, and no line touched.
struct MoveScratch {
    explicit MoveScratch(const Structure& structure) : sums(structure), lines(structure.dimension()) {}
    Weights sums;  // what is derived from them is never read
    TouchedLines lines;
};

// Σ (α − α before) δ, where `before` is what cuts.save gave, and the largest step along that line at which all α are
// still at least 0.
struct Moves {
    SparseVector change;
    double largest_step;
};
Moves moves_since(const DualState& state, std::span<const Code> codes, std::span<const std::int64_t> codes_of_example,
                  MoveScratch& scratch);

// Whether all places are from `first` to before `last`.
bool are_places(std::span<const std::uint32_t> places, std::int64_t first, std::int64_t last);
// w·v.
double dot(const Weights& w, std::span<const std::uint32_t> places, std::span<const float> values);
// w += step·v; `copy`, if there is one, becomes the same there.
void axpy(Weights& w, std::span<const std::uint32_t> places, std::span<const float> values, double step, Weights* copy);

}  // namespace dualstruct
