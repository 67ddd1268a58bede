#include "inference/trees/factors.hpp"

#include <algorithm>
#include <cmath>

#include "base/index.hpp"
#include "inference/trees/chu_liu_edmonds.hpp"
#include "inference/trees/eisner.hpp"
#include "inference/trees/inside_outside.hpp"
#include "inference/trees/matrix_tree.hpp"

namespace dualstruct::trees {
namespace {

using graphs::minus_infinity;

// The scores of slots as a matrix, with −∞ for arcs that are not there.
const float* matrix_of(const ArcList& arcs, std::span<const double> slots) {
    thread_local std::vector<float> scores;
    scores.assign(arcs.cells(), -std::numeric_limits<float>::infinity());
    for (int a = 0; a < arcs.arcs(); ++a) {
        scores[arcs.cell(arcs.head_of(a), arcs.modifier_of(a))] = static_cast<float>(slots[at(a)]);
    }
    return scores.data();
}

double log_add(double a, double b) {
    if (a < b) std::swap(a, b);
    return b == minus_infinity ? a : a + std::log1p(std::exp(b - a));
}

}  // namespace

double TreeFactor::maximise(std::span<const double> slots, std::span<const double>,
                            std::span<std::int32_t> configuration) const {
    thread_local Eisner eisner;
    thread_local ChuLiuEdmonds edmonds;
    TreeDecoder& decoder = projective_ ? static_cast<TreeDecoder&>(eisner) : edmonds;
    if (!decoder.decode(matrix_of(*arcs_, slots), arcs_->words(), single_root_, configuration.data())) {
        return minus_infinity;
    }
    return slot_score(configuration, slots);
}

double TreeFactor::slot_score(std::span<const std::int32_t> heads, std::span<const double> slots) const {
    double total = 0;
    for (int m = 1; m <= arcs_->words(); ++m) total += slots[slot(heads, m)];
    return total;
}

void TreeFactor::add_counts(std::span<const std::int32_t> heads, double weight, std::span<double> slots) const {
    for (int m = 1; m <= arcs_->words(); ++m) slots[slot(heads, m)] += weight;
}

int TreeFactor::common(std::span<const std::int32_t> a, std::span<const std::int32_t> b) const {
    int count = 0;
    for (std::size_t m = 1; m < a.size(); ++m) count += a[m] == b[m];
    return count;
}

bool TreeFactor::read(std::span<const std::uint8_t> on, std::span<std::int32_t> heads) const {
    std::ranges::fill(heads, -1);
    for (int a = 0; a < arcs_->arcs(); ++a) {
        if (!on[at(a)]) continue;
        std::int32_t& head = heads[at(arcs_->modifier_of(a))];
        if (head >= 0) return false;
        head = arcs_->head_of(a);
    }
    return is_tree(heads, projective_, single_root_);
}

double TreeFactor::marginals(std::span<const double> slots, std::span<const double>, std::span<double> on,
                             std::span<double>) const {
    thread_local InsideOutside inside_outside;
    thread_local MatrixTree matrix_tree;
    thread_local std::vector<float> p;
    TreeSums& sums = projective_ ? static_cast<TreeSums&>(inside_outside) : matrix_tree;
    p.resize(arcs_->cells());
    double log_partition = 0;
    if (!sums.marginals(matrix_of(*arcs_, slots), arcs_->words(), single_root_, p.data(), log_partition)) {
        return minus_infinity;
    }
    for (int a = 0; a < arcs_->arcs(); ++a) {
        on[at(a)] = p[arcs_->cell(arcs_->head_of(a), arcs_->modifier_of(a))];
    }
    return log_partition;
}

bool is_tree(std::span<const std::int32_t> heads, bool projective, bool single_root) {
    const int nodes = static_cast<int>(heads.size());
    thread_local std::vector<std::int32_t> seen;
    seen.assign(heads.size(), 0);
    int roots = 0;
    for (int m = 1; m < nodes; ++m) {
        if (heads[at(m)] < 0) return false;
        roots += heads[at(m)] == 0;
        int v = m;
        for (; v != 0 && seen[at(v)] == 0; v = heads[at(v)]) {
            seen[at(v)] = m;
            if (heads[at(v)] < 0) return false;
        }
        if (v != 0 && seen[at(v)] == m) return false;
    }
    if (single_root && nodes > 1 && roots != 1) return false;
    // An arc crosses none when all words under it hang below one of its ends.
    for (int m = 1; m < nodes && projective; ++m) {
        const int h = heads[at(m)];
        for (int k = std::min(h, m) + 1; k < std::max(h, m); ++k) {
            const int other = heads[at(k)];
            if (other < std::min(h, m) || other > std::max(h, m)) return false;
        }
    }
    return true;
}

double HeadAutomaton::maximise(std::span<const double> slots, std::span<const double> extra,
                               std::span<std::int32_t> configuration) const {
    thread_local std::vector<double> best;
    thread_local std::vector<std::int32_t> before;
    best.resize(at(std::max(left_, right_)) + 1);
    before.resize(best.size());
    const double* of_arcs = slots.data() + in_;
    // The best chain of a side under one choice of the entering arc; `before` says how it went.
    int last = 0;
    const auto chain = [&](const Side& side, const double* grandparent) {
        const double* steps = extra.data() + side.steps;
        const auto step_score = [&](int from, int to) { return steps[SecondOrderParts::step(side.count, from, to)]; };
        best[0] = 0;
        for (int to = 1; to <= side.count + 1; ++to) {
            double top = minus_infinity;
            int chosen = 0;
            for (int from = 0; from < to; ++from) {
                const double score = best[at(from)] + step_score(from, to);
                if (score > top) {
                    top = score;
                    chosen = from;
                }
            }
            if (to > side.count) {
                last = chosen;
                return top;
            }
            const int out = side.first + to - 1;
            best[at(to)] = top + of_arcs[out] + (grandparent ? grandparent[out] : 0);
            before[at(to)] = chosen;
        }
        return 0.0;
    };
    const auto grandparent_of = [&](int g) {
        return in_ > 0 ? extra.data() + first_grandparent() + at(g) * (left_ + right_) : nullptr;
    };
    double top = minus_infinity;
    int chosen = 0;
    for (int g = 0; g < choices(); ++g) {
        const double* grandparent = grandparent_of(g);
        const double score = (in_ > 0 ? slots[at(g)] : 0) + chain(side(0), grandparent) + chain(side(1), grandparent);
        if (score > top) {
            top = score;
            chosen = g;
        }
    }
    std::ranges::fill(configuration, 0);
    configuration[0] = chosen;
    for (int right = 0; right < 2; ++right) {
        chain(side(right), grandparent_of(chosen));
        for (int k = last; k > 0; k = before[at(k)]) {
            configuration[at(side(right).first + k)] = 1;
        }
    }
    return top;
}

double HeadAutomaton::slot_score(std::span<const std::int32_t> configuration, std::span<const double> slots) const {
    double total = in_ > 0 ? slots[at(configuration[0])] : 0;
    for (std::size_t k = 1; k < configuration.size(); ++k) {
        if (configuration[k]) total += slots[at(in_) + k - 1];
    }
    return total;
}

double HeadAutomaton::extra_score(std::span<const std::int32_t> configuration, std::span<const double> extra) const {
    double total = 0;
    for (int right = 0; right < 2; ++right) {
        const Side chain = side(right);
        const double* steps = extra.data() + chain.steps;
        int last = 0;
        for (int k = 1; k <= chain.count; ++k) {
            if (!configuration[at(chain.first + k)]) continue;
            total += steps[SecondOrderParts::step(chain.count, last, k)];
            last = k;
        }
        total += steps[SecondOrderParts::step(chain.count, last, chain.count + 1)];
    }
    if (in_ == 0) return total;
    const double* grandparent = extra.data() + first_grandparent() + at(configuration[0]) * at(left_ + right_);
    for (std::size_t k = 1; k < configuration.size(); ++k) {
        if (configuration[k]) total += grandparent[k - 1];
    }
    return total;
}

void HeadAutomaton::add_counts(std::span<const std::int32_t> configuration, double weight,
                               std::span<double> slots) const {
    if (in_ > 0) slots[at(configuration[0])] += weight;
    for (std::size_t k = 1; k < configuration.size(); ++k) {
        if (configuration[k]) slots[at(in_) + k - 1] += weight;
    }
}

int HeadAutomaton::common(std::span<const std::int32_t> a, std::span<const std::int32_t> b) const {
    int count = in_ > 0 && a[0] == b[0];
    for (std::size_t k = 1; k < a.size(); ++k) count += a[k] && b[k];
    return count;
}

bool HeadAutomaton::read(std::span<const std::uint8_t> on, std::span<std::int32_t> configuration) const {
    const auto entering = on.first(at(in_));
    if (in_ > 0 && std::ranges::count_if(entering, [](std::uint8_t x) { return x != 0; }) != 1) return false;
    configuration[0] = static_cast<std::int32_t>(std::ranges::find_if(entering, [](std::uint8_t x) { return x != 0; }) -
                                                 entering.begin());
    for (std::size_t k = 1; k < configuration.size(); ++k) {
        configuration[k] = on[at(in_) + k - 1] != 0;
    }
    return true;
}

double HeadAutomaton::marginals(std::span<const double> slots, std::span<const double> extra, std::span<double> on,
                                std::span<double> extra_used) const {
    thread_local std::vector<double> forward, backward, arcs, sums;
    const auto widest = at(std::max(left_, right_)) + 2;
    forward.resize(widest);
    backward.resize(widest);
    arcs.resize(widest);
    sums.resize(at(choices()));
    // log Σ over the chains of a side; forward and backward exclude what follows and what comes before.
    const auto chain = [&](const Side& side, int g) {
        const double* steps = extra.data() + side.steps;
        const int end = side.count + 1;
        for (int k = 1; k <= side.count; ++k) {
            const auto out = at(side.first + k - 1);
            arcs[at(k)] = slots[at(in_) + out];
            if (in_ > 0) {
                arcs[at(k)] += extra[first_grandparent() + at(g * (left_ + right_)) + out];
            }
        }
        arcs[at(end)] = 0;
        forward[0] = 0;
        for (int to = 1; to <= end; ++to) {
            double sum = minus_infinity;
            for (int from = 0; from < to; ++from) {
                sum = log_add(sum, forward[at(from)] + steps[SecondOrderParts::step(side.count, from, to)]);
            }
            forward[at(to)] = sum + arcs[at(to)];
        }
        return forward[at(end)];
    };
    double log_partition = minus_infinity;
    for (int g = 0; g < choices(); ++g) {
        sums[at(g)] = (in_ > 0 ? slots[at(g)] : 0) + chain(side(0), g) + chain(side(1), g);
        log_partition = log_add(log_partition, sums[at(g)]);
    }
    std::ranges::fill(on, 0.0);
    std::ranges::fill(extra_used, 0.0);
    if (log_partition == minus_infinity) return log_partition;
    for (int g = 0; g < choices(); ++g) {
        const double chosen = std::exp(sums[at(g)] - log_partition);
        if (in_ > 0) on[at(g)] = chosen;
        for (int right = 0; right < 2; ++right) {
            const Side half = side(right);
            const int end = half.count + 1;
            const double total = chain(half, g);
            backward[at(end)] = 0;
            for (int from = half.count; from >= 0; --from) {
                double sum = minus_infinity;
                for (int to = from + 1; to <= end; ++to) {
                    const auto step = half.steps + at(SecondOrderParts::step(half.count, from, to));
                    const double rest = extra[step] + arcs[at(to)] + backward[at(to)];
                    sum = log_add(sum, rest);
                    const double p = chosen * std::exp(forward[at(from)] + rest - total);
                    extra_used[step] += p;
                    if (to == end) continue;
                    const auto out = at(half.first + to - 1);
                    on[at(in_) + out] += p;
                    if (in_ > 0) {
                        extra_used[first_grandparent() + at(g * (left_ + right_)) + out] += p;
                    }
                }
                backward[at(from)] = sum;
            }
        }
    }
    return log_partition;
}

}  // namespace dualstruct::trees
