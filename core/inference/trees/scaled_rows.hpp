// Matrices of scaled numbers, in buffers that grow and never shrink.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "base/index.hpp"
#include "inference/trees/scaled.hpp"
#include "inference/trees/tree_kernels.hpp"

namespace dualstruct::trees {

template <class T>
struct CacheLineAllocator {
    using value_type = T;
    static constexpr std::align_val_t alignment{64};

    CacheLineAllocator() = default;
    template <class U>
    CacheLineAllocator(const CacheLineAllocator<U>&) {}
    T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), alignment)); }
    void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, alignment); }
    bool operator==(const CacheLineAllocator&) const { return true; }
};

class ScaledRows {
public:
    // The entries are unknown after it.
    void resize(int rows, int columns) {
        stride_ = padded(columns);
        const std::size_t cells = at(rows) * stride_;
        if (cells > m_.size()) {
            m_.resize(cells);
            e_.resize(cells);
        }
    }
    void clear(int first, int last) {
        const std::size_t begin = at(first) * stride_;
        const std::size_t count = at(last - first) * stride_;
        std::fill_n(m_.data() + begin, count, 0.0);
        std::fill_n(e_.data() + begin, count, exponent_of_zero);
    }
    int stride() const { return stride_; }
    ScaledRow operator[](int row) {
        const std::size_t place = at(row) * stride_;
        return {m_.data() + place, e_.data() + place};
    }

private:
    std::vector<double, CacheLineAllocator<double>> m_;
    std::vector<std::int64_t, CacheLineAllocator<std::int64_t>> e_;
    int stride_ = 0;
};

}  // namespace dualstruct::trees
