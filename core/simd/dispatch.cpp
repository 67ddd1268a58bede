#include "simd/dispatch.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/errors.hpp"

namespace dualstruct {

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
        throw InputError("DUALSTRUCT_SIMD is '" + std::string(wanted) + "', but this machine runs " + known);
    }
    return wanted;
}

const std::string& simd_level() {
    static const std::string level = choose_level();
    return level;
}

}  // namespace dualstruct
