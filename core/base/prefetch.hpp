// Asks for a cache line before it is needed. WebAssembly has no such instruction, so there a byte is read: reads that
// nothing waits for overlap.
//
// Not __builtin_prefetch alone: gcc takes a function that only asks for lines for one that does nothing, and removes the
// calls of it.
#pragma once

namespace dualstruct {

inline void prefetch(const void* place) {
#ifdef __wasm__
    static_cast<void>(*static_cast<const volatile char*>(place));
#else
    __builtin_prefetch(place);
    asm volatile("");
#endif
}

}  // namespace dualstruct
