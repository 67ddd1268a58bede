// The part of Chain that sums over all labellings: losses, marginals and expected features.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/index.hpp"
#include "structures/chain/chain.hpp"
#include "structures/chain/chain_scratch.hpp"

namespace dualstruct {

double Chain::log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const {
    const ChainInput in = input(w, i, static_cast<float>(gamma), static_cast<ChainScratch&>(scratch));
    if (in.tokens == 0) return 0;
    const double log_sum = sum_labellings(in, i, static_cast<float>(beta), scratch);
    const auto first = at(data_.sentences[i]);
    return log_sum / beta - score(w, i, data_.truth.subspan(first, at(in.tokens)));
}

// log Σ_y exp β·score(y), leaving the marginals in scratch.
double Chain::sum_labellings(const ChainInput& in, std::int64_t i, float beta, Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    const auto size = at((in.tokens + 1) * stride_);
    exponentiate_transitions(in, beta, scratch);
    buffers.sums.emissions = buffers.emissions.ensure(size);
    buffers.sums.forward = buffers.forward.ensure(size);
    buffers.sums.marginals = buffers.marginals.ensure(size);
    buffers.sums.pairs = buffers.pairs.ensure(at(data_.labels) * stride_);
    buffers.sums.inverse = buffers.inverse.ensure(at(in.tokens));
    const auto steps = at(in.tokens * data_.labels * stride_);
    buffers.sums.steps = has_pairs() ? buffers.steps.ensure(steps) : nullptr;
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
        const auto cost_weight = static_cast<float>(gamma * token_weight(first + t));
        for (std::int64_t k = 0; k < K; ++k) to[k] += cost_weight * cost[k];
    }
    std::copy_n(w + transition_row(0) * stride_, (K + 2) * stride_, scores.data() + n * stride_);
    float* steps = scores.data() + (n + K + 2) * stride_;
    for_all_pairs(i, [&](std::int64_t t, std::int64_t row, float value) {
        float* to = steps + t * K * stride_;
        for (std::int64_t k = 0; k < K * stride_; ++k) to[k] += value * w[row * stride_ + k];
    });
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
    float* emission = buffers.given.ensure(at(n * stride_));
    std::copy_n(scores.data(), n * stride_, emission);
    float* masked = buffers.masked.ensure(at((2 * K + 2) * stride_));
    float* transposed = masked + (K + 2) * stride_;
    for (std::int64_t k = 0; k < (K + 2) * stride_; ++k) masked[k] = scores[at(n * stride_ + k)] + forbidden_[k];
    for (std::int64_t to = 0; to < K; ++to) {
        for (std::int64_t from = 0; from < stride_; ++from) {
            transposed[to * stride_ + from] = from < K ? masked[from * stride_ + to] : -infinity;
        }
    }
    ChainInput in = input(emission, i, 0, buffers);
    in.offsets = buffers.each_offset.data();
    in.features = buffers.each_feature.data();
    in.values = nullptr;
    in.transition = masked;
    in.transposed = transposed;
    if (has_pairs()) {
        float* given = buffers.given_steps.ensure(at(n * K * stride_));
        std::copy_n(scores.data() + (n + K + 2) * stride_, n * K * stride_, given);
        in.pair_offsets = in.offsets;
        in.pair_features = in.features;
        in.pair_values = nullptr;
        in.pair = given;
    }
    const double log_sum = sum_labellings(in, i, 1, scratch);
    for (std::int64_t t = 0; t < n; ++t) {
        std::copy_n(buffers.marginals.data() + t * stride_, K, marginals.data() + t * stride_);
    }
    float* steps = marginals.data() + n * stride_;
    for (std::int64_t j = 0; j < K; ++j) std::copy_n(buffers.pairs.data() + j * stride_, K, steps + j * stride_);
    std::copy_n(marginals.data(), K, steps + K * stride_);
    std::copy_n(marginals.data() + (n - 1) * stride_, K, steps + (K + 1) * stride_);
    if (has_pairs()) {
        const std::int64_t block = K * stride_;
        std::copy_n(buffers.steps.data() + block, (n - 1) * block, marginals.data() + (n + K + 2) * stride_ + block);
    }
    return log_sum;
}

double Chain::expected_part_cost(std::int64_t i, std::span<const float> marginals) const {
    const std::int64_t n = tokens(i), first = data_.sentences[i];
    double total = 0;
    for (std::int64_t t = 0; t < n; ++t) {
        const float* cost = cost_.get() + std::int64_t{data_.truth[first + t]} * stride_;
        double here = 0;
        for (int k = 0; k < data_.labels; ++k) here += double{marginals[at(t * stride_ + k)]} * cost[k];
        total += token_weight(first + t) * here;
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
        transition[k] += step * marginals[at(n * stride_ + k)];
    }
    const float* steps = marginals.data() + (n + K + 2) * stride_;
    for_all_pairs(i, [&](std::int64_t t, std::int64_t row, float value) {
        add_block(w + row * stride_, steps + t * K * stride_, step * value);
    });
    derive(w);
}

void Chain::add_block(float* to, const float* from, float step) const {
    for (std::int64_t k = 0; k < std::int64_t{data_.labels} * stride_; ++k) to[k] += step * from[k];
}

void Chain::exponentiate_transitions(const ChainInput& in, float beta, Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    const std::int64_t K = data_.labels;
    const auto size = at((K + 2) * stride_);
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
    float* backward = buffers.backward.ensure(at((in.tokens + 1) * stride_));
    buffers.log_sum = chain_kernels().log_forward_backward(in, beta, sums.emissions, sums.forward, backward);
    if (buffers.log_sum == -infinity) fail_infeasible(in, i, sums.forward);
    std::vector<float> pairs(at(K * K));
    ChainInput step = in;
    std::fill_n(sums.pairs, K * stride_, 0.0f);
    if (sums.steps) std::fill_n(sums.steps, in.tokens * K * stride_, 0.0f);
    for (std::int64_t t = 0; t < in.tokens; ++t) {
        float* row = sums.marginals + t * stride_;
        std::fill_n(row, stride_, 0.0f);
        chain_kernels().label_marginals(in, sums.forward + t * stride_, backward + t * stride_, row);
        if (t == 0) continue;
        step.transition = chain_kernels().transitions_into(in, t);
        chain_kernels().pair_marginals(step, beta, sums.forward + (t - 1) * stride_, sums.emissions + t * stride_,
                                       pairs.data());
        for (std::int64_t j = 0; j < K; ++j) {
            for (std::int64_t k = 0; k < K; ++k) {
                const float p = pairs[at(j * K + k)];
                sums.pairs[j * stride_ + k] += p;
                if (sums.steps) sums.steps[(t * K + j) * stride_ + k] = p;
            }
        }
    }
}

void Chain::add_expected_difference(float* target, std::int64_t i, float step, Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    const ChainInput in = input(target, i, 0, buffers);
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
    for_all_pairs(i, [&](std::int64_t t, std::int64_t row, float value) {
        target[(row + in.truth[t - 1]) * stride_ + in.truth[t]] += step * value;
        add_block(target + row * stride_, buffers.steps.data() + t * K * stride_, -step * value);
    });
    derive(target);
}

double Chain::expected_difference_norm2(std::int64_t i, Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    const std::int64_t n = tokens(i), first = data_.sentences[i];
    const int K = data_.labels;
    if (n == 0) return 0;
    const std::int32_t* truth = data_.truth.data() + first;
    const float* marginals = buffers.marginals.data();
    const auto features = at(data_.offsets[first + n] - data_.offsets[first]);
    const auto pairs = has_pairs() ? at(data_.pair_offsets[first + n] - data_.pair_offsets[first]) : 0;
    buffers.sum.reset(features * K + pairs * K * K);
    for (std::int64_t t = 0; t < n; ++t) {
        const float* p = marginals + t * stride_;
        for (std::int64_t f = data_.offsets[first + t]; f < data_.offsets[first + t + 1]; ++f) {
            const std::uint64_t row = static_cast<std::uint64_t>(data_.features[f]) * stride_;
            const float value = data_.values.empty() ? 1 : data_.values[f];
            for (int k = 0; k < K; ++k) buffers.sum.add(row + k, value * ((k == truth[t]) - p[k]));
        }
    }
    for_all_pairs(i, [&](std::int64_t t, std::int64_t row, float value) {
        const float* p = buffers.steps.data() + t * K * stride_;
        for (int j = 0; j < K; ++j, ++row, p += stride_) {
            for (int k = 0; k < K; ++k) {
                const bool is_true = j == truth[t - 1] && k == truth[t];
                buffers.sum.add(static_cast<std::uint64_t>(row * stride_ + k), value * (is_true - p[k]));
            }
        }
    });
    float* steps = buffers.backward.ensure(at(K) * stride_);  // of the transitions
    std::memcpy(steps, buffers.pairs.data(), at(K) * stride_ * sizeof(float));
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
    for_all_pairs(i, [&](std::int64_t, std::int64_t row, float value) {
        for (std::int64_t j = 0; j < K; ++j) {
            float* to = target + (row + j) * stride_;
            for (std::int64_t k = 0; k < K; ++k) to[k] += value * value * of_pair;
        }
    });
}

// All transitions count as observed: the unseen ones are few, and decoding weighs each of them.
void Chain::mark_observed(float* marks, std::int64_t i) const {
    const std::int64_t K = data_.labels, first = data_.sentences[i], end = data_.sentences[i + 1];
    for (std::int64_t t = first; t < end; ++t) {
        for (std::int64_t f = data_.offsets[t]; f < data_.offsets[t + 1]; ++f) {
            marks[std::int64_t{data_.features[f]} * stride_ + data_.truth[t]] = 1;
        }
    }
    for_all_pairs(i, [&](std::int64_t t, std::int64_t row, float) {
        marks[(row + data_.truth[first + t - 1]) * stride_ + data_.truth[first + t]] = 1;
    });
    float* transition = marks + transition_row(0) * stride_;
    if (first == end || transition[0] == 1) return;
    for (std::int64_t row = 0; row < K + 2; ++row) std::fill_n(transition + row * stride_, K, 1.0f);
}

ChainExpectation Chain::expectation(const float* w, std::int64_t i, double beta, double gamma, bool pairs,
                                    Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    const ChainInput in = input(w, i, static_cast<float>(gamma), buffers);
    const std::int64_t K = in.labels;
    ChainExpectation result{0, 0, std::vector<float>(at(in.tokens * K)), {}};
    if (in.tokens == 0) return result;
    const auto size = at((in.tokens + 1) * stride_);
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
            const double weight = token_weight(first_token(i) + t);
            for (int k = 0; k < K; ++k) result.expected_cost += weight * double{marginals[k]} * cost[k];
        }
    }
    if (pairs && in.tokens > 1) {
        result.pairs.resize(at((in.tokens - 1) * K * K));
        ChainInput step = in;
        for (std::int64_t t = 1; t < in.tokens; ++t) {
            step.transition = chain_kernels().transitions_into(in, t);
            chain_kernels().pair_marginals(step, scale, forward + (t - 1) * stride_, emissions + t * stride_,
                                           result.pairs.data() + (t - 1) * K * K);
        }
    }
    return result;
}

}  // namespace dualstruct
