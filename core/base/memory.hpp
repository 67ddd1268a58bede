// Large float arrays: aligned to cache lines, zeroed, on huge pages where the system has them.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace dualstruct {

struct AlignedDeleter {
    std::align_val_t alignment{64};
    void operator()(float* p) const noexcept { ::operator delete(static_cast<void*>(p), alignment); }
};

using FloatBuffer = std::unique_ptr<float[], AlignedDeleter>;

inline FloatBuffer allocate_floats(std::size_t count) {
    constexpr std::size_t huge_page = std::size_t{1} << 21;
    const std::size_t alignment = count * sizeof(float) >= huge_page ? huge_page : 64;
    const std::size_t bytes = (count * sizeof(float) + alignment - 1) / alignment * alignment;
    void* memory = ::operator new(bytes ? bytes : alignment, std::align_val_t{alignment});
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (alignment == huge_page) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    std::memset(memory, 0, bytes);
    return FloatBuffer(static_cast<float*>(memory), AlignedDeleter{std::align_val_t{alignment}});
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
