#include "inference/trees/tree_kernels.hpp"

#include "simd/simd.hpp"

namespace dualstruct::DUALSTRUCT_ISA {
namespace {

using trees::EisnerCharts;
using trees::Scaled;
using trees::ScaledRow;

constexpr int N = DUALSTRUCT_LANES;
static_assert(trees::block % N == 0);

// The recurrences of Eisner (1996), each row from left to right, the last row first. Instead of looking for the best
// split point of one span, every finished span is tried as the left part of all longer spans of its row at once:
// contiguous loads, no maximum within a vector. Blocks that begin left of the first span read −∞ there.
void eisner(const EisnerCharts& c) {
    const int stride = c.stride;
    for (int s = c.nodes - 1; s >= c.first; --s) {
        const std::int64_t row = std::int64_t{s} * stride;
        float* halves = c.halves + row;
        float* arc_left = c.arc_left + row;
        float* complete_right = c.complete_right + row;
        float* complete_left = c.complete_left + row;
        const int start = s / N * N;
        if (s + 1 < c.nodes) {
            const float* next = c.complete_left + row + stride;
            for (int t = start; t < stride; t += N) store<N>(halves + t, load<N>(next + t));
        }
        for (int t = start; t < stride; t += N) {
            store<N>(arc_left + t, broadcast<N>(-infinity));
            store<N>(complete_right + t, broadcast<N>(-infinity));
            store<N>(complete_left + t, broadcast<N>(-infinity));
        }
        complete_right[s] = 0;
        complete_left[s] = 0;
        for (int q = s + 1; q < c.nodes; ++q) {
            const float arc_right = halves[q] + c.right[row + q];
            arc_left[q] = halves[q] + c.left[row + q];
            const float left = arc_left[q] > complete_left[q] ? arc_left[q] : complete_left[q];
            const float right = arc_right > complete_right[q] ? arc_right : complete_right[q];
            complete_left[q] = left;
            complete_right[q] = right;
            const std::int64_t at = std::int64_t{q} * stride;
            const int from = (q + 1) / N * N;
            if (arc_right > -infinity) {
                const float* longer = c.complete_right + at;
                for (int t = from; t < stride; t += N) {
                    store<N>(complete_right + t, maximum(arc_right + load<N>(longer + t), load<N>(complete_right + t)));
                }
            }
            if (left > -infinity) {
                const float* longer = c.arc_left + at;
                for (int t = from; t < stride; t += N) {
                    store<N>(complete_left + t, maximum(left + load<N>(longer + t), load<N>(complete_left + t)));
                }
            }
            if (right > -infinity && q + 1 < c.nodes) {
                const float* longer = c.complete_left + at + stride;
                for (int t = from; t < stride; t += N) {
                    store<N>(halves + t, maximum(right + load<N>(longer + t), load<N>(halves + t)));
                }
            }
        }
    }
}

constexpr int M = N / 2;  // doubles in a vector
typedef double Doubles __attribute__((vector_size(8 * M)));
typedef std::int64_t Longs __attribute__((vector_size(8 * M)));

template <class V, class T>
inline V load_lanes(const T* p) {
    V x;
    __builtin_memcpy(&x, __builtin_assume_aligned(p, sizeof x), sizeof x);
    return x;
}

template <class V, class T>
inline void store_lanes(T* p, V x) {
    __builtin_memcpy(__builtin_assume_aligned(p, sizeof x), &x, sizeof x);
}

inline Doubles powers_of_two(Longs k) {
    k = k > -1022 ? k : Longs{} - 1022;
    return reinterpret_cast<Doubles>((k + 1023) << 52);
}

struct ScaledLanes {
    Doubles m;
    Longs e;

    void add(Doubles other_m, Longs other_e) {
        const Longs larger = other_e > e ? other_e : e;
        m = m * powers_of_two(e - larger) + other_m * powers_of_two(other_e - larger);
        e = larger;
    }
};

void add_multiple(ScaledRow to, Scaled x, ScaledRow from, int begin, int end) {
    for (int t = begin; t < end; t += M) {
        ScaledLanes sum{load_lanes<Doubles>(to.m + t), load_lanes<Longs>(to.e + t)};
        sum.add(x.m * load_lanes<Doubles>(from.m + t), x.e + load_lanes<Longs>(from.e + t));
        store_lanes(to.m + t, sum.m);
        store_lanes(to.e + t, sum.e);
    }
}

Scaled dot(ScaledRow a, ScaledRow b, int begin, int end) {
    ScaledLanes sum{Doubles{}, Longs{} + trees::exponent_of_zero};
    for (int t = begin; t < end; t += M) {
        sum.add(load_lanes<Doubles>(a.m + t) * load_lanes<Doubles>(b.m + t),
                load_lanes<Longs>(a.e + t) + load_lanes<Longs>(b.e + t));
    }
    std::int64_t e = sum.e[0];
    for (int k = 1; k < M; ++k) e = sum.e[k] > e ? sum.e[k] : e;
    const Doubles parts = sum.m * powers_of_two(sum.e - e);
    double m = parts[0];
    for (int k = 1; k < M; ++k) m += parts[k];
    return trees::normalised({m, e});
}

void normalise(ScaledRow row, int begin, int end) {
    constexpr std::int64_t one = std::int64_t{1023} << 52, fraction = (std::int64_t{1} << 52) - 1;
    for (int t = begin; t < end; t += M) {
        const Doubles m = load_lanes<Doubles>(row.m + t);
        const Longs bits = reinterpret_cast<Longs>(m), e = load_lanes<Longs>(row.e + t);
        const auto zero = m == Doubles{};
        store_lanes(row.m + t, zero ? m : reinterpret_cast<Doubles>((bits & fraction) | one));
        store_lanes(row.e + t, zero ? Longs{} + trees::exponent_of_zero : e + ((bits >> 52) - 1023));
    }
}

}  // namespace

extern const trees::TreeKernels tree_kernels;
const trees::TreeKernels tree_kernels = {eisner, add_multiple, dot, normalise};

}  // namespace dualstruct::DUALSTRUCT_ISA
