#include "learning/weights.hpp"

#include <numeric>
#include <vector>

#include "base/parallel.hpp"

namespace dualstruct {

namespace {

template <class Entry>
double sum_squares(std::int64_t begin, std::int64_t end, Entry entry) {
    double total = 0;
    std::int64_t k = begin;
    for (; k + 8 <= end; k += 8) {
        float squares[8];  // products of floats vectorise; their sum is taken in double
        for (int q = 0; q < 8; ++q) squares[q] = entry(k + q) * entry(k + q);
        total += (double{squares[0]} + squares[1]) + (double{squares[2]} + squares[3]) +
                 (double{squares[4]} + squares[5]) + (double{squares[6]} + squares[7]);
    }
    for (; k < end; ++k) total += double{entry(k)} * entry(k);
    return total;
}

// The same on any number of threads.
template <class Entry>
double sum_of_squares(std::int64_t dimension, int threads, Entry entry) {
    constexpr std::int64_t block = 1 << 18;
    std::vector<double> sums(at((dimension + block - 1) / block));
    for_each_range(static_cast<std::int64_t>(sums.size()), threads, [&](std::int64_t first, std::int64_t last, int) {
        for (std::int64_t b = first; b < last; ++b) {
            sums[at(b)] = sum_squares(b * block, std::min((b + 1) * block, dimension), entry);
        }
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

double Weights::squared_norm(int threads) const {
    return sum_of_squares(dimension_, threads, [this](std::int64_t k) { return data_[k]; });
}

double Weights::squared_distance(const Weights& other, int threads) const {
    return sum_of_squares(dimension_, threads, [this, &other](std::int64_t k) { return data_[k] - other.data_[k]; });
}

void Average::settle(const Weights& v) {
    for (std::int64_t k = 0; k < v.dimension(); ++k) {
        deferred_.data()[k] = static_cast<float>(deferred_.data()[k] - scales_ * v.data()[k]);
    }
    scales_ = 0;
}

void Average::write(const Weights& v, double scale, Weights& out) const {
    const double total = weight();
    for (std::int64_t k = 0; k < v.dimension(); ++k) {
        out.data()[k] =
            static_cast<float>(steps_ ? (scales_ * v.data()[k] - deferred_.data()[k]) / total : scale * v.data()[k]);
    }
}

}  // namespace dualstruct
