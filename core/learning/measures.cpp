#include "learning/measures.hpp"

#include <algorithm>

namespace dualstruct {

std::vector<double> largest_violations(const Structure& structure, const Weights& w, double cost_weight, int threads,
                                       const Interrupt& interrupt) {
    return for_all(structure, threads, interrupt, [&](std::int64_t i, Scratch& scratch, Difference& found, bool more) {
        if (more) structure.prefetch_decode(w.data(), i + 1);
        structure.decode(w.data(), i, static_cast<float>(cost_weight), scratch);
        structure.difference(i, scratch.output, found);
        if (found.is_truth) return 0.0;
        return std::max(cost_weight * found.cost - structure.dot(w.data(), i, found.codes), 0.0);
    });
}

std::vector<double> log_losses(const Structure& structure, const Weights& w, double beta, double gamma, int threads,
                               const Interrupt& interrupt) {
    const Expectations& sums = expectations_of(structure);
    return for_all(structure, threads, interrupt, [&](std::int64_t i, Scratch& scratch, Difference&, bool) {
        return sums.log_loss(w.data(), i, beta, gamma, scratch);
    });
}

std::vector<std::int64_t> linearise_concave(const Structure& structure, const Weights& w, double cost_weight, double C,
                                            Weights& center) {
    std::vector<std::int64_t> active;
    const auto scratch = structure.make_scratch();
    Difference found;
    std::fill_n(center.data(), center.dimension(), 0.0f);
    structure.derive(center.data());
    for (std::int64_t i = 0; i < structure.size(); ++i) {
        structure.decode(w.data(), i, static_cast<float>(cost_weight), *scratch);
        structure.difference(i, scratch->output, found);
        if (found.is_truth) continue;
        if (cost_weight * found.cost - structure.dot(w.data(), i, found.codes) > 0) {
            structure.axpy(center.data(), i, found.codes, static_cast<float>(-C * structure.weight(i)));
            active.push_back(i);
        }
    }
    return active;
}

}  // namespace dualstruct
