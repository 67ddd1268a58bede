// Which instruction set the kernels run at: the best this machine has, or the one
// that the environment variable DUALSTRUCT_SIMD (baseline, avx2, avx512) asks for.
#pragma once

#include <string>
#include <vector>

namespace dualstruct {

std::vector<std::string> simd_levels();  // those this machine can run, slowest first
const std::string& simd_level();         // the one in use

}  // namespace dualstruct

// Kernels are tables of functions, defined once per instruction set as dualstruct::<level>::table. This defines, in
// namespace dualstruct, `const Kernels& function()`: the table of the level in use.
#if DUALSTRUCT_X86
#define DUALSTRUCT_DISPATCH(Kernels, table, function)       \
    namespace baseline {                                    \
    extern const Kernels table;                             \
    }                                                       \
    namespace avx2 {                                        \
    extern const Kernels table;                             \
    }                                                       \
    namespace avx512 {                                      \
    extern const Kernels table;                             \
    }                                                       \
    const Kernels& function() {                             \
        if (simd_level() == "avx512") return avx512::table; \
        if (simd_level() == "avx2") return avx2::table;     \
        return baseline::table;                             \
    }
#else
#define DUALSTRUCT_DISPATCH(Kernels, table, function) \
    namespace baseline {                              \
    extern const Kernels table;                       \
    }                                                 \
    const Kernels& function() { return baseline::table; }
#endif
