#include "learning/dual_state.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/index.hpp"
#include "base/parallel.hpp"

namespace dualstruct {

DualState::DualState(const Examples& examples, Weights& w, const Weights* center)
    : examples(examples), structure(examples.structure), w(w), cuts(examples.size()), sum_alpha(at(examples.size())),
      center_(center) {
    if (center) start(w, 1);
}

void DualState::average_into(Average* into) {
    average = into;
    for (std::int64_t i = 0; i < cuts.examples(); ++i) {
        cuts.for_each(i, [](Cut& cut) { cut.deferred = 0; });
    }
}

void DualState::write_average(Weights& out) const {
    if (!average) throw std::logic_error("nothing is averaged");
    average->write(w, 1, out);
    const double steps = average->weight();
    for (std::int64_t i = 0; i < cuts.examples(); ++i) {
        cuts.for_each(i, [&](const Cut& cut) {
            if (cut.deferred == 0) return;
            structure.axpy(out.data(), examples[i], cut.codes(), static_cast<float>(-cut.deferred / steps));
        });
    }
    structure.derive(out.data());
}

void DualState::settle_average() {
    if (!average) return;
    for (std::int64_t i = 0; i < cuts.examples(); ++i) {
        cuts.for_each(i, [&](Cut& cut) { settle(i, cut); });
    }
}

void DualState::remove_zeros(std::int64_t i) {
    if (average) {
        cuts.for_each(i, [&](Cut& cut) {
            if (cut.alpha == 0) settle(i, cut);
        });
    }
    cuts.remove_zeros(i);
}

void DualState::settle(std::int64_t i, Cut& cut) {
    if (cut.deferred == 0) return;
    average->add_deferred(structure, examples[i], cut.codes(), cut.deferred);
    cut.deferred = 0;
}

void DualState::rebuild(int threads) {
    write(w, threads);
    add_up();
}

std::vector<HeldOutput> DualState::take(std::span<const std::int64_t> some) {
    std::vector<HeldOutput> held;
    for (std::int64_t i : some) {
        cuts.for_each(i, [&](Cut& cut) {
            held.push_back({i, cut.alpha, {}});
            structure.output_of(examples[i], cut.codes(), held.back().output);
            cut.alpha = 0;
        });
        remove_zeros(i);
    }
    return held;
}

void DualState::put(std::span<const HeldOutput> held) {
    const auto scratch = structure.make_scratch();
    Difference found;
    for (const HeldOutput& each : held) {
        structure.difference(examples[each.i], each.output, found);
        if (found.is_truth) continue;  // its α is the truth's share now
        const double norm2 = structure.inner(examples[each.i], found.codes, found.codes, *scratch);
        cuts.add(each.i, found, norm2).alpha = each.alpha;
    }
}

void DualState::load(std::span<const Code> codes, std::span<const std::int64_t> codes_of_example,
                     std::span<const double> sums) {
    if (sums.size() != sum_alpha.size()) throw std::invalid_argument("the saved cuts are damaged");
    cuts.load(codes, codes_of_example, examples);
    add_up();
    const double rounding = sums.empty() ? 0 : 1e-12 * *std::ranges::max_element(sum_alpha);
    for (std::size_t i = 0; i < sums.size(); ++i) {
        if (!(std::abs(sums[i] - sum_alpha[i]) <= 1e-6 * sum_alpha[i] + rounding)) {
            throw std::invalid_argument("the saved sums are not those of the duals");
        }
    }
    std::ranges::copy(sums, sum_alpha.begin());
}

void DualState::interpolate(std::span<const Code> codes, std::span<const std::int64_t> codes_of_example, double step) {
    settle_average();
    cuts.interpolate(codes, codes_of_example, step, examples);
    add_up();
}

void DualState::rescale(double factor, std::span<const double> most) {
    if (most.size() != sum_alpha.size()) throw std::invalid_argument("there must be a bound for each example");
    for (std::size_t i = 0; i < most.size(); ++i) {
        const double sum = factor * sum_alpha[i];
        const double own = sum > most[i] ? factor * (most[i] / sum) : factor;
        if (own == 1) continue;
        const auto example = static_cast<std::int64_t>(i);
        cuts.for_each(example, [&](Cut& cut) { cut.alpha *= own; });
        if (own == 0) remove_zeros(example);
    }
}

void DualState::write(Weights& out, int threads) const {
    start(out, threads);
    const std::int64_t n = cuts.examples();
    for (std::int64_t i = 0; i < n; ++i) {
        if (i + 2 < n) cuts.prefetch_cuts(i + 2);
        if (i + 1 < n) {
            cuts.for_each(i + 1,
                          [&](const Cut& cut) { structure.prefetch_cut(out.data(), examples[i + 1], cut.codes()); });
        }
        cuts.for_each(i, [&](const Cut& cut) {
            structure.axpy(out.data(), examples[i], cut.codes(), static_cast<float>(cut.alpha));
        });
    }
}

double DualState::sum_alpha_cost() const {
    double total = 0;
    for (std::int64_t i = 0; i < cuts.examples(); ++i) {
        cuts.for_each(i, [&](const Cut& cut) { total += cut.alpha * cut.cost; });
    }
    return total;
}

void DualState::add_up() {
    for (std::int64_t i = 0; i < cuts.examples(); ++i) {
        double total = 0;
        cuts.for_each(i, [&](const Cut& cut) { total += cut.alpha; });
        sum_alpha[at(i)] = total;
    }
}

void DualState::start(Weights& out, int threads) const {
    for_each_range(out.dimension(), threads,
                   [&](std::int64_t begin, std::int64_t end, int) { out.start_from(center_, begin, end); });
    structure.derive(out.data());
}

}  // namespace dualstruct
