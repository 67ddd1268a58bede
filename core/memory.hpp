// Large float arrays: aligned to cache lines, zeroed, on huge pages where the system has them.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace dualstruct {

struct FreeDeleter {
    void operator()(void* p) const noexcept { std::free(p); }
};

using FloatBuffer = std::unique_ptr<float[], FreeDeleter>;

inline FloatBuffer allocate_floats(std::size_t count) {
    constexpr std::size_t huge_page = std::size_t{1} << 21;
    const std::size_t alignment = count * sizeof(float) >= huge_page ? huge_page : 64;
    const std::size_t bytes = (count * sizeof(float) + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, bytes ? bytes : alignment);
    if (!memory) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (alignment == huge_page) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    std::memset(memory, 0, bytes);
    return FloatBuffer(static_cast<float*>(memory));
}

// A buffer that grows and never shrinks; growing forgets what it held.
class FloatScratch {
public:
    float* ensure(std::size_t count) {
        if (count > capacity_) {
            capacity_ = count + count / 4;
            buffer_ = allocate_floats(capacity_);
        }
        return buffer_.get();
    }
    float* data() { return buffer_.get(); }
    const float* data() const { return buffer_.get(); }

private:
    FloatBuffer buffer_;
    std::size_t capacity_ = 0;
};

}  // namespace dualstruct
