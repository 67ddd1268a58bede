// Infinity, exact in every floating-point type.
#pragma once

#include <limits>

namespace dualstruct {

inline constexpr float infinity = std::numeric_limits<float>::infinity();

}  // namespace dualstruct
