#include "structures/tree/arc_kernels.hpp"

#include "base/infinity.hpp"
#include "simd/simd.hpp"

namespace dualstruct::DUALSTRUCT_ISA {
namespace {

constexpr int N = DUALSTRUCT_LANES;

Floats<N> sum_column(const float* const* rows, int count, int column) {
    Floats<N> total = load<N>(rows[0] + column);
    for (int r = 1; r < count; ++r) total += load<N>(rows[r] + column);
    return total;
}

// Where the largest of some columns is, of which each takes N values.
class Largest {
public:
    explicit Largest(int labels) : labels_(labels) {}
    void take(int column, Floats<N> values) {
        const Ints<N> numbers = numbers_from<N>(column);
        const auto more = (values > best_) & (numbers < labels_);
        best_ = more ? values : best_;
        place_ = more ? numbers : place_;
    }
    // 0 where all are NaN or −∞.
    int place() const {
        const float most = largest<N>(best_);
        return smallest<N>(best_ == broadcast<N>(most) ? place_ : Ints<N>{} + labels_);
    }

private:
    const int labels_;
    Floats<N> best_ = broadcast<N>(-infinity);
    Ints<N> place_{};
};

void sum_rows(const float* const* rows, int count, int width, float* out) {
    for (int k = 0; k < width; k += N) store<N>(out + k, sum_column(rows, count, k));
}

int sum_labels(const float* const* rows, int count, int width, int labels, float* out) {
    Largest largest(labels);
    for (int k = 0; k < width; k += N) {
        const Floats<N> total = sum_column(rows, count, k);
        store<N>(out + k, total);
        largest.take(k, total);
    }
    return largest.place();
}

int largest_at(const float* values, int width, int labels) {
    Largest largest(labels);
    for (int k = 0; k < width; k += N) largest.take(k, load<N>(values + k));
    return largest.place();
}

// In the same order whatever the number of lanes: 16 sums of two values, and halves of these.
float sum_marked(const float* row, std::uint32_t mask) {
    Floats<N> sums[16 / N];
    for (int k = 0; k < 16; k += N) {
        const Ints<N> low = 1 << numbers_from<N>(k), high = low << 16;
        const auto marked = static_cast<std::int32_t>(mask);
        sums[k / N] = ((marked & low) != 0 ? load<N>(row + k) : Floats<N>{}) +
                      ((marked & high) != 0 ? load<N>(row + 16 + k) : Floats<N>{});
    }
    for (int left = 16 / N; left > 1; left /= 2) {
        for (int k = 0; k < left / 2; ++k) sums[k] += sums[k + left / 2];
    }
    return reduce<N>(sums[0], [](auto a, auto b) { return a + b; });
}

}  // namespace

extern const ArcKernels arc_kernels;
const ArcKernels arc_kernels{sum_rows, sum_labels, largest_at, sum_marked};

}  // namespace dualstruct::DUALSTRUCT_ISA
