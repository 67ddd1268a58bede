// Vectors of floats at the width of the instruction set this file is compiled for,
// with the few operations the kernels need. Compiler vectors, no intrinsics: the
// same source serves x86 at three levels and any other machine at its baseline.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/infinity.hpp"

#ifndef DUALSTRUCT_ISA
#error "compile kernels with DUALSTRUCT_ISA set to the name of the instruction set"
#endif

#if defined(__AVX512F__)
#define DUALSTRUCT_LANES 16
#elif defined(__AVX2__)
#define DUALSTRUCT_LANES 8
#else
#define DUALSTRUCT_LANES 4
#endif

namespace dualstruct::DUALSTRUCT_ISA {

template <int N>
struct Lanes {
    typedef float Floats __attribute__((vector_size(4 * N)));
    typedef std::int32_t Ints __attribute__((vector_size(4 * N)));
};

template <int N>
using Floats = typename Lanes<N>::Floats;
template <int N>
using Ints = typename Lanes<N>::Ints;

template <int N>
inline Floats<N> load(const float* p) {
    Floats<N> x;
    __builtin_memcpy(&x, __builtin_assume_aligned(p, 4 * N <= 64 ? 4 * N : 64), sizeof x);
    return x;
}

template <int N>
inline void store(float* p, Floats<N> x) {
    __builtin_memcpy(__builtin_assume_aligned(p, 4 * N <= 64 ? 4 * N : 64), &x, sizeof x);
}

template <int N>
inline Floats<N> broadcast(float x) {
    return x - Floats<N>{};
}

// first, first + 1, …
template <int N>
inline Ints<N> numbers_from(int first) {
    Ints<N> numbers;
    for (int k = 0; k < N; ++k) numbers[k] = k;
    return first + numbers;
}

template <class V>
inline V maximum(V a, V b) {
    return a > b ? a : b;
}

// What `better` leaves of all lanes, two halves at a time.
template <int N, class V, class Better>
inline auto reduce(V x, Better better) {
    if constexpr (N == 1) {
        return x[0];
    } else {
        typedef std::remove_reference_t<decltype(x[0])> Half __attribute__((vector_size(sizeof(V) / 2)));
        Half halves[2];
        __builtin_memcpy(halves, &x, sizeof x);
        return reduce<N / 2>(better(halves[0], halves[1]), better);
    }
}

template <int N>
inline float largest(Floats<N> x) {
    return reduce<N>(x, [](auto a, auto b) { return b > a ? b : a; });
}

template <int N>
inline std::int32_t smallest(Ints<N> x) {
    return reduce<N>(x, [](auto a, auto b) { return b < a ? b : a; });
}

template <int N>
inline float sum(Floats<N> x) {
    float s = x[0];
    for (int k = 1; k < N; ++k) s += x[k];
    return s;
}

// e^x for x ≤ 88, exactly 0 at −∞ and below −87. Cody and Waite: x = n ln 2 + r with
// |r| ≤ ln 2 / 2, a degree-6 polynomial for e^r, n goes into the exponent. Relative error < 2e-7.
template <int N>
inline Floats<N> exponential(Floats<N> x) {
    const Floats<N> floor = broadcast<N>(-87.0f);
    const auto underflow = x < floor;
    x = maximum(x, floor);
    constexpr float round = 12582912.0f;  // 1.5·2^23: adding it rounds to an integer
    const Floats<N> shifted = x * 1.44269504088896341f + round;
    const Floats<N> n = shifted - round;
    const Floats<N> r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Floats<N> p = broadcast<N>(1.0f / 720);
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const Ints<N> exponent = (__builtin_convertvector(n, Ints<N>) + 127) << 23;
    const Floats<N> result = p * reinterpret_cast<Floats<N>>(exponent);
    return underflow ? Floats<N>{} : result;
}

// ln x for x > 0, −∞ at 0. x = 2^n·m with m in [√½, √2); ln m = 2 artanh((m−1)/(m+1)).
template <int N>
inline Floats<N> logarithm(Floats<N> x) {
    const auto zero = x <= Floats<N>{};
    constexpr std::int32_t sqrt_half = std::bit_cast<std::int32_t>(0.70710678f);
    const Ints<N> bits = reinterpret_cast<Ints<N>>(x) - sqrt_half;
    const Ints<N> n = bits >> 23;
    const Floats<N> m = reinterpret_cast<Floats<N>>((bits & 0x007fffff) + sqrt_half);
    const Floats<N> s = (m - 1.0f) / (m + 1.0f);
    const Floats<N> s2 = s * s;
    Floats<N> p = broadcast<N>(1.0f / 9);
    p = p * s2 + 1.0f / 7;
    p = p * s2 + 1.0f / 5;
    p = p * s2 + 1.0f / 3;
    p = p * s2 + 1.0f;
    const Floats<N> result = __builtin_convertvector(n, Floats<N>) * 0.69314718f + 2.0f * s * p;
    return zero ? broadcast<N>(-infinity) : result;
}

}  // namespace dualstruct::DUALSTRUCT_ISA
