// What the kernels of chains do with one row of labels.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/prefetch.hpp"
#include "simd/simd.hpp"
#include "structures/chain/chain_kernels.hpp"

namespace dualstruct::DUALSTRUCT_ISA {
namespace {

constexpr std::int64_t prefetch_distance = 24;  // features ahead; measured best between 16 and 40
constexpr std::int64_t shift_interval = 64;     // tokens between two shifts of the maxima
constexpr float least_normaliser = 1e-20f;      // below it float32 products may have lost what matters
constexpr float most_drift = 1e-2f;             // of Σ_k forward·backward from 1, in one step

// Sum of the weight rows of one token's features, NV vectors from column `first` on.
template <int N, int NV>
inline void add_emissions(const ChainInput& in, std::int64_t t, int first, Floats<N> (&sum)[NV]) {
    const float* column = in.emission + first;
    const std::int64_t last = in.offsets[in.tokens] - 1;
    const std::int64_t stride = in.stride;
    for (std::int64_t f = in.offsets[t], end = in.offsets[t + 1]; f < end; ++f) {
        const std::int64_t ahead = f + prefetch_distance;
        const float* next = column + in.features[ahead < last ? ahead : last] * stride;
        for (int v = 0; v < NV * N; v += 16) prefetch(next + v);
        const float* row = column + in.features[f] * stride;
        if (in.values) {
            for (int v = 0; v < NV; ++v) sum[v] += in.values[f] * load<N>(row + v * N);
        } else {
            for (int v = 0; v < NV; ++v) sum[v] += load<N>(row + v * N);
        }
    }
    if (in.cost_weight != 0) {
        const float* cost = in.cost + in.truth[t] * stride + first;
        const float cost_weight = in.token_weights ? in.cost_weight * in.token_weights[t] : in.cost_weight;
        for (int v = 0; v < NV; ++v) sum[v] += cost_weight * load<N>(cost + v * N);
    }
}

// best[k] = max_j previous[j] + transition[j][k].
template <int N, int NV>
inline void max_step(const ChainInput& in, const float* previous, const float* transition, Floats<N> (&best)[NV]) {
    constexpr int chains = NV <= 3 ? 2 : 1;  // independent maxima hide the latency of few vectors
    Floats<N> m[chains][NV];
    for (auto& chain : m) {
        for (auto& x : chain) x = broadcast<N>(-infinity);
    }
    const std::int64_t stride = in.stride;
    int j = 0;
    for (; j + chains <= in.labels; j += chains) {
        for (int c = 0; c < chains; ++c) {
            const Floats<N> from = broadcast<N>(previous[j + c]);
            const float* row = transition + (j + c) * stride;
            for (int v = 0; v < NV; ++v) m[c][v] = maximum(from + load<N>(row + v * N), m[c][v]);
        }
    }
    for (; j < in.labels; ++j) {
        const Floats<N> from = broadcast<N>(previous[j]);
        for (int v = 0; v < NV; ++v) {
            m[0][v] = maximum(from + load<N>(transition + j * stride + v * N), m[0][v]);
        }
    }
    for (int v = 0; v < NV; ++v) best[v] = maximum(m[0][v], m[chains - 1][v]);
}

// result[k] = log Σ_j exp(previous[j] + scale·transition[j][k]).
template <int N, int NV>
inline void log_step(const ChainInput& in, float scale, const float* previous, const float* transition,
                     Floats<N> (&result)[NV]) {
    Floats<N> best[NV], total[NV];
    for (int v = 0; v < NV; ++v) {
        best[v] = broadcast<N>(-infinity);
        total[v] = Floats<N>{};
    }
    const std::int64_t stride = in.stride;
    for (int j = 0; j < in.labels; ++j) {
        for (int v = 0; v < NV; ++v) {
            best[v] = maximum(previous[j] + scale * load<N>(transition + j * stride + v * N), best[v]);
        }
    }
    for (int v = 0; v < NV; ++v) best[v] = best[v] == -infinity ? Floats<N>{} : best[v];
    for (int j = 0; j < in.labels; ++j) {
        for (int v = 0; v < NV; ++v) {
            const Floats<N> x = previous[j] + scale * load<N>(transition + j * stride + v * N);
            total[v] += exponential<N>(x - best[v]);
        }
    }
    for (int v = 0; v < NV; ++v) result[v] = best[v] + logarithm<N>(total[v]);
}

// result[k] = Σ_j previous[j]·transition[j][k].
template <int N, int NV>
inline void sum_step(const ChainInput& in, const float* previous, const float* transition, Floats<N> (&result)[NV]) {
    constexpr int chains = NV <= 1 ? 4 : NV <= 3 ? 2 : 1;  // independent sums hide the latency of few vectors
    Floats<N> total[chains][NV] = {};
    const std::int64_t stride = in.stride;
    int j = 0;
    for (; j + chains <= in.labels; j += chains) {
        for (int c = 0; c < chains; ++c) {
            const float* row = transition + (j + c) * stride;
            for (int v = 0; v < NV; ++v) total[c][v] += previous[j + c] * load<N>(row + v * N);
        }
    }
    for (; j < in.labels; ++j) {
        for (int v = 0; v < NV; ++v) total[0][v] += previous[j] * load<N>(transition + j * stride + v * N);
    }
    for (int v = 0; v < NV; ++v) {
        result[v] = total[0][v];
        for (int c = 1; c < chains; ++c) result[v] += total[c][v];
    }
}

// How a row is cut that has no code for its number of vectors. Wide tiles keep more accumulators in registers, and
// take more code.
constexpr int wide_tiles = 0;     // of 8 vectors
constexpr int narrow_tiles = -1;  // of 2

// Calls part<NV>(first column) over the whole row: once for a row of at most 8 vectors, in tiles for others.
template <int N, int Vectors, class PartOfRow>
inline void for_each_part(int labels, PartOfRow part) {
    if constexpr (Vectors > 0) {
        part.template operator()<Vectors>(0);
    } else {
        const int vectors = (labels + N - 1) / N;
        int v = 0;
        if constexpr (Vectors == wide_tiles) {
            for (; v + 8 <= vectors; v += 8) part.template operator()<8>(v * N);
        }
        for (; v + 2 <= vectors; v += 2) part.template operator()<2>(v * N);
        if (v < vectors) part.template operator()<1>(v * N);
    }
}

float largest_of(const float* row, int labels) {
    float best = row[0];
    for (int k = 1; k < labels; ++k) best = row[k] > best ? row[k] : best;
    return best;
}

void forbid_others(const ChainInput& in, std::int64_t t, float* row, float* copy) {
    const std::int64_t begin = in.allowed_offsets[t], end = in.allowed_offsets[t + 1];
    if (begin == end) return;
    for (int k = 0; k < in.labels; ++k) {
        copy[k] = row[k];
        row[k] = -infinity;
    }
    for (std::int64_t a = begin; a < end; ++a) row[in.allowed[a]] = copy[in.allowed[a]];
}

bool has_pairs(const ChainInput& in, std::int64_t t) { return in.pair_offsets[t] < in.pair_offsets[t + 1]; }

// out[k][j] = rows[j][k], with `padding` behind the labels.
void transpose(const ChainInput& in, const float* rows, float padding, float* out) {
    const std::int64_t stride = in.stride;
    for (int k = 0; k < in.labels; ++k) {
        float* to = out + k * stride;
        for (int j = 0; j < in.labels; ++j) to[j] = rows[j * stride + k];
        for (int j = in.labels; j < in.stride; ++j) to[j] = padding;
    }
}

}  // namespace
}  // namespace dualstruct::DUALSTRUCT_ISA
