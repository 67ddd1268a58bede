// Weights that several threads read and change at the same time: each is loaded and stored as a
// whole. On common processors this costs what plain loads and stores do.
#pragma once

#include <atomic>

namespace dualstruct {

inline float shared_load(const float& weight) {
    return std::atomic_ref<float>(const_cast<float&>(weight)).load(std::memory_order_relaxed);
}

// Not one step: of two additions at the same time one may be lost.
inline void shared_add(float& weight, float change) {
    std::atomic_ref<float>(weight).store(shared_load(weight) + change, std::memory_order_relaxed);
}

}  // namespace dualstruct
