#include "learning/packing.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "base/parallel.hpp"

namespace dualstruct {

namespace {

constexpr std::int64_t packing_block = 2048;

// Σ_k a[k]·b[k]: float32 products, few enough float32 sums to vectorise, then double.
double block_dot(const float* a, const float* b, std::int64_t count) {
    constexpr int lanes = 16, chunk = 16 * lanes;
    double total = 0;
    std::int64_t k = 0;
    for (; k + chunk <= count; k += chunk) {
        float sums[lanes] = {};
        for (int q = 0; q < chunk; q += lanes) {
            for (int lane = 0; lane < lanes; ++lane) sums[lane] += a[k + q + lane] * b[k + q + lane];
        }
        for (float sum : sums) total += sum;
    }
    for (; k < count; ++k) total += double{a[k]} * b[k];
    return total;
}

// Σ of measure(begin, end, sums) over stretches of 0 … n−1, each of which adds `count` numbers to sums: the same on any
// number of threads.
template <class Measure>
std::vector<double> sum_in_order(std::int64_t n, std::size_t count, int threads, Measure measure) {
    constexpr std::int64_t stretch = 32 * packing_block;
    const std::int64_t stretches = (n + stretch - 1) / stretch;
    std::vector<double> sums(count * at(stretches));
    for_each_range(stretches, threads, [&](std::int64_t first, std::int64_t last, int) {
        for (std::int64_t s = first; s < last; ++s) {
            measure(s * stretch, std::min((s + 1) * stretch, n), sums.data() + at(s) * count);
        }
    });
    for (std::size_t k = count; k < sums.size(); ++k) sums[k % count] += sums[k];
    sums.resize(count);
    return sums;
}

constexpr int lanes = 16;
double squared(const float (&values)[lanes]) {
    float halves[4] = {};
    for (int k = 0; k < lanes; k += 4) {
        for (int q = 0; q < 4; ++q) halves[q] += values[k + q] * values[k + q];
    }
    return (double{halves[0]} + halves[1]) + (double{halves[2]} + halves[3]);
}

}  // namespace

std::vector<double> dots(std::span<const float* const> rows, std::span<const float* const> vectors, std::int64_t n,
                         int threads) {
    const auto measure = [&](std::int64_t begin, std::int64_t end, double* sums) {
        for (std::int64_t first = begin; first < end; first += packing_block) {
            const std::int64_t count = std::min(packing_block, end - first);
            for (std::size_t r = 0; r < rows.size(); ++r) {
                for (std::size_t v = 0; v < vectors.size(); ++v) {
                    sums[r * vectors.size() + v] += block_dot(rows[r] + first, vectors[v] + first, count);
                }
            }
        }
    };
    return sum_in_order(n, rows.size() * vectors.size(), threads, measure);
}

void combine(std::span<const float* const> rows, std::span<const double> coefficients, std::int64_t n, int threads,
             float* out) {
    const std::int64_t blocks = (n + packing_block - 1) / packing_block;
    for_each_range(blocks, threads, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t block = begin; block < end; ++block) {
            const std::int64_t first = block * packing_block, count = std::min(packing_block, n - first);
            float* to = out + first;
            for (std::size_t r = 0; r < rows.size(); ++r) {
                const float c = static_cast<float>(coefficients[r]);
                const float* from = rows[r] + first;
                if (r == 0) {
                    for (std::int64_t k = 0; k < count; ++k) to[k] = c * from[k];
                } else if (c != 0) {
                    for (std::int64_t k = 0; k < count; ++k) to[k] += c * from[k];
                }
            }
        }
    });
}

void Packing::unpack(const float* x, Weights& w) const {
    w.start_from(center_);
    for_each_range(size(), threads_, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t k = begin; k < end; ++k) w.data()[index_[k]] += scale_[k] * x[k];
    });
    structure_.derive(w.data());
}

Packing::Norms Packing::pack(const float* x, const Weights& descent, double C, float* gradient) const {
    const float weight = static_cast<float>(C);
    const auto measure = [&](std::int64_t begin, std::int64_t end, double* sums) {
        for (std::int64_t first = begin; first < end; first += lanes) {
            const std::int64_t count = std::min<std::int64_t>(lanes, end - first);
            float moved[lanes] = {}, g[lanes] = {}, v[lanes] = {};  // squares of floats, summed in double
            for (std::int64_t q = 0; q < count; ++q) v[q] = weight * descent.data()[index_[first + q]];
            for (std::int64_t q = 0; q < count; ++q) {
                moved[q] = scale_[first + q] * x[first + q];
                g[q] = moved[q] - v[q];
                gradient[first + q] = scale_[first + q] * g[q];
            }
            sums[0] += squared(moved);
            sums[1] += squared(g);
            sums[2] += squared(v);
        }
    };
    const std::vector<double> sums = sum_in_order(size(), 3, threads_, measure);
    return {0.5 * sums[0], sums[1], sums[2]};
}

}  // namespace dualstruct
