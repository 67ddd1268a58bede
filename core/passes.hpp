// The two passes that drive every dual solver.
//
//   visit    decode an example, admit the output found as a cut, apply the rule
//   revisit  apply the rule to the cuts already held; no inference
//
// A Rule moves one example's dual variables. It is a template argument: the structure is
// reached by one virtual call an example and cut, the rule is inlined.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cuts.hpp"
#include "parallel.hpp"
#include "random.hpp"
#include "structure.hpp"
#include "weights.hpp"

namespace dualstruct {

// A cut by its output, which stays the same when the truth changes.
struct HeldOutput {
    std::int64_t i;
    double alpha;
    std::vector<std::int32_t> output;
};

// Every so many examples, from the first-th on.
struct EveryNth {
    std::int64_t first = 0, step = 1;

    bool has(std::int64_t i) const { return i % step == first; }
    std::vector<std::int32_t> shuffled(std::int64_t n, std::uint64_t seed) const {
        auto order = shuffled_order(std::max<std::int64_t>(0, (n - first + step - 1) / step), seed);
        for (std::int32_t& i : order) i = static_cast<std::int32_t>(first + step * i);
        return order;
    }
};

// (α, w) with w = center + Σ_iy α_iy δ_i(y); no center stands for 0.
class DualState {
public:
    DualState(const Structure& structure, Weights& w, const Weights* center)
        : structure(structure), w(w), cuts(structure.size()),
          sum_alpha(static_cast<std::size_t>(structure.size())), center_(center) {
        if (center) start(w, 1);
    }

    // Where w goes from now on is averaged there; null: nowhere.
    Average* average = nullptr;

    // Recomputes w and the sums from the duals: float32 drifts.
    void rebuild(int threads) {
        write(w, threads);
        add_up();
    }

    // Takes all cuts of some examples out, as outputs with their α: the truth may change then, and put
    // gives the outputs back as differences from the new one. w and the sums follow with rebuild.
    std::vector<HeldOutput> take(std::span<const std::int64_t> examples) {
        std::vector<HeldOutput> held;
        for (std::int64_t i : examples) {
            cuts.for_each(i, [&](Cut& cut) {
                held.push_back({i, cut.alpha, {}});
                structure.output_of(i, cut.words(), held.back().output);
                cut.alpha = 0;
            });
            cuts.remove_zeros(i);
        }
        return held;
    }
    void put(std::span<const HeldOutput> held) {
        const auto scratch = structure.make_scratch();
        Difference found;
        for (const HeldOutput& each : held) {
            structure.difference(each.i, each.output, found);
            if (found.is_truth) continue;  // its α is the truth's share now
            const double norm2 = structure.inner(each.i, found.words, found.words, *scratch);
            cuts.add(each.i, found, norm2).alpha = each.alpha;
        }
    }

    // Takes what cuts.save gave, and the sums of α with the rounding that they had gathered.
    void load(std::span<const Word> words, std::span<const std::int64_t> words_of_example,
              std::span<const double> sums) {
        if (sums.size() != sum_alpha.size()) throw std::invalid_argument("the saved cuts are damaged");
        cuts.load(words, words_of_example, structure);
        add_up();
        const double rounding = sums.empty() ? 0 : 1e-12 * *std::ranges::max_element(sum_alpha);
        for (std::size_t i = 0; i < sums.size(); ++i) {
            if (!(std::abs(sums[i] - sum_alpha[i]) <= 1e-6 * sum_alpha[i] + rounding)) {
                throw std::invalid_argument("the saved sums are not those of the duals");
            }
        }
        std::ranges::copy(sums, sum_alpha.begin());
    }

    // Every α to before + step·(α − before), where `before` is what cuts.save gave. w is the caller's
    // business: only it knows whether other machines move theirs.
    void go_along(std::span<const Word> words, std::span<const std::int64_t> words_of_example, double step) {
        cuts.go_along(words, words_of_example, step, structure);
        add_up();
    }

    // out = center + Σ_iy α_iy δ_i(y). The sum is one thread's: it takes less time than to divide it.
    void write(Weights& out, int threads) const {
        start(out, threads);
        const std::int64_t n = cuts.examples();
        for (std::int64_t i = 0; i < n; ++i) {
            if (i + 2 < n) cuts.prefetch_cuts(i + 2);
            if (i + 1 < n) {
                cuts.for_each(i + 1, [&](const Cut& cut) { structure.prefetch_cut(out.data(), i + 1, cut.words()); });
            }
            cuts.for_each(i, [&](const Cut& cut) {
                structure.axpy(out.data(), i, cut.words(), static_cast<float>(cut.alpha));
            });
        }
    }

    // Σ_iy α_iy Δ_i(y): the linear part of every dual.
    double sum_alpha_cost() const {
        double total = 0;
        for (std::int64_t i = 0; i < cuts.examples(); ++i) {
            cuts.for_each(i, [&](const Cut& cut) { total += cut.alpha * cut.cost; });
        }
        return total;
    }

    const Structure& structure;
    Weights& w;
    CutStore cuts;
    std::vector<double> sum_alpha;  // Σ_y α_iy of each example
    EveryNth part;                  // what passes go through

private:
    void add_up() {
        for (std::int64_t i = 0; i < cuts.examples(); ++i) {
            double total = 0;
            cuts.for_each(i, [&](const Cut& cut) { total += cut.alpha; });
            sum_alpha[static_cast<std::size_t>(i)] = total;
        }
    }

    void start(Weights& out, int threads) const {
        for_each_range(out.dimension(), threads, [&](std::int64_t begin, std::int64_t end, int) {
            out.start_from(center_, begin, end);
        });
        structure.derive(out.data());
    }

    const Weights* center_;
};

// Buffers that the examples of a pass share.
struct PassScratch {
    PassScratch(const Structure& structure, std::uint64_t seed)
        : structure(structure.make_scratch()), random(seed ^ 0x5EED) {}
    std::unique_ptr<Scratch> structure;
    Random random;
    std::vector<Cut*> order;
    std::vector<double> violations;
    std::vector<WeightedWords> terms;
};

// One example as a rule sees it.
class Example {
public:
    Example(DualState& state, std::int64_t i, PassScratch& scratch)
        : sum_alpha(state.sum_alpha[static_cast<std::size_t>(i)]), weight(state.structure.weight(i)), scratch(scratch),
          state_(state), i_(i) {}

    double& sum_alpha;
    const double weight;       // what C is multiplied by here
    PassScratch& scratch;
    bool decoded = false;      // whether this update follows inference
    Cut* found = nullptr;      // the cut that inference found; null: the truth, or not admitted

    // The cuts, oldest first.
    std::vector<Cut*>& cuts() {
        scratch.order.clear();
        state_.cuts.for_each(i_, [&](Cut& cut) { scratch.order.push_back(&cut); });
        return scratch.order;
    }

    // The cuts in random order, but the newest first.
    const std::vector<Cut*>& newest_first() {
        auto& order = cuts();
        if (order.size() > 1) {
            std::swap(order.front(), order.back());
            scratch.random.shuffle(order.begin() + 1, order.end());
        }
        return order;
    }

    // H_i(y; w) = Δ_i(y) − w·δ_i(y).
    double violation(const Cut& cut) const {
        return cut.cost - state_.structure.dot(state_.w.data(), i_, cut.words());
    }

    // α ← alpha, w ← w + (change of α)·δ.
    void set_alpha(Cut& cut, double alpha) {
        const float step = static_cast<float>(alpha - cut.alpha);
        if (step == 0) return;
        state_.structure.axpy(state_.w.data(), i_, cut.words(), step);
        if (state_.average) state_.average->add(state_.structure, i_, cut.words(), step);
        sum_alpha += alpha - cut.alpha;
        cut.alpha = alpha;
    }

    // ‖δ − δ'‖² of two cuts, ‖Σ c_p δ_p‖² of several.
    double distance2(const Cut& a, const Cut& b) const {
        return state_.structure.distance2(i_, a.words(), b.words(), *scratch.structure);
    }
    double combination_norm2(std::span<const WeightedWords> terms) const {
        return state_.structure.combination_norm2(i_, terms, *scratch.structure);
    }

    // The cut that violates most, if that is more than `violation` by more than rounding explains.
    Cut* better_than(double violation) {
        Cut* best = nullptr;
        for (Cut* cut : cuts()) {
            const double of_cut = this->violation(*cut);
            const double rounding = 1e-4 * (cut->cost + std::abs(cut->cost - of_cut));
            if (of_cut - rounding > violation) {
                violation = of_cut;
                best = cut;
            }
        }
        return best;
    }

    void remove_zero_cuts() { state_.cuts.remove_zeros(i_); }

private:
    DualState& state_;
    std::int64_t i_;
};

struct PassReport {
    std::int64_t inferences = 0;
    std::int64_t added = 0;
    double largest_violation = 0;  // of what the rule returned: how far from optimal duals were
    double loss = 0;               // visit: Σ of weight·(the rule's loss) as each example was met
    std::int64_t beaten = 0;       // inferences whose output a cut held by then violates more than
    std::int64_t moves = 0;        // learners without cuts: examples that moved w

    PassReport& operator+=(const PassReport& other) {
        inferences += other.inferences;
        added += other.added;
        largest_violation = std::max(largest_violation, other.largest_violation);
        loss += other.loss;
        beaten += other.beaten;
        moves += other.moves;
        return *this;
    }
};

// Asked before every example; true stops the pass there, with (α, w) consistent.
using Interrupt = std::function<bool()>;

// Fetches what learning from the cuts of the examples after order[q] needs.
inline void prefetch_cuts(const DualState& state, std::span<const std::int32_t> order, std::size_t q) {
    const std::size_t n = order.size();
    if (q + 6 < n) state.cuts.prefetch_block(order[q + 6]);
    if (q + 4 < n) {
        state.cuts.prefetch_cuts(order[q + 4]);
        if (!state.cuts.empty(order[q + 4])) state.structure.prefetch_example(order[q + 4]);
    }
    if (q + 1 < n) {
        state.cuts.for_each(order[q + 1], [&](const Cut& cut) {
            state.structure.prefetch_cut(state.w.data(), order[q + 1], cut.words());
        });
    }
}

// A Rule has
//   loss(violation)               what an example's largest violation costs
//   admits(example, violation, δ) whether the output with this violation is worth a cut
//   update(example)               moves the example's duals; returns how far from optimal they were
template <class Rule>
PassReport revisit(DualState& state, const Rule& rule, std::uint64_t seed, const Interrupt& interrupt) {
    PassReport report;
    const auto order = state.part.shuffled(state.structure.size(), seed);
    PassScratch scratch(state.structure, seed);
    for (std::size_t q = 0; q < order.size(); ++q) {
        if (interrupt()) break;
        prefetch_cuts(state, order, q);
        const std::int64_t i = order[q];
        if (!state.cuts.empty(i)) {
            Example example(state, i, scratch);
            report.largest_violation = std::max(report.largest_violation, rule.update(example));
        }
        if (state.average) state.average->end_step();
    }
    return report;
}

// Whether a cut held beats what was decoded at this w: then the decoder did not find the maximum.
inline bool is_beaten(DualState& state, std::int64_t i, const Difference& found, PassScratch& scratch) {
    const double violation =
        found.is_truth ? 0 : found.cost - state.structure.dot(state.w.data(), i, found.words);
    return Example(state, i, scratch).better_than(violation) != nullptr;
}

// What follows the inference of a visit: perhaps a new cut, then the rule. An approximate decoder may
// miss an output that is already held as a cut; then that one counts as found. Where w has moved since the
// decoding, `beaten` says how it was then.
template <class Rule>
void learn_from(DualState& state, const Rule& rule, std::int64_t i, const Difference& found, double delta,
                PassScratch& scratch, PassReport& report, std::optional<bool> beaten = {}) {
    const Structure& structure = state.structure;
    Example example(state, i, scratch);
    example.decoded = true;
    ++report.inferences;
    if (example.weight == 0) return;  // its duals stay 0
    double violation = 0;
    if (!found.is_truth) {
        violation = found.cost - structure.dot(state.w.data(), i, found.words);
        example.found = state.cuts.find(i, found.words);
        if (!example.found && rule.admits(example, violation, delta)) {
            const double norm2 = structure.inner(i, found.words, found.words, *scratch.structure);
            example.found = &state.cuts.add(i, found, norm2);
            ++report.added;
        }
    }
    if (!structure.exact_decoder()) {
        if (Cut* better = example.better_than(violation)) {
            report.beaten += beaten.value_or(true);
            example.found = better;
            violation = example.violation(*better);
        }
    }
    report.loss += example.weight * rule.loss(violation);
    if (!state.cuts.empty(i)) {
        report.largest_violation = std::max(report.largest_violation, rule.update(example));
    }
}

template <class Rule>
PassReport visit(DualState& state, const Rule& rule, double delta, std::uint64_t seed, const Interrupt& interrupt) {
    PassReport report;
    const Structure& structure = state.structure;
    const auto order = state.part.shuffled(structure.size(), seed);
    const std::size_t n = order.size();
    PassScratch scratch(structure, seed);
    Difference found;
    for (std::size_t q = 0; q < n; ++q) {
        if (interrupt()) break;
        if (q + 2 < n) structure.prefetch_example(order[q + 2]);
        if (q + 1 < n) structure.prefetch_decode(state.w.data(), order[q + 1]);
        const std::int64_t i = order[q];
        structure.decode(state.w.data(), i, 1, *scratch.structure);
        structure.difference(i, scratch.structure->output, found);
        learn_from(state, rule, i, found, delta, scratch, report);
        if (state.average) state.average->end_step();
    }
    return report;
}

// measure(i, scratch, difference) of every example, on several threads.
template <class Measure>
std::vector<double> for_all(const Structure& structure, int threads, const Interrupt& interrupt, Measure measure) {
    std::vector<double> result(static_cast<std::size_t>(structure.size()));
    for_each_range(structure.size(), threads, [&](std::int64_t begin, std::int64_t end, int thread) {
        const auto scratch = structure.make_scratch();
        Difference difference;
        for (std::int64_t i = begin; i < end; ++i) {
            // Only the calling thread may ask: signals are its business.
            if (thread == 0 && interrupt()) return;
            result[static_cast<std::size_t>(i)] = measure(i, *scratch, difference, i + 1 < end);
        }
    });
    return result;
}

// max_y (cost_weight·Δ_i(y) − w·δ_i(y)) of every example at a fixed w: what a certificate needs.
inline std::vector<double> largest_violations(const Structure& structure, const Weights& w, double cost_weight,
                                              int threads, const Interrupt& interrupt) {
    return for_all(structure, threads, interrupt,
                   [&](std::int64_t i, Scratch& scratch, Difference& found, bool more) {
                       if (more) structure.prefetch_decode(w.data(), i + 1);
                       structure.decode(w.data(), i, static_cast<float>(cost_weight), scratch);
                       structure.difference(i, scratch.output, found);
                       if (found.is_truth) return 0.0;
                       return std::max(cost_weight * found.cost - structure.dot(w.data(), i, found.words), 0.0);
                   });
}

// (1/β) log Σ_y exp β(γΔ_i(y) − w·δ_i(y)) of every example at a fixed w.
inline std::vector<double> log_losses(const Structure& structure, const Weights& w, double beta, double gamma,
                                      int threads, const Interrupt& interrupt) {
    return for_all(structure, threads, interrupt, [&](std::int64_t i, Scratch& scratch, Difference&, bool) {
        return structure.log_loss(w.data(), i, beta, gamma, scratch);
    });
}

// The tangent at w of the concave part of the ramp: center = −C Σ_{i∈A} weight_i δ_i(y), where A are the
// examples with max_y (cost_weight·Δ_i(y) − w·δ_i(y)) > 0 and y where it is reached. Returns A.
inline std::vector<std::int64_t> linearise_concave(const Structure& structure, const Weights& w, double cost_weight,
                                                   double C, Weights& center) {
    std::vector<std::int64_t> active;
    const auto scratch = structure.make_scratch();
    Difference found;
    std::fill_n(center.data(), center.dimension(), 0.0f);
    structure.derive(center.data());
    for (std::int64_t i = 0; i < structure.size(); ++i) {
        structure.decode(w.data(), i, static_cast<float>(cost_weight), *scratch);
        structure.difference(i, scratch->output, found);
        if (found.is_truth) continue;
        if (cost_weight * found.cost - structure.dot(w.data(), i, found.words) > 0) {
            structure.axpy(center.data(), i, found.words, static_cast<float>(-C * structure.weight(i)));
            active.push_back(i);
        }
    }
    return active;
}

}  // namespace dualstruct
