#include "simd/dispatch.hpp"

#include <algorithm>
#include <cstdlib>

#include "errors.hpp"
#include "structures/arc_kernels.hpp"
#include "structures/chain_kernels.hpp"
#include "trees/tree_kernels.hpp"

namespace dualstruct {

namespace baseline {
extern const ArcKernels arc_kernels;
extern const ChainKernels chain_kernels;
extern const trees::TreeKernels tree_kernels;
}
#if DUALSTRUCT_X86
namespace avx2 {
extern const ArcKernels arc_kernels;
extern const ChainKernels chain_kernels;
extern const trees::TreeKernels tree_kernels;
}
namespace avx512 {
extern const ArcKernels arc_kernels;
extern const ChainKernels chain_kernels;
extern const trees::TreeKernels tree_kernels;
}
#endif

std::vector<std::string> simd_levels() {
    std::vector<std::string> levels{"baseline"};
#if DUALSTRUCT_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
        levels.push_back("avx2");
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
            levels.push_back("avx512");
        }
    }
#endif
    return levels;
}

static std::string choose_level() {
    const auto levels = simd_levels();
    const char* wanted = std::getenv("DUALSTRUCT_SIMD");
    if (!wanted || !*wanted) return levels.back();
    if (std::find(levels.begin(), levels.end(), wanted) == levels.end()) {
        std::string known;
        for (const auto& level : levels) known += (known.empty() ? "" : ", ") + level;
        throw InputError("DUALSTRUCT_SIMD is '" + std::string(wanted) +
                         "', but this machine runs " + known);
    }
    return wanted;
}

const std::string& simd_level() {
    static const std::string level = choose_level();
    return level;
}

// The kernels of the level in use.
#if DUALSTRUCT_X86
#define DUALSTRUCT_CHOOSE(kernels)                                 \
    if (simd_level() == "avx512") return avx512::kernels;          \
    if (simd_level() == "avx2") return avx2::kernels;              \
    return baseline::kernels
#else
#define DUALSTRUCT_CHOOSE(kernels) return baseline::kernels
#endif

const ArcKernels& arc_kernels() { DUALSTRUCT_CHOOSE(arc_kernels); }
const ChainKernels& chain_kernels() { DUALSTRUCT_CHOOSE(chain_kernels); }
const trees::TreeKernels& trees::tree_kernels() { DUALSTRUCT_CHOOSE(tree_kernels); }

}  // namespace dualstruct
