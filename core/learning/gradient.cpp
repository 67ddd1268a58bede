#include "learning/gradient.hpp"

#include <algorithm>
#include <numeric>

#include "base/index.hpp"
#include "base/parallel.hpp"

namespace dualstruct {

GradientPass::GradientPass(const Examples& examples, int threads)
    : examples_(examples), threads_(threads), sums_(examples.structure) {
    for (int thread = 0; thread < threads; ++thread) scratch_.push_back(structure().make_scratch());
}

double GradientPass::run(const Weights& w, Weights& descent, double beta, double gamma, const Interrupt& interrupt) {
    const Expectations& expected = expectations_of(structure());
    float* total = descent.data();
    for_each_range(descent.dimension(), threads_,
                   [&](std::int64_t begin, std::int64_t end, int) { std::fill(total + begin, total + end, 0.0f); });
    std::vector<double> losses(at(RangeSums::ranges(threads_)));
    sums_.add_up(examples_.size(), threads_, total,
                 [&](std::int64_t begin, std::int64_t end, int range, int thread, float* target) {
                     Scratch& scratch = *scratch_[at(thread)];
                     double loss = 0;
                     for (std::int64_t i = begin; i < end; ++i) {
                         // Only the calling thread may ask: signals are its business.
                         if (thread == 0 && interrupt()) return;
                         if (i + 1 < end) structure().prefetch_decode(w.data(), examples_[i + 1]);
                         const double weight = examples_.weight(i);
                         loss += weight * expected.log_loss(w.data(), examples_[i], beta, gamma, scratch);
                         expected.add_expected_difference(target, examples_[i], static_cast<float>(weight), scratch);
                     }
                     losses[at(range)] = loss;
                 });
    for_each_range(descent.dimension(), threads_, [&](std::int64_t begin, std::int64_t end, int) {
        sums_.collect(total, begin, end, [](std::int64_t, std::int64_t) {});
    });
    structure().derive(total);
    return std::accumulate(losses.begin(), losses.end(), 0.0);
}

}  // namespace dualstruct
