// A lock for many readers and now and then a writer, who does not wait forever: readers pass a
// gate that a waiting writer keeps shut. (The standard library promises neither side its turn.)
#pragma once

#if !defined(__wasm__) || defined(_REENTRANT)
#include <mutex>
#include <shared_mutex>
#endif

namespace dualstruct {

#if defined(__wasm__) && !defined(_REENTRANT)
// Where there are no threads.
class Turnstile {
public:
    struct Pass {
        ~Pass() {}
    };
    Pass read() { return {}; }
    Pass write() { return {}; }
};
#else
class Turnstile {
public:
    std::shared_lock<std::shared_mutex> read() {
        const std::lock_guard pass(gate_);
        return std::shared_lock(mutex_);
    }
    std::unique_lock<std::shared_mutex> write() {
        const std::lock_guard shut(gate_);
        return std::unique_lock(mutex_);
    }

private:
    std::mutex gate_;
    std::shared_mutex mutex_;
};
#endif

}  // namespace dualstruct
