// The weights that a batch method moves, as one dense vector x, and the vector arithmetic of its
// history. With index k → weight and a scale for each:
//
//   w[index[k]] = c[index[k]] + scale[k]·x[k],   all other weights stay at the center c
//
// Vectors are float32, read in blocks that fit a cache, so that a history of m pairs costs two
// readings of it an iteration. Sums are taken in double, block by block in order.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "learning/weights.hpp"
#include "structures/structure.hpp"

namespace dualstruct {

// rows·vectorsᵀ: [rows, vectors], every row and vector of n floats.
std::vector<double> dots(std::span<const float* const> rows, std::span<const float* const> vectors, std::int64_t n,
                         int threads);

// out = Σ_r coefficients[r]·rows[r]; out may be one of the rows only if its coefficient stands first.
void combine(std::span<const float* const> rows, std::span<const double> coefficients, std::int64_t n, int threads,
             float* out);

class Packing {
public:
    Packing(const Structure& structure, std::vector<std::int64_t> index, std::vector<float> scale,
            const Weights* center, int threads)
        : structure_(structure), index_(std::move(index)), scale_(std::move(scale)), center_(center),
          threads_(threads) {}
    Packing(const Packing&) = delete;

    std::int64_t size() const { return static_cast<std::int64_t>(index_.size()); }
    const Structure& structure() const { return structure_; }

    void unpack(const float* x, Weights& w) const;

    struct Norms {
        double regulariser;       // ½‖w − c‖²
        double gradient_norm2;    // ‖w − c − C·descent‖² over the weights that move
        double descent_norm2;     // ‖C·descent‖² over the same
    };

    // gradient[k] = scale[k]·(w − c − C·descent)[index[k]]: that of ½‖w − c‖² + C Σ ℓ by x.
    Norms pack(const float* x, const Weights& descent, double C, float* gradient) const;

private:
    const Structure& structure_;
    std::vector<std::int64_t> index_;
    std::vector<float> scale_;
    const Weights* center_;
    int threads_;
};

}  // namespace dualstruct
