#include "structures/chain.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <queue>

#include "random.hpp"
#include "simd/dispatch.hpp"

namespace dualstruct {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct ChainScratch final : Scratch {
    FloatScratch maxima, emissions, forward, backward;
    std::vector<double> shifts;
    SparseSum sum, other;

    // What log_loss leaves for the expected differences (see ChainSums).
    FloatScratch marginals, pairs, inverse;
    double log_sum = 0;
    // Exponentiated transitions, and those they were computed from: in a pass at a fixed w they
    // are the same for every sentence.
    FloatScratch plain, transition, transposed;
    ChainSums sums{};
    // A sentence whose scores are given: every token is its own only feature.
    FloatScratch given, masked;
    std::vector<std::int64_t> each_offset;
    std::vector<std::int32_t> each_feature;
};

int token_of(Word word) { return static_cast<int>(word >> Chain::label_bits); }
int label_of(Word word) { return static_cast<int>(word & (Chain::max_labels - 1)); }

}  // namespace

// Rows start on cache lines (or share one when they are that short), whatever the instruction
// set, so that weights mean the same on every machine.
int Chain::stride_for(int labels) { return labels <= 8 ? 8 : (labels + 15) / 16 * 16; }

Chain::Chain(const ChainData& data) : data_(data), stride_(stride_for(data.labels)) {
    const int K = data_.labels;
    cost_ = allocate_floats(static_cast<std::size_t>(K) * stride_);
    for (int truth = 0; truth < K; ++truth) {
        for (int k = 0; k < K; ++k) {
            cost_[static_cast<std::size_t>(truth) * stride_ + k] =
                data_.cost[static_cast<std::size_t>(truth) * K + k];
        }
    }
    forbidden_ = allocate_floats(static_cast<std::size_t>(K + 2) * stride_);
    auto allowed = [&](int from, int to) {
        return data_.transitions.empty() || data_.transitions[static_cast<std::size_t>(from) * (K + 1) + to];
    };
    for (int from = 0; from < K + 2; ++from) {
        for (int to = 0; to < stride_; ++to) {
            // The end is a row here and a column of the caller's matrix.
            const bool open = to < K && (from == K + 1 ? allowed(to, K) : allowed(from, to));
            forbidden_[static_cast<std::size_t>(from) * stride_ + to] = open ? 0 : -infinity;
        }
    }
    // The weights carry the forbidden transitions with them, so those are part of the layout.
    layout_ = mix(static_cast<std::uint64_t>(data_.dimension) * max_labels + static_cast<std::uint64_t>(K));
    for (std::size_t k = 0; k < static_cast<std::size_t>(K + 2) * stride_; ++k) {
        layout_ = (layout_ << 1 | layout_ >> 63) + (forbidden_[k] == 0 ? 0x9E3779B97F4A7C15ull : 1);
    }
}

void Chain::derive(float* w) const {
    const int K = data_.labels;
    const float* transition = w + transition_row(0) * stride_;
    float* masked = w + dimension();
    float* transposed = masked + std::int64_t{K + 2} * stride_;
    for (std::int64_t k = 0; k < std::int64_t{K + 2} * stride_; ++k) masked[k] = transition[k] + forbidden_[k];
    for (int to = 0; to < K; ++to) {
        for (int from = 0; from < stride_; ++from) {
            transposed[std::int64_t{to} * stride_ + from] =
                from < K ? masked[std::int64_t{from} * stride_ + to] : -infinity;
        }
    }
}

std::unique_ptr<Scratch> Chain::make_scratch() const { return std::make_unique<ChainScratch>(); }

ChainInput Chain::input(const float* w, std::int64_t i, float cost_weight) const {
    const std::int64_t first = data_.sentences[i];
    const float* masked = w + dimension();
    return {
        .tokens = tokens(i),
        .labels = data_.labels,
        .stride = stride_,
        .offsets = data_.offsets.data() + first,
        .features = data_.features.data(),
        .values = data_.values.empty() ? nullptr : data_.values.data(),
        .emission = w,
        .transition = masked,
        .transposed = masked + std::int64_t{data_.labels + 2} * stride_,
        .cost = cost_.get(),
        .truth = data_.truth.empty() ? nullptr : data_.truth.data() + first,
        .cost_weight = cost_weight,
        .allowed_offsets = data_.allowed_offsets.empty() ? nullptr : data_.allowed_offsets.data() + first,
        .allowed = data_.allowed.data(),
    };
}

void Chain::fail_infeasible(const ChainInput& in, std::int64_t i, const float* maxima) const {
    std::int64_t t = 0;
    for (; t + 1 < in.tokens; ++t) {
        const float* row = maxima + t * stride_;
        if (*std::max_element(row, row + in.labels) == -infinity) break;
    }
    throw Infeasible(i, t);
}

void Chain::decode(const float* w, std::int64_t i, float cost_weight, Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    const ChainInput in = input(w, i, cost_weight);
    buffers.output.resize(static_cast<std::size_t>(in.tokens));
    if (in.tokens == 0) return;
    float* maxima = buffers.maxima.ensure(static_cast<std::size_t>((in.tokens + 1) * stride_));
    chain_kernels().max_forward(in, maxima, nullptr);
    if (!chain_kernels().backtrace(in, maxima, buffers.output.data())) fail_infeasible(in, i, maxima);
}

void Chain::difference(std::int64_t i, std::span<const std::int32_t> output, Difference& d) const {
    const std::int32_t* truth = data_.truth.data() + data_.sentences[i];
    d.words.clear();
    double cost = 0;
    for (std::size_t t = 0; t < output.size(); ++t) {
        if (output[t] != truth[t]) {
            d.words.push_back(static_cast<Word>(t << label_bits) | static_cast<Word>(output[t]));
            cost += cost_[static_cast<std::size_t>(truth[t]) * stride_ + output[t]];
        }
    }
    d.cost = static_cast<float>(cost);
    d.is_truth = d.words.empty();
}

bool Chain::is_valid(std::int64_t i, std::span<const Word> words) const {
    std::int64_t previous = -1;
    for (Word word : words) {
        const std::int64_t t = token_of(word);
        if (t <= previous || t >= tokens(i) || label_of(word) >= data_.labels ||
            label_of(word) == data_.truth[static_cast<std::size_t>(data_.sentences[i] + t)]) {
            return false;
        }
        previous = t;
    }
    return true;
}

double Chain::cost(std::int64_t i, std::span<const std::int32_t> output) const {
    const std::int32_t* truth = data_.truth.data() + data_.sentences[i];
    double total = 0;
    for (std::size_t t = 0; t < output.size(); ++t) {
        total += cost_[static_cast<std::size_t>(truth[t]) * stride_ + output[t]];
    }
    return total;
}

// Everything in δ = φ(truth) − φ(cut): emit(token, true label, cut's label) for each token that
// differs, move(from, to, ±1) for each transition; `to` = labels stands for the end.
template <class Emit, class Move>
void Chain::walk(std::int64_t i, std::span<const Word> words, Emit emit, Move move) const {
    const std::int64_t first = data_.sentences[i];
    const std::int32_t* truth = data_.truth.data() + first;
    const int last = static_cast<int>(tokens(i)) - 1, start = data_.labels, end = data_.labels;
    int previous_token = -2, previous_label = 0;
    for (std::size_t q = 0; q < words.size(); ++q) {
        const int t = token_of(words[q]), label = label_of(words[q]);
        emit(first + t, truth[t], label);
        const int true_from = t ? truth[t - 1] : start;
        move(true_from, truth[t], 1);
        move(previous_token == t - 1 ? previous_label : true_from, label, -1);
        if (t == last || q + 1 == words.size() || token_of(words[q + 1]) != t + 1) {
            const int to = t == last ? end : truth[t + 1];
            move(truth[t], to, 1);
            move(label, to, -1);
        }
        previous_token = t;
        previous_label = label;
    }
}

template <class Emit, class Move>
void Chain::walk_output(std::int64_t i, std::span<const std::int32_t> output, Emit emit, Move move) const {
    const std::int64_t first = data_.sentences[i];
    for (std::size_t t = 0; t < output.size(); ++t) {
        emit(first + static_cast<std::int64_t>(t), output[t]);
        move(t ? output[t - 1] : data_.labels, output[t]);
    }
    if (!output.empty()) move(output.back(), data_.labels);
}

double Chain::dot(const float* w, std::int64_t i, std::span<const Word> words) const {
    const float* transition = w + transition_row(0) * stride_;
    const int end = data_.labels;
    double total = 0;
    walk(
        i, words,
        [&](std::int64_t token, int truth, int label) {
            float for_truth = 0, for_label = 0;
            for (std::int64_t f = data_.offsets[token]; f < data_.offsets[token + 1]; ++f) {
                const float* row = w + std::int64_t{data_.features[f]} * stride_;
                const float value = data_.values.empty() ? 1 : data_.values[f];
                for_truth += value * row[truth];
                for_label += value * row[label];
            }
            total += double{for_truth} - for_label;
        },
        [&](int from, int to, int sign) {
            const std::int64_t row = to == end ? end + 1 : from, column = to == end ? from : to;
            total += sign * transition[row * stride_ + column];
        });
    return total;
}

void Chain::move_transition(float* w, int from, int to, float step) const {
    const int K = data_.labels;
    const std::int64_t at = to == K ? std::int64_t{K + 1} * stride_ + from : std::int64_t{from} * stride_ + to;
    w[transition_row(0) * stride_ + at] += step;
    float* masked = w + dimension();
    masked[at] += step;
    if (from < K && to < K) masked[(std::int64_t{K + 2} + to) * stride_ + from] += step;
}

void Chain::axpy(float* w, std::int64_t i, std::span<const Word> words, float step) const {
    walk(
        i, words,
        [&](std::int64_t token, int truth, int label) {
            for (std::int64_t f = data_.offsets[token]; f < data_.offsets[token + 1]; ++f) {
                float* row = w + std::int64_t{data_.features[f]} * stride_;
                const float change = data_.values.empty() ? step : step * data_.values[f];
                row[truth] += change;
                row[label] -= change;
            }
        },
        [&](int from, int to, int sign) { move_transition(w, from, to, sign * step); });
}

// How many entries accumulate adds at most.
std::size_t Chain::entries(std::int64_t i, std::span<const Word> words) const {
    std::size_t total = 4 * words.size() + 4;
    for (Word word : words) {
        const std::int64_t token = data_.sentences[i] + token_of(word);
        total += static_cast<std::size_t>(2 * (data_.offsets[token + 1] - data_.offsets[token]));
    }
    return total;
}

void Chain::accumulate(std::int64_t i, std::span<const Word> words, float coefficient, SparseSum& sum) const {
    walk(
        i, words,
        [&](std::int64_t token, int truth, int label) {
            for (std::int64_t f = data_.offsets[token]; f < data_.offsets[token + 1]; ++f) {
                const std::uint64_t row = static_cast<std::uint64_t>(data_.features[f]) * stride_;
                const float value = data_.values.empty() ? coefficient : coefficient * data_.values[f];
                sum.add(row + truth, value);
                sum.add(row + label, -value);
            }
        },
        [&](int from, int to, int sign) {
            const bool end = to == data_.labels;
            const std::int64_t row = transition_row(end ? data_.labels + 1 : from);
            sum.add(static_cast<std::uint64_t>(row * stride_ + (end ? from : to)), sign * coefficient);
        });
}

double Chain::inner(std::int64_t i, std::span<const Word> a, std::span<const Word> b,
                    Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    buffers.sum.reset(entries(i, a));
    accumulate(i, a, 1, buffers.sum);
    if (std::ranges::equal(a, b)) return buffers.sum.squared_norm();
    buffers.other.reset(entries(i, b));
    accumulate(i, b, 1, buffers.other);
    return buffers.sum.inner(buffers.other);
}

double Chain::distance2(std::int64_t i, std::span<const Word> a, std::span<const Word> b, Scratch& scratch) const {
    const WeightedWords terms[] = {{a, 1}, {b, -1}};
    return combination_norm2(i, terms, scratch);
}

double Chain::combination_norm2(std::int64_t i, std::span<const WeightedWords> terms, Scratch& scratch) const {
    auto& sum = static_cast<ChainScratch&>(scratch).sum;
    std::size_t total = 0;
    for (const auto& term : terms) total += entries(i, term.words);
    sum.reset(total);
    for (const auto& term : terms) accumulate(i, term.words, static_cast<float>(term.coefficient), sum);
    return sum.squared_norm();
}

std::vector<std::vector<std::int32_t>> Chain::best_outputs(const float* w, std::int64_t i, float cost_weight, int k,
                                                           Scratch& scratch) const {
    std::vector<std::vector<std::int32_t>> outputs;
    for (auto& found : k_best(w, i, cost_weight, k, scratch)) outputs.push_back(std::move(found.labels));
    return outputs;
}

double Chain::log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const {
    const ChainInput in = input(w, i, static_cast<float>(gamma));
    if (in.tokens == 0) return 0;
    const double log_sum = sum_labellings(in, i, static_cast<float>(beta), scratch);
    const auto first = static_cast<std::size_t>(data_.sentences[i]);
    return log_sum / beta - score(w, i, data_.truth.subspan(first, static_cast<std::size_t>(in.tokens)));
}

// log Σ_y exp β·score(y), leaving the marginals in scratch.
double Chain::sum_labellings(const ChainInput& in, std::int64_t i, float beta, Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    const auto size = static_cast<std::size_t>((in.tokens + 1) * stride_);
    exponentiate_transitions(in, beta, scratch);
    buffers.sums.emissions = buffers.emissions.ensure(size);
    buffers.sums.forward = buffers.forward.ensure(size);
    buffers.sums.marginals = buffers.marginals.ensure(size);
    buffers.sums.pairs = buffers.pairs.ensure(static_cast<std::size_t>(data_.labels) * stride_);
    buffers.sums.inverse = buffers.inverse.ensure(static_cast<std::size_t>(in.tokens));
    buffers.log_sum = chain_kernels().forward_backward(in, buffers.sums);
    if (std::isnan(buffers.log_sum)) log_marginals(in, i, beta, scratch);
    return buffers.log_sum;
}

void Chain::part_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const {
    const std::int64_t n = tokens(i), first = data_.sentences[i], K = data_.labels;
    std::ranges::fill(scores, 0.0f);
    for (std::int64_t t = 0; t < n; ++t) {
        float* to = scores.data() + t * stride_;
        for (std::int64_t f = data_.offsets[first + t]; f < data_.offsets[first + t + 1]; ++f) {
            const float* row = w + std::int64_t{data_.features[f]} * stride_;
            const float value = data_.values.empty() ? 1 : data_.values[f];
            for (int k = 0; k < stride_; ++k) to[k] += value * row[k];
        }
        const float* cost = cost_.get() + std::int64_t{data_.truth[first + t]} * stride_;
        for (std::int64_t k = 0; k < K; ++k) to[k] += static_cast<float>(gamma) * cost[k];
    }
    std::copy_n(w + transition_row(0) * stride_, (K + 2) * stride_, scores.data() + n * stride_);
}

double Chain::part_marginals(std::int64_t i, std::span<const float> scores, std::span<float> marginals,
                             Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    const std::int64_t n = tokens(i), K = data_.labels;
    std::ranges::fill(marginals, 0.0f);
    if (n == 0) return 0;
    for (auto q = static_cast<std::int64_t>(buffers.each_offset.size()); q <= n; ++q) {
        buffers.each_offset.push_back(q);
        buffers.each_feature.push_back(static_cast<std::int32_t>(q));
    }
    // Rows that the kernels read start on cache lines, the caller's need not.
    float* emission = buffers.given.ensure(static_cast<std::size_t>(n * stride_));
    std::copy_n(scores.data(), n * stride_, emission);
    float* masked = buffers.masked.ensure(static_cast<std::size_t>((2 * K + 2) * stride_));
    float* transposed = masked + (K + 2) * stride_;
    for (std::int64_t k = 0; k < (K + 2) * stride_; ++k) masked[k] = scores[static_cast<std::size_t>(n * stride_ + k)] + forbidden_[k];
    for (std::int64_t to = 0; to < K; ++to) {
        for (std::int64_t from = 0; from < stride_; ++from) {
            transposed[to * stride_ + from] = from < K ? masked[from * stride_ + to] : -infinity;
        }
    }
    ChainInput in = input(emission, i, 0);
    in.offsets = buffers.each_offset.data();
    in.features = buffers.each_feature.data();
    in.values = nullptr;
    in.transition = masked;
    in.transposed = transposed;
    const double log_sum = sum_labellings(in, i, 1, scratch);
    for (std::int64_t t = 0; t < n; ++t) {
        std::copy_n(buffers.marginals.data() + t * stride_, K, marginals.data() + t * stride_);
    }
    float* steps = marginals.data() + n * stride_;
    for (std::int64_t j = 0; j < K; ++j) std::copy_n(buffers.pairs.data() + j * stride_, K, steps + j * stride_);
    std::copy_n(marginals.data(), K, steps + K * stride_);
    std::copy_n(marginals.data() + (n - 1) * stride_, K, steps + (K + 1) * stride_);
    return log_sum;
}

double Chain::expected_part_cost(std::int64_t i, std::span<const float> marginals) const {
    const std::int64_t n = tokens(i), first = data_.sentences[i];
    double total = 0;
    for (std::int64_t t = 0; t < n; ++t) {
        const float* cost = cost_.get() + std::int64_t{data_.truth[first + t]} * stride_;
        for (int k = 0; k < data_.labels; ++k) total += double{marginals[static_cast<std::size_t>(t * stride_ + k)]} * cost[k];
    }
    return total;
}

void Chain::add_parts(float* w, std::int64_t i, std::span<const float> marginals, float step) const {
    const std::int64_t n = tokens(i), first = data_.sentences[i], K = data_.labels;
    for (std::int64_t t = 0; t < n; ++t) {
        const float* from = marginals.data() + t * stride_;
        for (std::int64_t f = data_.offsets[first + t]; f < data_.offsets[first + t + 1]; ++f) {
            float* row = w + std::int64_t{data_.features[f]} * stride_;
            const float change = data_.values.empty() ? step : step * data_.values[f];
            for (int k = 0; k < stride_; ++k) row[k] += change * from[k];
        }
    }
    float* transition = w + transition_row(0) * stride_;
    for (std::int64_t k = 0; k < (K + 2) * stride_; ++k) {
        transition[k] += step * marginals[static_cast<std::size_t>(n * stride_ + k)];
    }
    derive(w);
}

void Chain::add_part_difference(float* w, std::int64_t i, std::span<const float> marginals, float step) const {
    const auto first = static_cast<std::size_t>(data_.sentences[i]);
    add_features(w, i, data_.truth.subspan(first, static_cast<std::size_t>(tokens(i))), step);
    add_parts(w, i, marginals, -step);
}

void Chain::exponentiate_transitions(const ChainInput& in, float beta, Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    const std::int64_t K = data_.labels;
    const auto size = static_cast<std::size_t>((K + 2) * stride_);
    ChainSums& sums = buffers.sums;
    if (sums.scale == beta && std::memcmp(buffers.plain.data(), in.transition, size * sizeof(float)) == 0) return;
    std::memcpy(buffers.plain.ensure(size), in.transition, size * sizeof(float));
    float* transition = buffers.transition.ensure(size);
    float* transposed = buffers.transposed.ensure(size);
    const auto exponentiate = chain_kernels().exponentiate;
    sums.shift = exponentiate(in, beta, in.transition, data_.labels, transition);
    exponentiate(in, beta, in.transposed, data_.labels, transposed);
    sums.start_shift = exponentiate(in, beta, in.transition + K * stride_, 1, transition + K * stride_);
    sums.end_shift = exponentiate(in, beta, in.transition + (K + 1) * stride_, 1, transition + (K + 1) * stride_);
    sums.scale = beta;
    sums.transition = transition;
    sums.transposed = transposed;
}

// What forward_backward computes, by logarithms: for the sentences in which it underflows.
void Chain::log_marginals(const ChainInput& in, std::int64_t i, float beta, Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    const std::int64_t K = data_.labels;
    const ChainSums& sums = buffers.sums;
    float* backward = buffers.backward.ensure(static_cast<std::size_t>((in.tokens + 1) * stride_));
    buffers.log_sum = chain_kernels().log_forward_backward(in, beta, sums.emissions, sums.forward, backward);
    if (buffers.log_sum == -infinity) fail_infeasible(in, i, sums.forward);
    std::vector<float> pairs(static_cast<std::size_t>(K * K));
    std::fill_n(sums.pairs, K * stride_, 0.0f);
    for (std::int64_t t = 0; t < in.tokens; ++t) {
        float* row = sums.marginals + t * stride_;
        std::fill_n(row, stride_, 0.0f);
        chain_kernels().label_marginals(in, sums.forward + t * stride_, backward + t * stride_, row);
        if (t == 0) continue;
        chain_kernels().pair_marginals(in, beta, sums.forward + (t - 1) * stride_, sums.emissions + t * stride_,
                                       pairs.data());
        for (std::int64_t j = 0; j < K; ++j) {
            for (std::int64_t k = 0; k < K; ++k) {
                sums.pairs[j * stride_ + k] += pairs[static_cast<std::size_t>(j * K + k)];
            }
        }
    }
}

void Chain::add_expected_difference(float* target, std::int64_t i, float step, Scratch& scratch) const {
    const auto& buffers = static_cast<ChainScratch&>(scratch);
    const ChainInput in = input(target, i, 0);
    const std::int64_t K = data_.labels, last = in.tokens - 1;
    if (in.tokens == 0) return;
    const float* marginals = buffers.marginals.data();
    const float* pairs = buffers.pairs.data();
    chain_kernels().add_difference(in, in.truth, marginals, step, target);
    float* transition = target + transition_row(0) * stride_;
    for (std::int64_t j = 0; j < K; ++j) {
        for (std::int64_t k = 0; k < K; ++k) transition[j * stride_ + k] -= step * pairs[j * stride_ + k];
    }
    for (std::int64_t k = 0; k < K; ++k) {
        transition[K * stride_ + k] -= step * marginals[k];
        transition[(K + 1) * stride_ + k] -= step * marginals[last * stride_ + k];
    }
    transition[K * stride_ + in.truth[0]] += step;
    for (std::int64_t t = 1; t <= last; ++t) transition[in.truth[t - 1] * stride_ + in.truth[t]] += step;
    transition[(K + 1) * stride_ + in.truth[last]] += step;
    derive(target);
}

double Chain::expected_difference_norm2(std::int64_t i, Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    const std::int64_t n = tokens(i), first = data_.sentences[i];
    const int K = data_.labels;
    if (n == 0) return 0;
    const std::int32_t* truth = data_.truth.data() + first;
    const float* marginals = buffers.marginals.data();
    const std::size_t features = static_cast<std::size_t>(data_.offsets[first + n] - data_.offsets[first]);
    buffers.sum.reset(features * K);
    for (std::int64_t t = 0; t < n; ++t) {
        const float* p = marginals + t * stride_;
        for (std::int64_t f = data_.offsets[first + t]; f < data_.offsets[first + t + 1]; ++f) {
            const std::uint64_t row = static_cast<std::uint64_t>(data_.features[f]) * stride_;
            const float value = data_.values.empty() ? 1 : data_.values[f];
            for (int k = 0; k < K; ++k) buffers.sum.add(row + k, value * ((k == truth[t]) - p[k]));
        }
    }
    float* steps = buffers.backward.ensure(static_cast<std::size_t>(K) * stride_);  // of the transitions
    std::memcpy(steps, buffers.pairs.data(), static_cast<std::size_t>(K) * stride_ * sizeof(float));
    for (std::int64_t t = 1; t < n; ++t) steps[std::int64_t{truth[t - 1]} * stride_ + truth[t]] -= 1;
    double total = buffers.sum.squared_norm();
    for (int j = 0; j < K; ++j) {
        for (int k = 0; k < K; ++k) {
            total += double{steps[std::int64_t{j} * stride_ + k]} * steps[std::int64_t{j} * stride_ + k];
        }
        const double at_start = (truth[0] == j) - marginals[j];
        const double at_end = (truth[n - 1] == j) - marginals[(n - 1) * stride_ + j];
        total += at_start * at_start + at_end * at_end;
    }
    return total;
}

void Chain::add_variance(float* target, std::int64_t i) const {
    const std::int64_t K = data_.labels, n = tokens(i);
    if (n == 0) return;
    // One label: nothing varies, but every weight still has its place.
    const float of_label = std::max(static_cast<float>(K - 1), 0.5f) / static_cast<float>(K * K);
    const float of_pair = std::max(static_cast<float>(K * K - 1), 0.5f) / static_cast<float>(K * K * K * K);
    for (std::int64_t f = data_.offsets[data_.sentences[i]]; f < data_.offsets[data_.sentences[i + 1]]; ++f) {
        float* row = target + std::int64_t{data_.features[f]} * stride_;
        const float value = data_.values.empty() ? 1 : data_.values[f];
        for (std::int64_t k = 0; k < K; ++k) row[k] += value * value * of_label;
    }
    float* transition = target + transition_row(0) * stride_;
    for (std::int64_t j = 0; j < K; ++j) {
        for (std::int64_t k = 0; k < K; ++k) transition[j * stride_ + k] += static_cast<float>(n - 1) * of_pair;
        transition[K * stride_ + j] += of_label;
        transition[(K + 1) * stride_ + j] += of_label;
    }
}

// All transitions count as observed: the unseen ones are few, and decoding weighs each of them.
void Chain::mark_observed(float* marks, std::int64_t i) const {
    const std::int64_t K = data_.labels, first = data_.sentences[i], end = data_.sentences[i + 1];
    for (std::int64_t t = first; t < end; ++t) {
        for (std::int64_t f = data_.offsets[t]; f < data_.offsets[t + 1]; ++f) {
            marks[std::int64_t{data_.features[f]} * stride_ + data_.truth[t]] = 1;
        }
    }
    float* transition = marks + transition_row(0) * stride_;
    if (first == end || transition[0] == 1) return;
    for (std::int64_t row = 0; row < K + 2; ++row) std::fill_n(transition + row * stride_, K, 1.0f);
}

double Chain::score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const {
    const float* transition = w + transition_row(0) * stride_;
    double total = 0;
    walk_output(
        i, output,
        [&](std::int64_t token, int label) {
            for (std::int64_t f = data_.offsets[token]; f < data_.offsets[token + 1]; ++f) {
                const float weight = w[std::int64_t{data_.features[f]} * stride_ + label];
                total += data_.values.empty() ? double{weight} : double{weight} * data_.values[f];
            }
        },
        [&](int from, int to) {
            const bool end = to == data_.labels;
            total += transition[std::int64_t{end ? to + 1 : from} * stride_ + (end ? from : to)];
        });
    return total;
}

void Chain::add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const {
    walk_output(
        i, output,
        [&](std::int64_t token, int label) {
            for (std::int64_t f = data_.offsets[token]; f < data_.offsets[token + 1]; ++f) {
                const float change = data_.values.empty() ? step : step * data_.values[f];
                w[std::int64_t{data_.features[f]} * stride_ + label] += change;
            }
        },
        [&](int from, int to) { move_transition(w, from, to, step); });
}

// Best-first search from the end: the maxima of the forward pass say exactly how good the best
// completion of each partial path is, so at most k partial paths are opened at each token.
std::vector<ScoredOutput> Chain::k_best(const float* w, std::int64_t i, float cost_weight, int k,
                                        Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    const ChainInput in = input(w, i, cost_weight);
    if (in.tokens == 0) return {ScoredOutput{0, {}}};
    float* maxima = buffers.maxima.ensure(static_cast<std::size_t>((in.tokens + 1) * stride_));
    buffers.shifts.resize(static_cast<std::size_t>(in.tokens));
    chain_kernels().max_forward(in, maxima, buffers.shifts.data());

    struct Partial {
        double promise;      // score of the best labelling with this suffix
        double suffix;       // what the suffix adds after the forward maximum at its first token
        std::int64_t token;
        std::int32_t label;
        std::int64_t next;   // the partial path it extends, an index into `opened`
        bool operator<(const Partial& other) const { return promise < other.promise; }
    };
    std::vector<Partial> opened, candidates;
    std::priority_queue<Partial> open;
    std::vector<int> opened_at(static_cast<std::size_t>(in.tokens), 0);

    // Opens the k best labels of token t in front of partial path `next`; `to` is its transposed row.
    auto extend = [&](std::int64_t t, const float* to, double suffix, std::int64_t next) {
        candidates.clear();
        for (int label = 0; label < in.labels; ++label) {
            const float here = maxima[t * stride_ + label];
            if (here == -infinity || to[label] == -infinity) continue;
            const double after = suffix + to[label];
            candidates.push_back({here + buffers.shifts[static_cast<std::size_t>(t)] + after, after, t, label, next});
        }
        const auto kept = std::min(candidates.size(), static_cast<std::size_t>(k));
        std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(kept),
                          candidates.end(), [](const Partial& a, const Partial& b) { return b < a; });
        for (std::size_t c = 0; c < kept; ++c) open.push(candidates[c]);
    };
    extend(in.tokens - 1, in.transition + std::int64_t{in.labels + 1} * stride_, 0, -1);
    if (open.empty()) fail_infeasible(in, i, maxima);

    std::vector<float> emission(static_cast<std::size_t>(in.labels));
    std::vector<ScoredOutput> best;
    while (!open.empty() && best.size() < static_cast<std::size_t>(k)) {
        const Partial top = open.top();
        open.pop();
        if (++opened_at[static_cast<std::size_t>(top.token)] > k) continue;
        if (top.token == 0) {
            ScoredOutput found;
            found.labels.push_back(top.label);
            for (std::int64_t at = top.next; at >= 0; at = opened[static_cast<std::size_t>(at)].next) {
                found.labels.push_back(opened[static_cast<std::size_t>(at)].label);
            }
            found.score = score(w, i, found.labels);
            if (cost_weight != 0) found.score += cost_weight * cost(i, found.labels);
            best.push_back(std::move(found));
            continue;
        }
        const std::int64_t token = data_.sentences[i] + top.token;
        double emitted = 0;
        for (std::int64_t f = data_.offsets[token]; f < data_.offsets[token + 1]; ++f) {
            const float weight = w[std::int64_t{data_.features[f]} * stride_ + top.label];
            emitted += data_.values.empty() ? double{weight} : double{weight} * data_.values[f];
        }
        if (cost_weight != 0) {
            emitted += double{cost_weight} * cost_[static_cast<std::size_t>(in.truth[top.token]) * stride_ + top.label];
        }
        opened.push_back(top);
        extend(top.token - 1, in.transposed + std::int64_t{top.label} * stride_, top.suffix + emitted,
               static_cast<std::int64_t>(opened.size()) - 1);
    }
    std::stable_sort(best.begin(), best.end(),
                     [](const ScoredOutput& a, const ScoredOutput& b) { return a.score > b.score; });
    return best;
}

ChainExpectation Chain::expectation(const float* w, std::int64_t i, double beta, double gamma, bool pairs,
                                    Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    const ChainInput in = input(w, i, static_cast<float>(gamma));
    const std::int64_t K = in.labels;
    ChainExpectation result{0, 0, std::vector<float>(static_cast<std::size_t>(in.tokens * K)), {}};
    if (in.tokens == 0) return result;
    const auto size = static_cast<std::size_t>((in.tokens + 1) * stride_);
    float* emissions = buffers.emissions.ensure(size);
    float* forward = buffers.forward.ensure(size);
    float* backward = buffers.backward.ensure(size);
    const float scale = static_cast<float>(beta);
    const double log_sum = chain_kernels().log_forward_backward(in, scale, emissions, forward, backward);
    if (log_sum == -infinity) fail_infeasible(in, i, forward);
    result.log_partition = log_sum / beta;
    for (std::int64_t t = 0; t < in.tokens; ++t) {
        float* marginals = result.labels.data() + t * K;
        chain_kernels().label_marginals(in, forward + t * stride_, backward + t * stride_, marginals);
        if (in.truth) {
            const float* cost = cost_.get() + std::int64_t{in.truth[t]} * stride_;
            for (int k = 0; k < K; ++k) result.expected_cost += double{marginals[k]} * cost[k];
        }
    }
    if (pairs && in.tokens > 1) {
        result.pairs.resize(static_cast<std::size_t>((in.tokens - 1) * K * K));
        for (std::int64_t t = 1; t < in.tokens; ++t) {
            chain_kernels().pair_marginals(in, scale, forward + (t - 1) * stride_, emissions + t * stride_,
                                           result.pairs.data() + (t - 1) * K * K);
        }
    }
    return result;
}

void Chain::prefetch_example(std::int64_t i) const {
    const std::int64_t first = data_.sentences[i];
    __builtin_prefetch(data_.truth.data() + first);
    const auto* from = reinterpret_cast<const char*>(data_.features.data() + data_.offsets[first]);
    const auto* to = reinterpret_cast<const char*>(data_.features.data() + data_.offsets[data_.sentences[i + 1]]);
    for (; from < to; from += 64) __builtin_prefetch(from);
}

void Chain::prefetch_decode(const float* w, std::int64_t i) const {
    const std::int64_t begin = data_.offsets[data_.sentences[i]];
    const std::int64_t end = std::min(begin + 40, data_.offsets[data_.sentences[i + 1]]);
    for (std::int64_t f = begin; f < end; ++f) {
        const float* row = w + std::int64_t{data_.features[f]} * stride_;
        for (int k = 0; k < data_.labels; k += 16) __builtin_prefetch(row + k);
    }
}

void Chain::prefetch_cut(const float* w, std::int64_t i, std::span<const Word> words) const {
    for (Word word : words) {
        const std::int64_t token = data_.sentences[i] + token_of(word);
        const int truth = data_.truth[token], label = label_of(word);
        for (std::int64_t f = data_.offsets[token]; f < data_.offsets[token + 1]; ++f) {
            const float* row = w + std::int64_t{data_.features[f]} * stride_;
            __builtin_prefetch(row + truth, 1);
            __builtin_prefetch(row + label, 1);
        }
    }
}

}  // namespace dualstruct
