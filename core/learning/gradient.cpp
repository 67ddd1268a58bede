#include "learning/gradient.hpp"

#include <algorithm>
#include <numeric>

#include "base/index.hpp"
#include "base/parallel.hpp"

namespace dualstruct {

double SoftmaxMarginGradient::operator()(const Examples& examples, const float* w, std::int64_t place, float* target,
                                         Scratch& scratch, Difference&) const {
    const Expectations& sums = *examples.structure.expectations();
    const std::int64_t i = examples[place];
    const double loss = sums.log_loss(w, i, beta, gamma, scratch);
    const double weight = examples.weight(place);
    sums.add_expected_difference(target, i, static_cast<float>(weight), scratch);
    return weight * loss;
}

double HingeGradient::operator()(const Examples& examples, const float* w, std::int64_t place, float* target,
                                 Scratch& scratch, Difference& found) const {
    const Structure& structure = examples.structure;
    const std::int64_t i = examples[place];
    structure.decode(w, i, 1, scratch);
    structure.difference(i, scratch.output, found);
    if (found.is_truth) return 0;
    const double violation = found.cost - structure.dot(w, i, found.codes);
    if (violation <= 0) return 0;
    const double weight = examples.weight(place);
    structure.axpy(target, i, found.codes, static_cast<float>(weight * (squared ? 2 * violation : 1)));
    return weight * (squared ? violation * violation : violation);
}

GradientPass::GradientPass(const Examples& examples, int threads)
    : examples_(examples), threads_(threads), sums_(examples.structure) {
    for (int thread = 0; thread < threads; ++thread) scratch_.push_back(structure().make_scratch());
}

template <class Gradient>
double GradientPass::run(const Weights& w, Weights& descent, const Gradient& gradient, const Interrupt& interrupt) {
    gradient.check(structure());
    float* total = descent.data();
    for_each_range(descent.dimension(), threads_,
                   [&](std::int64_t begin, std::int64_t end, int) { std::fill(total + begin, total + end, 0.0f); });
    std::vector<double> losses(at(RangeSums::ranges(threads_)));
    sums_.add_up(examples_.size(), threads_, total,
                 [&](std::int64_t begin, std::int64_t end, int range, int thread, float* target) {
                     Difference difference;
                     double loss = 0;
                     for (std::int64_t i = begin; i < end; ++i) {
                         // Only the calling thread may ask: signals are its business.
                         if (thread == 0 && interrupt()) return;
                         if (i + 1 < end) structure().prefetch_decode(w.data(), examples_[i + 1]);
                         loss += gradient(examples_, w.data(), i, target, *scratch_[at(thread)], difference);
                     }
                     losses[at(range)] = loss;
                 });
    for_each_range(descent.dimension(), threads_, [&](std::int64_t begin, std::int64_t end, int) {
        sums_.collect(total, begin, end, [](std::int64_t, std::int64_t) {});
    });
    structure().derive(total);
    return std::accumulate(losses.begin(), losses.end(), 0.0);
}

template double GradientPass::run(const Weights&, Weights&, const SoftmaxMarginGradient&, const Interrupt&);
template double GradientPass::run(const Weights&, Weights&, const HingeGradient&, const Interrupt&);

}  // namespace dualstruct
