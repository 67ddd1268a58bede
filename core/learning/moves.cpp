#include "learning/moves.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/index.hpp"
#include "base/prefetch.hpp"

namespace dualstruct {

namespace {

// How many numbers ahead of one that is at work the line of another is fetched.
constexpr std::size_t ahead = 32;

// What of the lines that were touched is not 0; sums[k] is of place k + first. All of it is 0 then.
SparseVector take_lines(TouchedLines& lines, float* sums, std::int64_t first) {
    SparseVector found;
    const std::size_t most = at(lines.count() * TouchedLines::line);
    found.places.reserve(most);
    found.values.reserve(most);
    lines.take([&](std::int64_t begin) { prefetch(sums + begin); },
               [&](std::int64_t begin, std::int64_t end) {
                   std::uint32_t places[TouchedLines::line];
                   float values[TouchedLines::line];
                   std::size_t count = 0;
                   for (std::int64_t k = begin; k < end; ++k) {  // no branch: it could not be guessed
                       places[count] = static_cast<std::uint32_t>(first + k);
                       values[count] = std::exchange(sums[k], 0.0f);
                       count += values[count] != 0;
                   }
                   found.places.insert(found.places.end(), places, places + count);
                   found.values.insert(found.values.end(), values, values + count);
               });
    return found;
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
    for (std::size_t k = 0; k < places.size(); ++k) {
        if (k + ahead < places.size()) prefetch(sums_.get() + (places[k + ahead] - first_));
        sums_[at(places[k] - first_)] += values[k];
        touched_.mark(places[k] - first_);
    }
}

SparseVector SparseAdder::take() { return take_lines(touched_, sums_.get(), first_); }

SparseVector take_moves(SharedLines& lines, Weights& local, const Weights& w) {
    checked_size(0, w.dimension());
    SparseVector found;
    const std::size_t most = at(lines.touched().count() * TouchedLines::line);
    found.places.reserve(most);
    found.values.reserve(most);
    float* const to = local.data();
    const float* const from = w.data();
    lines.touched().take(
        [&](std::int64_t begin) {
            prefetch(to + begin);
            prefetch(from + begin);
        },
        [&](std::int64_t begin, std::int64_t end) {
            std::uint32_t places[TouchedLines::line];
            float values[TouchedLines::line];
            std::size_t count = 0;
            const float times = lines.times(begin);
            for (std::int64_t k = begin; k < end; ++k) {
                places[count] = static_cast<std::uint32_t>(k);
                values[count] = (to[k] - from[k]) / times;
                to[k] = from[k];
                count += values[count] != 0;
            }
            if (count > 0) lines.set_moved(begin);
            found.places.insert(found.places.end(), places, places + count);
            found.values.insert(found.values.end(), values, values + count);
        });
    return found;
}

SparseVector exact_moves(const DualState& state, std::span<const Code> codes,
                         std::span<const std::int64_t> codes_of_example, MoveScratch& scratch) {
    checked_size(0, scratch.sums.dimension());
    float* const sums = scratch.sums.data();
    // A cut is added once the next one is known: its lines are on their way meanwhile.
    struct Moved {
        std::int64_t example;
        std::span<const Code> cut;
        float step;
    } last{};
    const auto add = [&](const Moved& moved) {
        if (moved.step != 0) state.structure.axpy(sums, moved.example, moved.cut, moved.step, scratch.lines);
    };
    state.cuts.compare(codes, codes_of_example, state.examples,
                       [&](std::int64_t i, std::span<const Code> cut, double then, double now) {
                           const Moved next{state.examples[i], cut, static_cast<float>(now - then)};
                           state.structure.prefetch_cut(sums, next.example, cut);
                           add(std::exchange(last, next));
                       });
    add(last);
    return take_lines(scratch.lines.touched(), sums, 0);
}

double largest_step(const DualState& state, std::span<const Code> codes,
                    std::span<const std::int64_t> codes_of_example) {
    double largest = std::numeric_limits<double>::infinity();
    state.cuts.compare(codes, codes_of_example, state.examples,
                       [&](std::int64_t, std::span<const Code>, double then, double now) {
                           if (now < then) largest = std::min(largest, then / (then - now));
                       });
    return largest;
}

bool are_places(std::span<const std::uint32_t> places, std::int64_t first, std::int64_t last) {
    std::uint32_t least = std::numeric_limits<std::uint32_t>::max(), most = 0;
    for (const std::uint32_t place : places) {
        least = std::min(least, place);
        most = std::max(most, place);
    }
    return places.empty() || (least >= first && most < last);
}

double dot(const Weights& w, std::span<const std::uint32_t> places, std::span<const float> values) {
    double total = 0;
    for (std::size_t k = 0; k < places.size(); ++k) {
        if (k + ahead < places.size()) prefetch(w.data() + places[k + ahead]);
        total += double{values[k]} * w.data()[places[k]];
    }
    return total;
}

void axpy(Weights& w, std::span<const std::uint32_t> places, std::span<const float> values, double step,
          Weights* copy) {
    const auto factor = static_cast<float>(step);
    float* const to = w.data();
    float* const same = copy ? copy->data() : to;
    for (std::size_t k = 0; k < places.size(); ++k) {  // one way through memory for both
        if (k + ahead < places.size()) {
            prefetch(to + places[k + ahead]);
            prefetch(same + places[k + ahead]);
        }
        same[places[k]] = to[places[k]] += factor * values[k];
    }
}

}  // namespace dualstruct
