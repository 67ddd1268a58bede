#include "learning/moves.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/index.hpp"
#include "base/prefetch.hpp"

namespace dualstruct {

namespace {

// Appends what is not 0 of value(k), k from begin to before end, a line at most; k + first are the places.
template <class Value>
void collect(SparseVector& found, std::int64_t begin, std::int64_t end, std::int64_t first, Value value) {
    std::uint32_t places[TouchedLines::line];
    float values[TouchedLines::line];
    std::size_t count = 0;
    for (std::int64_t k = begin; k < end; ++k) {  // no branch: it could not be guessed
        places[count] = static_cast<std::uint32_t>(first + k);
        values[count] = value(k);
        count += values[count] != 0;
    }
    found.places.insert(found.places.end(), places, places + count);
    found.values.insert(found.values.end(), values, values + count);
}

std::int64_t checked_size(std::int64_t first, std::int64_t last) {
    if (first < 0 || last < first) throw std::invalid_argument("no such range of weights");
    if (last > std::int64_t{UINT32_MAX}) throw std::length_error("too many weights to say which have moved");
    return last - first;
}

}  // namespace

SparseAdder::SparseAdder(std::int64_t first, std::int64_t last)
    : first_(first), last_(last), sums_(allocate_floats(at(checked_size(first, last)))), touched_(last - first) {}

void SparseAdder::add(std::span<const std::uint32_t> places, std::span<const float> values) {
    constexpr std::size_t ahead = 16;
    for (std::size_t k = 0; k < places.size(); ++k) {
        if (k + ahead < places.size()) prefetch(sums_.get() + (places[k + ahead] - first_));
        sums_[at(places[k] - first_)] += values[k];
        touched_.mark(places[k] - first_);
    }
}

SparseVector SparseAdder::take() {
    SparseVector found;
    touched_.take([&](std::int64_t begin, std::int64_t end) {
        collect(found, begin, end, first_, [&](std::int64_t k) { return std::exchange(sums_[at(k)], 0.0f); });
    });
    return found;
}

Moves moves_since(const DualState& state, std::span<const Code> codes, std::span<const std::int64_t> codes_of_example,
                  MoveScratch& scratch) {
    checked_size(0, scratch.sums.dimension());
    Moves found{.change = {}, .largest_step = std::numeric_limits<double>::infinity()};
    float* const sums = scratch.sums.data();
    state.cuts.compare(codes, codes_of_example, state.examples,
                       [&](std::int64_t example, std::span<const Code> cut, double then, double now) {
                           if (now == then) return;
                           if (now < then) found.largest_step = std::min(found.largest_step, then / (then - now));
                           const auto step = static_cast<float>(now - then);
                           state.structure.axpy(sums, state.examples[example], cut, step, scratch.lines);
                       });
    scratch.lines.take([&](std::int64_t begin, std::int64_t end) {
        collect(found.change, begin, end, 0, [&](std::int64_t k) { return std::exchange(sums[k], 0.0f); });
    });
    return found;
}

double dot(const Weights& w, std::span<const std::uint32_t> places, std::span<const float> values) {
    double total = 0;
    for (std::size_t k = 0; k < places.size(); ++k) total += double{values[k]} * w.data()[places[k]];
    return total;
}

void axpy(Weights& w, std::span<const std::uint32_t> places, std::span<const float> values, double step,
          Weights* copy) {
    const auto factor = static_cast<float>(step);
    float* const to = w.data();
    if (!copy) {
        for (std::size_t k = 0; k < places.size(); ++k) to[places[k]] += factor * values[k];
        return;
    }
    float* const same = copy->data();
    for (std::size_t k = 0; k < places.size(); ++k) {  // one way through memory for both
        const std::uint32_t place = places[k];
        same[place] = to[place] += factor * values[k];
    }
}

}  // namespace dualstruct
