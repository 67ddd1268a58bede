// Python's lock, let go and taken by threads that may outlive the interpreter.
//
// Once the interpreter is ending, Python (before 3.14) ends a thread that asks for the lock by pthread_exit, which
// unwinds its stack, and destructors or "catch (...)" on the way abort the process. Such a thread has nothing left to
// do here: it waits for the end of the process, as Python does from 3.14 on.
#pragma once

#include <Python.h>

#if defined(__GLIBC__)
#include <cxxabi.h>
#include <unistd.h>
#endif

namespace dualstruct {

template <class Take>
void take_gil(Take take) noexcept {
#if defined(__GLIBC__)
    try {
        take();
    } catch (const abi::__forced_unwind&) {
        for (;;) pause();
    }
#else
    take();
#endif
}

class GilReleased {
public:
    GilReleased() : state_(PyEval_SaveThread()) {}
    GilReleased(const GilReleased&) = delete;
    ~GilReleased() {
        take_gil([this] { PyEval_RestoreThread(state_); });
    }

private:
    PyThreadState* state_;
};

class GilHeld {
public:
    GilHeld() {
        take_gil([this] { state_ = PyGILState_Ensure(); });
    }
    GilHeld(const GilHeld&) = delete;
    ~GilHeld() { PyGILState_Release(state_); }

private:
    PyGILState_STATE state_;
};

// What work() returns, which it finds without the GIL.
template <class Work>
auto without_gil(Work work) {
    GilReleased no_gil;
    return work();
}

}  // namespace dualstruct
