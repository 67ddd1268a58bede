#include "structures/chain/chain_kernels.hpp"

#include "simd/simd.hpp"
#include "structures/chain/chain_kernel_loops.hpp"

namespace dualstruct::DUALSTRUCT_ISA {
namespace {

// Rows of at most 8 vectors get code of their own; the rest share the tiled form, and all do where machines have wider
// vectors, but old ones.
template <int N, class Call>
auto with_vectors(const ChainInput& in, Call call) {
    if (in.pair_offsets) return call.template operator()<Kernels<N, narrow_tiles, true>>();
#if DUALSTRUCT_X86 && !defined(__AVX2__)
    return call.template operator()<Kernels<N, wide_tiles>>();
#else
    switch ((in.labels + N - 1) / N) {
        case 1: return call.template operator()<Kernels<N, 1>>();
        case 2: return call.template operator()<Kernels<N, 2>>();
        case 3: return call.template operator()<Kernels<N, 3>>();
        case 4: return call.template operator()<Kernels<N, 4>>();
        case 5: return call.template operator()<Kernels<N, 5>>();
        case 6: return call.template operator()<Kernels<N, 6>>();
        case 7: return call.template operator()<Kernels<N, 7>>();
        case 8: return call.template operator()<Kernels<N, 8>>();
        default: return call.template operator()<Kernels<N, wide_tiles>>();
    }
#endif
}

// Rows are padded to 8 labels. Where these are no whole number of the widest vectors, every other row would begin in
// the middle of one: vectors of 8 go through such rows.
template <class Call>
auto with_lanes(const ChainInput& in, Call call) {
    constexpr int N = DUALSTRUCT_LANES;
    if constexpr (N > 8) {
        if (in.stride % N != 0) return call.template operator()<8>();
    }
    return call.template operator()<N>();
}

// Those rows have an odd number of vectors; at most 7 get code of their own.
template <class Call>
auto with_shape(const ChainInput& in, Call call) {
    return with_lanes(in, [&]<int N>() {
        if constexpr (N == DUALSTRUCT_LANES) {
            return with_vectors<N>(in, call);
        } else {
            if (in.pair_offsets) return call.template operator()<Kernels<N, narrow_tiles, true>>();
            switch (in.stride / N) {
                case 1: return call.template operator()<Kernels<N, 1>>();
                case 3: return call.template operator()<Kernels<N, 3>>();
                case 5: return call.template operator()<Kernels<N, 5>>();
                case 7: return call.template operator()<Kernels<N, 7>>();
                default: return call.template operator()<Kernels<N, wide_tiles>>();
            }
        }
    });
}

// The same for what takes long in each vector, whatever stands around it.
template <class Call>
auto with_little_code(const ChainInput& in, Call call) {
    return with_lanes(in, [&]<int N>() {
        if (in.pair_offsets) return call.template operator()<Kernels<N, narrow_tiles, true>>();
        return call.template operator()<Kernels<N, narrow_tiles>>();
    });
}

}  // namespace

extern const ChainKernels chain_kernels;
const ChainKernels chain_kernels = {
    [](const ChainInput& in, float* maxima, double* shifts) {
        with_shape(in, [&]<class Kernel>() { Kernel::max_forward(in, maxima, shifts); });
    },
    [](const ChainInput& in, std::int64_t t) {
        return with_shape(in, [&]<class Kernel>() { return Kernel::transitions_into(in, t); });
    },
    [](const ChainInput& in, std::int64_t t, int k) {
        return with_shape(in, [&]<class Kernel>() { return Kernel::column_into(in, t, k); });
    },
    [](const ChainInput& in, const float* maxima, std::int32_t* path) {
        return with_shape(in, [&]<class Kernel>() { return Kernel::backtrace(in, maxima, path); });
    },
    [](const ChainInput& in, float scale, float* emissions, float* forward, float* backward) {
        return with_little_code(
            in, [&]<class Kernel>() { return Kernel::log_forward_backward(in, scale, emissions, forward, backward); });
    },
    Kernels<DUALSTRUCT_LANES, wide_tiles>::pair_marginals,
    Kernels<DUALSTRUCT_LANES, wide_tiles>::label_marginals,
    [](const ChainInput& in, float scale, const float* rows, int count, float* out) {
        return with_little_code(in,
                                [&]<class Kernel>() { return Kernel::exponentiate_rows(in, scale, rows, count, out); });
    },
    [](const ChainInput& in, const ChainSums& sums) {
        return with_shape(in, [&]<class Kernel>() { return Kernel::forward_backward(in, sums); });
    },
    [](const ChainInput& in, const std::int32_t* truth, const float* marginals, float step, float* target) {
        with_shape(in, [&]<class Kernel>() { Kernel::add_difference(in, truth, marginals, step, target); });
    },
};

}  // namespace dualstruct::DUALSTRUCT_ISA
