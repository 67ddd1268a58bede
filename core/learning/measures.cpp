#include "learning/measures.hpp"

#include <algorithm>

namespace dualstruct {

std::vector<double> largest_violations(const Examples& examples, const Weights& w, double cost_weight, int threads,
                                       const Interrupt& interrupt) {
    const Structure& structure = examples.structure;
    return for_all(examples, threads, interrupt,
                   [&](std::int64_t place, Scratch& scratch, Difference& found, bool more) {
                       if (more) structure.prefetch_decode(w.data(), examples[place + 1]);
                       const std::int64_t i = examples[place];
                       structure.decode(w.data(), i, static_cast<float>(cost_weight), scratch);
                       structure.difference(i, scratch.output, found);
                       if (found.is_truth) return 0.0;
                       return std::max(cost_weight * found.cost - structure.dot(w.data(), i, found.codes), 0.0);
                   });
}

std::vector<double> log_losses(const Examples& examples, const Weights& w, double beta, double gamma, int threads,
                               const Interrupt& interrupt) {
    const Expectations& sums = expectations_of(examples.structure);
    return for_all(examples, threads, interrupt, [&](std::int64_t i, Scratch& scratch, Difference&, bool) {
        return sums.log_loss(w.data(), examples[i], beta, gamma, scratch);
    });
}

std::vector<std::int64_t> linearise_concave(const Examples& examples, const Weights& w, double cost_weight, double C,
                                            Weights& center) {
    const Structure& structure = examples.structure;
    std::vector<std::int64_t> active;
    const auto scratch = structure.make_scratch();
    Difference found;
    std::fill_n(center.data(), center.dimension(), 0.0f);
    structure.derive(center.data());
    for (std::int64_t place = 0; place < examples.size(); ++place) {
        const std::int64_t i = examples[place];
        structure.decode(w.data(), i, static_cast<float>(cost_weight), *scratch);
        structure.difference(i, scratch->output, found);
        if (found.is_truth) continue;
        if (cost_weight * found.cost - structure.dot(w.data(), i, found.codes) > 0) {
            structure.axpy(center.data(), i, found.codes, static_cast<float>(-C * examples.weight(place)));
            active.push_back(place);
        }
    }
    return active;
}

}  // namespace dualstruct
