// What a system gives the core elsewhere: threads, of which there are none here, and exceptions, which JavaScript
// throws: a call that failed frees nothing, so it gives up this memory and opens the model again
// (runtime/wasm_core.mjs).

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <typeinfo>

#include "base/pool.hpp"

#define FROM_JAVASCRIPT(name) __attribute__((import_module("js"), import_name(name)))

extern "C" {

[[noreturn]] FROM_JAVASCRIPT("fail") void fail_in_javascript(const char* text, std::size_t size);

void* __cxa_allocate_exception(std::size_t size) noexcept { return std::malloc(size); }
void __cxa_free_exception(void* exception) noexcept { std::free(exception); }

// All that the core throws is a std::exception, first of all.
[[noreturn]] void __cxa_throw(void* exception, std::type_info*, void (*)(void*)) {
    const char* const text = static_cast<const std::exception*>(exception)->what();
    fail_in_javascript(text, std::strlen(text));
}

// The only thread never ends.
int __cxa_thread_atexit(void (*)(void*), void*, void*) noexcept { return 0; }

// The library's own would print, and so need files.
[[noreturn]] void abort_message(const char*, ...) { __builtin_trap(); }
[[noreturn]] void __cxa_pure_virtual() { __builtin_trap(); }
}

_LIBCPP_BEGIN_NAMESPACE_STD
[[noreturn]] void __libcpp_verbose_abort(const char*, ...) { __builtin_trap(); }
_LIBCPP_END_NAMESPACE_STD

namespace {

void* checked(void* memory) {
    constexpr char text[] = "there is too little memory for the model";
    if (memory == nullptr) fail_in_javascript(text, sizeof text - 1);
    return memory;
}

}  // namespace

void* operator new(std::size_t size) { return checked(std::malloc(size > 0 ? size : 1)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    const auto step = static_cast<std::size_t>(alignment);
    return checked(std::aligned_alloc(step, (size + step - 1) / step * step));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size > 0 ? size : 1); }
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace dualstruct {

int most_threads() { return 1; }
int pool_size() { return 0; }
LentThreads::LentThreads(int, const std::function<void(int)>&) {}
LentThreads::~LentThreads() = default;
void LentThreads::recall() {}

}  // namespace dualstruct
