// Positive numbers of any size: m·2^e. Sums over trees are products of hundreds of exponentials; this keeps them in
// full double precision where a double would overflow or vanish, and costs no logarithms in between.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace dualstruct::trees {

// Below any exponent in use, and far enough from the limits that three of them can be added.
inline constexpr std::int64_t exponent_of_zero = -(std::int64_t{1} << 60);

struct Scaled {
    double m = 0;
    std::int64_t e = exponent_of_zero;

    bool is_zero() const { return m == 0; }
    double log() const { return std::log(m) + static_cast<double>(e) * 0.693147180559945309; }
};

// 1 ≤ m < 2, or 0.
inline Scaled normalised(Scaled x) {
    if (x.m == 0) return {};
    const auto bits = std::bit_cast<std::uint64_t>(x.m);
    const auto exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
    constexpr std::uint64_t fraction = (std::uint64_t{1} << 52) - 1;
    return {std::bit_cast<double>((bits & fraction) | (std::uint64_t{1023} << 52)), x.e + exponent};
}

inline double power_of_two(std::int64_t k) {  // for k ≤ 0; what is below 2^−1022 does not matter
    return std::bit_cast<double>(static_cast<std::uint64_t>((k > -1022 ? k : -1022) + 1023) << 52);
}

inline Scaled operator*(Scaled a, Scaled b) { return normalised({a.m * b.m, a.e + b.e}); }
inline Scaled operator/(Scaled a, Scaled b) { return normalised({a.m / b.m, a.e - b.e}); }
inline Scaled operator+(Scaled a, Scaled b) {
    if (a.m == 0) return b;
    if (b.m == 0) return a;
    const std::int64_t e = a.e > b.e ? a.e : b.e;
    return normalised({a.m * power_of_two(a.e - e) + b.m * power_of_two(b.e - e), e});
}

// 0 for what is not a finite number.
inline Scaled exponential(double x) {
    if (!(std::abs(x) < 1e15)) return {};
    const double e = std::floor(x * 1.44269504088896341);
    return normalised({std::exp(x - e * 0.693147180559945309), static_cast<std::int64_t>(e)});
}

// The ratio as a double, of numbers whose ratio is one.
inline double ratio(Scaled a, Scaled b) {
    if (a.m == 0) return 0;
    const std::int64_t e = a.e - b.e;
    return e > 0 ? a.m / b.m * static_cast<double>(std::int64_t{1} << (e < 62 ? e : 62)) : a.m / b.m * power_of_two(e);
}

// A row of them, as the kernels read it.
struct ScaledRow {
    double* m;
    std::int64_t* e;

    Scaled operator[](std::int64_t t) const { return {m[t], e[t]}; }
    void set(std::int64_t t, Scaled x) const {
        m[t] = x.m;
        e[t] = x.e;
    }
    ScaledRow operator+(std::int64_t offset) const { return {m + offset, e + offset}; }
};

}  // namespace dualstruct::trees
