#include "crfsuite/precise_chain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/index.hpp"

namespace dualstruct {

namespace {

constexpr double lowest = -std::numeric_limits<double>::infinity();

std::size_t count_tokens(std::span<const double> emissions, std::span<const double> transitions, int labels) {
    const auto K = at(labels);
    if (emissions.size() % K != 0) throw std::invalid_argument("emissions have one row of labels per token");
    if (transitions.size() != K * K) throw std::invalid_argument("transitions are expected for each pair of labels");
    return emissions.size() / K;
}

// Two doubles: what every machine has registers for.
typedef double Pair __attribute__((vector_size(16)));

Pair load(const double* p) {
    Pair x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}

// best[k] = emission[k] + max_j before[j] + transitions[j][k], so many pairs of labels at a time. The last
// ones begin where they end with the last label; there are as many labels at least.
template <std::size_t Pairs>
void max_step(const double* before, const double* transitions, const double* emission, std::size_t K, double* best) {
    constexpr std::size_t width = 2 * Pairs;
    for (std::size_t done = 0; done < K; done += width) {
        const std::size_t first = std::min(done, K - width);
        Pair most[Pairs];
        for (Pair& m : most) m = Pair{lowest, lowest};
        for (std::size_t j = 0; j < K; ++j) {
            const Pair from{before[j], before[j]};
            for (std::size_t p = 0; p < Pairs; ++p) {
                const Pair score = from + load(transitions + j * K + first + 2 * p);
                most[p] = score > most[p] ? score : most[p];
            }
        }
        for (std::size_t p = 0; p < Pairs; ++p) {
            const Pair total = most[p] + load(emission + first + 2 * p);
            __builtin_memcpy(best + first + 2 * p, &total, sizeof total);
        }
    }
}

// Σ_k exp(a[k] + b[k]), in logarithms.
double log_sum(const double* a, const double* b, std::size_t count) {
    double most = lowest;
    for (std::size_t k = 0; k < count; ++k) most = std::max(most, a[k] + b[k]);
    if (!std::isfinite(most)) return most;
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += std::exp(a[k] + b[k] - most);
    return most + std::log(sum);
}

PreciseSums sum_of_logarithms(std::span<const double> emissions, std::span<const double> transitions, std::size_t K,
                              bool pairs) {
    const std::size_t T = emissions.size() / K;
    PreciseSums sums;
    if (pairs) sums.pairs.assign(K * K, 0.0);
    // Logarithms of the sums over all labellings before token t (its emission included) and after it.
    std::vector<double> before(T * K), after(T * K), ahead(T * K), most(K), total(K);
    std::copy_n(emissions.begin(), K, before.begin());
    for (std::size_t t = 1; t < T; ++t) {
        const double* const last = before.data() + (t - 1) * K;
        std::ranges::fill(most, lowest);
        std::ranges::fill(total, 0.0);
        for (std::size_t j = 0; j < K; ++j) {
            for (std::size_t k = 0; k < K; ++k) most[k] = std::max(most[k], last[j] + transitions[j * K + k]);
        }
        for (std::size_t j = 0; j < K; ++j) {
            for (std::size_t k = 0; k < K; ++k) total[k] += std::exp(last[j] + transitions[j * K + k] - most[k]);
        }
        for (std::size_t k = 0; k < K; ++k) before[t * K + k] = emissions[t * K + k] + most[k] + std::log(total[k]);
    }
    for (std::size_t t = T; t-- > 0;) {
        double* const here = ahead.data() + t * K;  // `after` with the emission included
        for (std::size_t k = 0; k < K; ++k) here[k] = emissions[t * K + k] + after[t * K + k];
        if (t == 0) break;
        for (std::size_t j = 0; j < K; ++j) after[(t - 1) * K + j] = log_sum(here, &transitions[j * K], K);
    }
    sums.log_partition = log_sum(&before[(T - 1) * K], &after[(T - 1) * K], K);
    sums.marginals.resize(T * K);
    for (std::size_t at = 0; at < T * K; ++at) {
        sums.marginals[at] = std::exp(before[at] + after[at] - sums.log_partition);
    }
    for (std::size_t t = 1; pairs && t < T; ++t) {
        for (std::size_t j = 0; j < K; ++j) {
            const double left = before[(t - 1) * K + j] - sums.log_partition;
            for (std::size_t k = 0; k < K; ++k) {
                sums.pairs[j * K + k] += std::exp(left + transitions[j * K + k] + ahead[t * K + k]);
            }
        }
    }
    return sums;
}

// The largest difference between numbers of a row.
double spread(std::span<const double> row) {
    const auto [least, most] = std::ranges::minmax(row);
    return most - least;
}

// Products of exponentials are several times as fast as sums of logarithms. They are exact as long as no
// two factors are further apart than this in logarithms: then nothing underflows within a step.
constexpr double widest_spread = 300;

PreciseSums sum_of_products(std::span<const double> emissions, std::span<const double> transitions, std::size_t K,
                            bool pairs) {
    const std::size_t T = emissions.size() / K;
    PreciseSums sums;
    const double shift = std::ranges::max(transitions);
    std::vector<double> moves(K * K), factors(T * K), before(T * K), after(K, 1.0), next(K);
    for (std::size_t pair = 0; pair < K * K; ++pair) moves[pair] = std::exp(transitions[pair] - shift);
    sums.log_partition = static_cast<double>(T - 1) * shift;
    for (std::size_t t = 0; t < T; ++t) {
        const double most = std::ranges::max(emissions.subspan(t * K, K));
        double* const here = before.data() + t * K;
        double* const factor = factors.data() + t * K;
        for (std::size_t k = 0; k < K; ++k) factor[k] = std::exp(emissions[t * K + k] - most);
        if (t == 0) {
            std::copy_n(factor, K, here);
        } else {
            const double* const last = before.data() + (t - 1) * K;
            for (std::size_t j = 0; j < K; ++j) {
                for (std::size_t k = 0; k < K; ++k) here[k] += last[j] * moves[j * K + k];
            }
            for (std::size_t k = 0; k < K; ++k) here[k] *= factor[k];
        }
        double total = 0;
        for (std::size_t k = 0; k < K; ++k) total += here[k];
        for (std::size_t k = 0; k < K; ++k) here[k] /= total;
        sums.log_partition += most + std::log(total);
    }
    sums.marginals.resize(T * K);
    if (pairs) sums.pairs.assign(K * K, 0.0);
    for (std::size_t t = T; t-- > 0;) {
        const double* const here = before.data() + t * K;
        double* const marginals = sums.marginals.data() + t * K;
        double total = 0;
        for (std::size_t k = 0; k < K; ++k) total += marginals[k] = here[k] * after[k];
        for (std::size_t k = 0; k < K; ++k) marginals[k] /= total;
        if (t == 0) break;
        // What follows token t − 1: its emission is in `before`, that of t is not yet in `after`.
        for (std::size_t k = 0; k < K; ++k) after[k] *= factors[t * K + k];
        const double* const last = before.data() + (t - 1) * K;
        double most = 0, all = 0;
        for (std::size_t j = 0; j < K; ++j) {
            next[j] = 0;
            for (std::size_t k = 0; k < K; ++k) next[j] += moves[j * K + k] * after[k];
            most = std::max(most, next[j]);
            all += last[j] * next[j];
        }
        for (std::size_t j = 0; pairs && j < K; ++j) {
            const double left = last[j] / all;
            for (std::size_t k = 0; k < K; ++k) sums.pairs[j * K + k] += left * moves[j * K + k] * after[k];
        }
        for (std::size_t j = 0; j < K; ++j) after[j] = next[j] / most;
    }
    return sums;
}

}  // namespace

std::span<const std::int32_t> PreciseDecoder::decode(std::span<const double> emissions,
                                                     std::span<const double> transitions, int labels) {
    const auto K = at(labels);
    const std::size_t T = count_tokens(emissions, transitions, labels);
    path_.resize(T);
    if (T == 0 || K == 1) {
        std::ranges::fill(path_, 0);
        return path_;
    }
    const auto step = K >= 8 ? max_step<4> : max_step<1>;
    best_.resize(T * K);
    std::copy_n(emissions.begin(), K, best_.begin());
    for (std::size_t t = 1; t < T; ++t) {
        step(&best_[(t - 1) * K], transitions.data(), &emissions[t * K], K, &best_[t * K]);
    }
    const auto last = best_.end() - static_cast<std::ptrdiff_t>(K);
    path_[T - 1] = static_cast<std::int32_t>(std::max_element(last, best_.end()) - last);
    for (std::size_t t = T - 1; t > 0; --t) {
        // The argmax that the maxima did not keep, by the same sums: the first of equal labels wins.
        const double* const before = &best_[(t - 1) * K];
        const double* const into = &transitions[at(path_[t])];
        double most = lowest;
        std::size_t from = 0;
        for (std::size_t j = 0; j < K; ++j) {
            const double score = before[j] + into[j * K];
            from = score > most ? j : from;
            most = score > most ? score : most;
        }
        path_[t - 1] = static_cast<std::int32_t>(from);
    }
    return path_;
}

PreciseSums precise_sum(std::span<const double> emissions, std::span<const double> transitions, int labels,
                        bool pairs) {
    const auto K = at(labels);
    const std::size_t T = count_tokens(emissions, transitions, labels);
    if (T == 0) return {0.0, {}, std::vector<double>(pairs ? K * K : 0)};
    double widest = 0;
    for (std::size_t t = 0; t < T; ++t) widest = std::max(widest, spread(emissions.subspan(t * K, K)));
    const bool narrow = 2 * (widest + spread(transitions)) < widest_spread;  // false for NaN
    return narrow ? sum_of_products(emissions, transitions, K, pairs)
                  : sum_of_logarithms(emissions, transitions, K, pairs);
}

double precise_score(std::span<const double> emissions, std::span<const double> transitions, int labels,
                     std::span<const std::int32_t> output) {
    const auto K = at(labels);
    if (output.size() != count_tokens(emissions, transitions, labels)) {
        throw std::invalid_argument("one label per token is expected");
    }
    double total = 0;
    for (std::size_t t = 0; t < output.size(); ++t) {
        if (output[t] < 0 || output[t] >= labels) throw std::invalid_argument("a label that the model does not have");
        const auto k = at(output[t]);
        if (t > 0) total += transitions[at(output[t - 1]) * K + k];
        total += emissions[t * K + k];
    }
    return total;
}

PreciseChain::PreciseChain(int labels, std::span<const std::int64_t> offsets, std::span<const std::int32_t> targets,
                           std::span<const double> weights, std::span<const double> transitions)
    : labels_(labels), offsets_(offsets.begin(), offsets.end()), targets_(targets.begin(), targets.end()),
      weights_(weights.begin(), weights.end()), transitions_(transitions.begin(), transitions.end()) {
    if (labels < 1) throw std::invalid_argument("a chain needs a label");
    const auto K = at(labels);
    if (transitions.size() != K * K) throw std::invalid_argument("transitions are expected for each pair of labels");
    if (targets.size() != weights.size()) throw std::invalid_argument("as many targets as weights are expected");
    if (offsets.empty() || offsets.front() != 0 || !std::ranges::is_sorted(offsets) ||
        offsets.back() != static_cast<std::int64_t>(weights.size())) {
        throw std::invalid_argument("the offsets do not rise from 0 to the number of weights");
    }
    if (std::ranges::any_of(targets, [&](std::int32_t k) { return k < 0 || k >= labels; })) {
        throw std::invalid_argument("a weight belongs to no label");
    }
}

void check_rows(const PreciseRows& rows, std::int64_t attributes) {
    if (rows.offsets.empty() || rows.offsets.front() < 0 || !std::ranges::is_sorted(rows.offsets) ||
        rows.offsets.back() > static_cast<std::int64_t>(rows.attributes.size()) ||
        (!rows.values.empty() && rows.values.size() != rows.attributes.size())) {
        throw std::invalid_argument("the offsets do not fit the attributes");
    }
    if (std::ranges::any_of(rows.attributes, [=](std::int64_t a) { return a < 0 || a >= attributes; })) {
        throw std::invalid_argument("an attribute that the model does not have");
    }
}

std::vector<double> PreciseChain::emissions(const PreciseRows& rows) const {
    check_rows(rows, attributes());
    const auto K = at(labels_);
    const std::size_t T = rows.offsets.size() - 1;
    std::vector<double> result(T * K);
    for (std::size_t t = 0; t < T; ++t) {
        double* const row = result.data() + t * K;
        for (std::int64_t at = rows.offsets[t]; at < rows.offsets[t + 1]; ++at) {
            const std::int64_t a = rows.attributes[at];
            const double value = rows.values.empty() ? 1.0 : rows.values[at];
            for (std::int64_t f = offsets_[a]; f < offsets_[a + 1]; ++f) row[targets_[f]] += weights_[f] * value;
        }
    }
    return result;
}

}  // namespace dualstruct
