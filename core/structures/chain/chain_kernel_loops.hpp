// The kernels of chains for rows of one width: maxima and sums over all labellings of a sentence.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/prefetch.hpp"
#include "simd/simd.hpp"
#include "structures/chain/chain_kernel_steps.hpp"
#include "structures/chain/chain_kernels.hpp"

namespace dualstruct::DUALSTRUCT_ISA {
namespace {

// Chains with pair features have code of their own, in the tiled form alone: the others stay as fast as
// they are without it.
template <int N, int Vectors, bool Pairs = false>
struct Kernels {
    static const float* transitions_into(const ChainInput& in, std::int64_t t) {
        if constexpr (!Pairs) return in.transition;
        if (!has_pairs(in, t)) return in.transition;
        const std::int64_t stride = in.stride, begin = in.pair_offsets[t], end = in.pair_offsets[t + 1];
        for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
            for (int j = 0; j < in.labels; ++j) {
                Floats<N> sum[NV];
                for (int v = 0; v < NV; ++v) sum[v] = load<N>(in.transition + j * stride + first + v * N);
                for (std::int64_t f = begin; f < end; ++f) {
                    const float* row = in.pair + (std::int64_t{in.pair_features[f]} * in.labels + j) * stride + first;
                    if (in.pair_values) {
                        for (int v = 0; v < NV; ++v) sum[v] += in.pair_values[f] * load<N>(row + v * N);
                    } else {
                        for (int v = 0; v < NV; ++v) sum[v] += load<N>(row + v * N);
                    }
                }
                for (int v = 0; v < NV; ++v) store<N>(in.step + j * stride + first + v * N, sum[v]);
            }
        });
        return in.step;
    }

    static const float* column_into(const ChainInput& in, std::int64_t t, int k) {
        const float* plain = in.transposed + std::int64_t{k} * in.stride;
        if constexpr (!Pairs) return plain;
        if (!has_pairs(in, t)) return plain;
        for (int j = 0; j < in.stride; ++j) in.step[j] = plain[j];
        for (std::int64_t f = in.pair_offsets[t]; f < in.pair_offsets[t + 1]; ++f) {
            const float* block = in.pair + std::int64_t{in.pair_features[f]} * in.labels * in.stride + k;
            const float value = in.pair_values ? in.pair_values[f] : 1;
            for (int j = 0; j < in.labels; ++j) in.step[j] += value * block[std::int64_t{j} * in.stride];
        }
        return in.step;
    }

    static const float* transposed_into(const ChainInput& in, std::int64_t t) {
        if constexpr (!Pairs) return in.transposed;
        if (!has_pairs(in, t)) return in.transposed;
        transpose(in, transitions_into(in, t), -infinity, in.step_transposed);
        return in.step_transposed;
    }

    static void max_forward(const ChainInput& in, float* maxima, double* shifts) {
        double shifted = 0;
        for (std::int64_t t = 0; t < in.tokens; ++t) {
            float* row = maxima + t * in.stride;
            const float* previous = row - in.stride;
            const float* transition = t == 0 ? in.transition : transitions_into(in, t);
            for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
                Floats<N> best[NV];
                if (t == 0) {
                    const float* start = in.transition + std::int64_t{in.labels} * in.stride + first;
                    for (int v = 0; v < NV; ++v) best[v] = load<N>(start + v * N);
                } else {
                    max_step<N, NV>(in, previous, transition + first, best);
                }
                Floats<N> emission[NV] = {};
                add_emissions<N, NV>(in, t, first, emission);
                for (int v = 0; v < NV; ++v) store<N>(row + first + v * N, best[v] + emission[v]);
            });
            // The row after this one is scratch space until it is written.
            if (in.allowed_offsets) forbid_others(in, t, row, row + in.stride);
            if (t % shift_interval == shift_interval - 1) {
                const float best = largest_of(row, in.labels);
                if (best > -infinity) {
                    for (int k = 0; k < in.labels; ++k) row[k] -= best;
                    shifted += best;
                }
            }
            if (shifts) shifts[t] = shifted;
        }
    }

    // The first label at which row + transition is largest; −1 when all are −∞.
    static int best_sum(const ChainInput& in, const float* row, const float* transition) {
        alignas(64) float sums[Vectors > 0 ? Vectors * N : 8 * N];
        Floats<N> best = broadcast<N>(-infinity);
        int label = -1;
        float value = -infinity;
        for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
            for (int v = 0; v < NV; ++v) {
                const Floats<N> x = load<N>(row + first + v * N) + load<N>(transition + first + v * N);
                store<N>(sums + v * N, x);
                best = maximum(x, best);
            }
            const float top = largest<N>(best);
            if (top > value) {
                value = top;
                const int here = in.labels - first < NV * N ? in.labels - first : NV * N;
                for (int k = 0; k < here; ++k) {
                    if (sums[k] == top) {
                        label = first + k;
                        break;
                    }
                }
            }
        });
        return label;
    }

    static bool backtrace(const ChainInput& in, const float* maxima, std::int32_t* path) {
        const float* end = in.transition + (std::int64_t{in.labels} + 1) * in.stride;
        std::int64_t t = in.tokens - 1;
        int label = best_sum(in, maxima + t * in.stride, end);
        if (label < 0) return false;
        path[t] = label;
        for (; t > 0; --t) {
            label = best_sum(in, maxima + (t - 1) * in.stride, column_into(in, t, label));
            path[t - 1] = label;
        }
        return true;
    }

    // Subtracts the row's largest entry from it and returns it.
    static double normalise(const ChainInput& in, float* row) {
        const float best = largest_of(row, in.labels);
        if (best == -infinity) return best;
        for (int k = 0; k < in.labels; ++k) row[k] -= best;
        return best;
    }

    static double log_forward_backward(const ChainInput& in, float scale, float* emissions, float* forward,
                                       float* backward) {
        const std::int64_t stride = in.stride, last = in.tokens - 1;
        double log_sum = 0;
        for (std::int64_t t = 0; t <= last; ++t) {
            float* emission = emissions + t * stride;
            float* row = forward + t * stride;
            for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
                Floats<N> sum[NV] = {};
                add_emissions<N, NV>(in, t, first, sum);
                for (int v = 0; v < NV; ++v) store<N>(emission + first + v * N, scale * sum[v]);
            });
            if (in.allowed_offsets) forbid_others(in, t, emission, row);
            const float* transition = t == 0 ? in.transition : transitions_into(in, t);
            for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
                Floats<N> before[NV];
                if (t == 0) {
                    const float* start = in.transition + std::int64_t{in.labels} * stride + first;
                    for (int v = 0; v < NV; ++v) before[v] = scale * load<N>(start + v * N);
                } else {
                    log_step<N, NV>(in, scale, row - stride, transition + first, before);
                }
                for (int v = 0; v < NV; ++v) {
                    store<N>(row + first + v * N, before[v] + load<N>(emission + first + v * N));
                }
            });
            log_sum += normalise(in, row);
        }
        float* row = backward + last * stride;
        const float* end = in.transition + (std::int64_t{in.labels} + 1) * stride;
        double total = 0;
        float best = -infinity;
        for (int k = 0; k < in.labels; ++k) {
            row[k] = scale * end[k];
            best = std::fmax(best, forward[last * stride + k] + row[k]);
        }
        if (!(best > -infinity)) return -infinity;
        for (int k = 0; k < in.labels; ++k) {
            total += std::exp(static_cast<double>(forward[last * stride + k] + row[k] - best));
        }
        log_sum += best + std::log(total);
        for (std::int64_t t = last; t > 0; --t) {
            // The backward row of t − 1 starts as emission + backward of t, then becomes their sum.
            float* after = backward + t * stride;
            float* before = backward + (t - 1) * stride;
            float* joined = emissions + t * stride;  // emission and backward of t, kept for the pairs
            for (int k = 0; k < in.labels; ++k) joined[k] += after[k];
            const float* transposed = transposed_into(in, t);
            for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
                Floats<N> result[NV];
                log_step<N, NV>(in, scale, joined, transposed + first, result);
                for (int v = 0; v < NV; ++v) store<N>(before + first + v * N, result[v]);
            });
            normalise(in, before);
        }
        return log_sum;
    }

    static void pair_marginals(const ChainInput& in, float scale, const float* before, const float* after,
                               float* pairs) {
        const int K = in.labels;
        float best = -infinity;
        for (int j = 0; j < K; ++j) {
            for (int k = 0; k < K; ++k) {
                const float x = before[j] + scale * in.transition[std::int64_t{j} * in.stride + k] + after[k];
                pairs[std::int64_t{j} * K + k] = x;
                best = x > best ? x : best;
            }
        }
        exponentiate(pairs, std::int64_t{K} * K, best);
    }

    static void label_marginals(const ChainInput& in, const float* a, const float* b, float* out) {
        float best = -infinity;
        for (int k = 0; k < in.labels; ++k) {
            out[k] = a[k] + b[k];
            best = out[k] > best ? out[k] : best;
        }
        exponentiate(out, in.labels, best);
    }

    // x ← exp(x − best), divided by its sum.
    static void exponentiate(float* x, std::int64_t count, float best) {
        double total = 0;
        std::int64_t k = 0;
        for (; k + N <= count; k += N) {
            Floats<N> v;
            __builtin_memcpy(&v, x + k, sizeof v);
            v = exponential<N>(v - best);
            __builtin_memcpy(x + k, &v, sizeof v);
            total += sum<N>(v);
        }
        for (; k < count; ++k) {
            x[k] = std::exp(x[k] - best);
            total += x[k];
        }
        const float share = static_cast<float>(1 / total);
        for (k = 0; k < count; ++k) x[k] *= share;
    }

    static float exponentiate_rows(const ChainInput& in, float scale, const float* rows, int count, float* out) {
        const std::int64_t stride = in.stride;
        float shift = -infinity;
        for (int r = 0; r < count; ++r) {
            const float best = largest_of(rows + r * stride, in.labels);
            shift = best > shift ? best : shift;
        }
        if (shift == -infinity) shift = 0;
        for (int r = 0; r < count; ++r) {
            for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
                for (int v = 0; v < NV; ++v) {
                    const std::int64_t at = r * stride + first + v * N;
                    store<N>(out + at, exponential<N>(scale * (load<N>(rows + at) - shift)));
                }
            });
        }
        return shift;
    }

    static double forward_backward(const ChainInput& in, const ChainSums& sums) {
        const std::int64_t stride = in.stride, last = in.tokens - 1;
        // log Σ is the sum of all shifts and of the logarithm of all normalisers; these are
        // multiplied in double until their product has to be put away.
        double log_sum = sums.start_shift + sums.end_shift + static_cast<double>(last) * sums.shift;
        log_sum *= sums.scale;
        double product = 1;
        for (std::int64_t t = 0; t <= last; ++t) {
            float* row = sums.emissions + t * stride;
            Floats<N> best = broadcast<N>(-infinity);
            for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
                Floats<N> sum[NV] = {};
                add_emissions<N, NV>(in, t, first, sum);
                for (int v = 0; v < NV; ++v) {
                    const Floats<N> x = sums.scale * sum[v];
                    store<N>(row + first + v * N, x);
                    best = maximum(numbers_from<N>(first + v * N) < in.labels ? x : broadcast<N>(-infinity), best);
                }
            });
            float shift;
            if (in.allowed_offsets && in.allowed_offsets[t] < in.allowed_offsets[t + 1]) {
                forbid_others(in, t, row, sums.forward + t * stride);
                shift = largest_of(row, in.labels);
            } else {
                shift = largest<N>(best);
            }
            log_sum += shift;
            for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
                for (int v = 0; v < NV; ++v) {
                    float* at = row + first + v * N;
                    // The padding may be larger than the shift; transitions out of it are 0.
                    const Floats<N> x = load<N>(at) - shift;
                    store<N>(at, exponential<N>(x < Floats<N>{} ? x : Floats<N>{}));
                }
            });
        }
        for (std::int64_t t = 0; t <= last; ++t) {
            float* row = sums.forward + t * stride;
            const float* transition = sums.transition;
            if (Pairs && t > 0) {
                float* step = sums.steps + t * in.labels * stride;
                const float shift = exponentiate_rows(in, sums.scale, transitions_into(in, t), in.labels, step);
                log_sum += sums.scale * (shift - sums.shift);
                transition = step;
            }
            Floats<N> total = {};
            for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
                Floats<N> before[NV];
                if (t == 0) {
                    const float* start = sums.transition + std::int64_t{in.labels} * stride + first;
                    for (int v = 0; v < NV; ++v) before[v] = load<N>(start + v * N);
                } else {
                    sum_step<N, NV>(in, row - stride, transition + first, before);
                }
                for (int v = 0; v < NV; ++v) {
                    before[v] *= load<N>(sums.emissions + t * stride + first + v * N);
                    store<N>(row + first + v * N, before[v]);
                    total += before[v];
                }
            });
            const float normaliser = sum<N>(total);
            if (!(normaliser > least_normaliser)) return std::numeric_limits<double>::quiet_NaN();
            product *= normaliser;
            if (product < 1e-200) {
                log_sum += std::log(product);
                product = 1;
            }
            const float inverse = 1 / normaliser;
            sums.inverse[t] = inverse;
            scale_row(in, row, inverse);
        }

        // marginals[t] holds the backward sums until they are multiplied by the forward ones.
        const float* end = sums.transition + (std::int64_t{in.labels} + 1) * stride;
        Floats<N> total = {};
        for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
            for (int v = 0; v < NV; ++v) {
                const Floats<N> x = load<N>(end + first + v * N);
                store<N>(sums.marginals + last * stride + first + v * N, x);
                total += x * load<N>(sums.forward + last * stride + first + v * N);
            }
        });
        const float normaliser = sum<N>(total);
        if (!(normaliser > least_normaliser)) return std::numeric_limits<double>::quiet_NaN();
        log_sum += std::log(product) + std::log(double{normaliser});
        scale_row(in, sums.marginals + last * stride, 1 / normaliser);
        for (std::int64_t t = last; t > 0; --t) {
            float* emission = sums.emissions + t * stride;  // becomes emission and backward of t
            float* after = sums.marginals + t * stride;
            float* before = after - stride;
            const float inverse = sums.inverse[t];
            for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
                for (int v = 0; v < NV; ++v) {
                    const int at = first + v * N;
                    const Floats<N> backward = load<N>(after + at);
                    store<N>(emission + at, load<N>(emission + at) * (backward * inverse));
                    store<N>(after + at, backward * load<N>(sums.forward + t * stride + at));
                }
            });
            const float* transposed = sums.transposed;
            if constexpr (Pairs) {
                transpose(in, sums.steps + t * in.labels * stride, 0, in.step_transposed);
                transposed = in.step_transposed;
            }
            Floats<N> sum_here = {};
            for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
                Floats<N> result[NV];
                sum_step<N, NV>(in, emission, transposed + first, result);
                for (int v = 0; v < NV; ++v) {
                    store<N>(before + first + v * N, result[v]);
                    sum_here += result[v] * load<N>(sums.forward + (t - 1) * stride + first + v * N);
                }
            });
            // Σ_k forward·backward is 1 at every token unless something underflowed on the way.
            const float drift = std::fabs(sum<N>(sum_here) - 1);
            if (!(drift < most_drift)) return std::numeric_limits<double>::quiet_NaN();
            if (drift > 4e-6f) scale_row(in, before, 1 / sum<N>(sum_here));
        }
        for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
            for (int v = 0; v < NV; ++v) {
                float* at = sums.marginals + first + v * N;
                store<N>(at, load<N>(at) * load<N>(sums.forward + first + v * N));
            }
        });
        if constexpr (Pairs) {
            pair_marginals_of_steps(in, sums);
            return log_sum;
        }
        for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
            constexpr int rows = NV >= 8 ? 1 : 8 / NV;  // so many accumulators stay in registers
            int j = 0;
            for (; j + rows <= in.labels; j += rows) pair_sums<NV, rows>(in, sums, j, first);
            for (; j < in.labels; ++j) pair_sums<NV, 1>(in, sums, j, first);
        });
        return log_sum;
    }

    // Rows j … of Σ_t forward[t − 1] × (emission and backward)[t], times the transitions.
    template <int NV, int rows>
    static void pair_sums(const ChainInput& in, const ChainSums& sums, int j, int first) {
        const std::int64_t stride = in.stride;
        Floats<N> total[rows][NV] = {};
        for (std::int64_t t = 1; t < in.tokens; ++t) {
            const float* before = sums.forward + (t - 1) * stride + j;
            const float* after = sums.emissions + t * stride + first;
            for (int v = 0; v < NV; ++v) {
                const Floats<N> x = load<N>(after + v * N);
                for (int r = 0; r < rows; ++r) total[r][v] += before[r] * x;
            }
        }
        for (int r = 0; r < rows; ++r) {
            for (int v = 0; v < NV; ++v) {
                const std::int64_t at = (j + r) * stride + first + v * N;
                store<N>(sums.pairs + at, total[r][v] * load<N>(sums.transition + at));
            }
        }
    }

    // Turns the exponentiated steps into marginals, and adds them up.
    static void pair_marginals_of_steps(const ChainInput& in, const ChainSums& sums) {
        const std::int64_t stride = in.stride;
        for (std::int64_t k = 0; k < in.labels * stride; ++k) sums.pairs[k] = 0;
        for (std::int64_t t = 1; t < in.tokens; ++t) {
            const float* before = sums.forward + (t - 1) * stride;
            const float* after = sums.emissions + t * stride;
            for (std::int64_t j = 0; j < in.labels; ++j) {
                float* step = sums.steps + (t * in.labels + j) * stride;
                for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
                    for (int at = first; at < first + NV * N; at += N) {
                        const Floats<N> p = before[j] * load<N>(after + at) * load<N>(step + at);
                        store<N>(step + at, p);
                        store<N>(sums.pairs + j * stride + at, load<N>(sums.pairs + j * stride + at) + p);
                    }
                });
            }
        }
    }

    static void scale_row(const ChainInput& in, float* row, float factor) {
        for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
            for (int v = 0; v < NV; ++v) store<N>(row + first + v * N, factor * load<N>(row + first + v * N));
        });
    }

    static void add_difference(const ChainInput& in, const std::int32_t* truth, const float* marginals, float step,
                               float* target) {
        const std::int64_t stride = in.stride, last = in.offsets[in.tokens] - 1;
        for (std::int64_t t = 0; t < in.tokens; ++t) {
            for_each_part<N, Vectors>(in.labels, [&]<int NV>(int first) {
                Floats<N> change[NV];
                for (int v = 0; v < NV; ++v) {
                    const auto is_true = numbers_from<N>(first + v * N) == truth[t];
                    const Floats<N> here = is_true ? broadcast<N>(1) : Floats<N>{};
                    change[v] = step * (here - load<N>(marginals + t * stride + first + v * N));
                }
                float* column = target + first;
                for (std::int64_t f = in.offsets[t], stop = in.offsets[t + 1]; f < stop; ++f) {
                    const std::int64_t ahead = f + prefetch_distance;
                    const float* next = column + in.features[ahead < last ? ahead : last] * stride;
                    for (int v = 0; v < NV * N; v += 16) prefetch(next + v);
                    float* row = column + in.features[f] * stride;
                    for (int v = 0; v < NV; ++v) {
                        const Floats<N> x = in.values ? in.values[f] * change[v] : change[v];
                        store<N>(row + v * N, load<N>(row + v * N) + x);
                    }
                }
            });
        }
    }
};

}  // namespace
}  // namespace dualstruct::DUALSTRUCT_ISA
