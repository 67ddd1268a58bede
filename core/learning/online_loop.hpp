// The loop of online.hpp, which every step instantiates in its own file.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "base/errors.hpp"
#include "base/random.hpp"
#include "learning/online.hpp"

namespace dualstruct {

// Beyond this a loss says that the steps diverge; w has not overflowed yet.
inline constexpr double diverged_loss = 1e18;

template <class Step>
PassReport OnlinePass<Step>::run(const Examples& from, Weights& weights, Average* average, Step& step,
                                 std::span<const std::int32_t> some, std::uint64_t seed, const Interrupt& interrupt) {
    const Structure& structure = from.structure;
    Step::check(structure);
    PassReport report;
    auto order = shuffled_order(from.size(), seed);
    if (!some.empty()) {
        order.assign(some.begin(), some.end());
        Random(seed).shuffle(order.begin(), order.end());
    }
    const auto n = static_cast<std::int64_t>(order.size());
    const auto scratch = structure.make_scratch();
    Difference found;
    ScaledWeights w(structure, weights, average);
    ExampleStep example(w, *scratch, found, report);
    for (std::int64_t q = 0; q < n; ++q) {
        if (interrupt()) break;
        if (q + 2 < n) structure.prefetch_example(from[order[q + 2]]);
        if (q + 1 < n) structure.prefetch_decode(weights.data(), from[order[q + 1]]);
        example.i = from[order[q]];
        example.weight = from.weight(order[q]);
        const double loss = step.meet(example);
        if (!(std::abs(loss) < diverged_loss)) {
            throw DivergedError("the steps diverge: the loss of an example is beyond all bounds; give a smaller C");
        }
        report.loss += example.weight * loss;
        if (step.finish(w, q + 1 == n)) w.end_step();
        report.moves += w.take_moved();
    }
    return report;
}

}  // namespace dualstruct
