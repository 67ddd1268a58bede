// Weights that several threads read and change at the same time: each is loaded and stored as a
// whole, in no particular order (relaxed atomics).
#pragma once

#include <atomic>

namespace dualstruct {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_THREAD__)
// What compilers should make of the functions below. GCC takes atomic floats through integer
// registers, and a pass over the cuts takes a third longer.
inline float shared_load(const float& weight) {
    float value;
    asm("movss %1, %0" : "=x"(value) : "m"(weight));
    return value;
}
inline void shared_store(float& weight, float value) { asm("movss %1, %0" : "=m"(weight) : "x"(value)); }
#else
inline float shared_load(const float& weight) {
    return std::atomic_ref<float>(const_cast<float&>(weight)).load(std::memory_order_relaxed);
}
inline void shared_store(float& weight, float value) {
    std::atomic_ref<float>(weight).store(value, std::memory_order_relaxed);
}
#endif

// Not one step: of two additions at the same time one may be lost.
inline void shared_add(float& weight, float change) { shared_store(weight, shared_load(weight) + change); }

}  // namespace dualstruct
