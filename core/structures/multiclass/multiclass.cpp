#include "structures/multiclass/multiclass.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/index.hpp"
#include "base/prefetch.hpp"
#include "base/random.hpp"

namespace dualstruct {

namespace {

class MulticlassScratch final : public Scratch {
public:
    std::vector<float> scores;
    std::vector<float> difference;  // truth − p, after log_loss
    std::vector<double> sums;       // of coefficients, by label
};

// Σ x (a − b) and Σ x a, in 16 sums that run side by side.
template <class Weight>
double sum_products(const float* x, std::int64_t n, Weight weight) {
    float sums[16] = {};
    std::int64_t k = 0;
    for (; k + 16 <= n; k += 16) {
        for (int q = 0; q < 16; ++q) sums[q] += x[k + q] * weight(k + q);
    }
    double total = 0;
    for (float sum : sums) total += sum;
    for (; k < n; ++k) total += x[k] * weight(k);
    return total;
}

void add_scaled(float* row, const float* x, std::int64_t n, float step) {
    for (std::int64_t k = 0; k < n; ++k) row[k] += step * x[k];
}

// p = softmax(scale·scores) in place; returns log Σ exp.
double softmax(std::span<float> scores, double scale) {
    double largest = -std::numeric_limits<double>::infinity(), total = 0;
    for (float score : scores) largest = std::max(largest, scale * score);
    for (float score : scores) total += std::exp(scale * score - largest);
    const double log_sum = largest + std::log(total);
    for (float& score : scores) score = static_cast<float>(std::exp(scale * score - log_sum));
    return log_sum;
}

}  // namespace

// Rows are filled up, so that loops over them run in whole vectors.
Multiclass::Multiclass(const MulticlassData& data)
    : data_(data), stride_(data.offsets.empty() ? (data.features + 15) / 16 * 16 : (data.labels + 7) / 8 * 8) {
    norms2_.resize(at(data_.examples));
    for (std::int64_t i = 0; i < data_.examples; ++i) {
        double total = 0;
        for_features(i, [&](std::int64_t, float value) { total += double{value} * value; });
        norms2_[at(i)] = static_cast<float>(total);
    }
}

std::uint64_t Multiclass::layout() const {
    return mix(static_cast<std::uint64_t>(data_.features) << 20 ^ static_cast<std::uint64_t>(data_.labels) ^
               (dense() ? 0xDE45Eull << 40 : 0x5BA45Eull << 40));
}

std::unique_ptr<Scratch> Multiclass::make_scratch() const { return std::make_unique<MulticlassScratch>(); }

template <class Visit>
void Multiclass::for_features(std::int64_t i, Visit visit) const {
    if (dense()) {
        for (std::int64_t f = 0; f < data_.features; ++f) {
            if (row(i)[f] != 0) visit(f, row(i)[f]);
        }
        return;
    }
    for (std::int64_t k = data_.offsets[at(i)]; k < data_.offsets[at(i) + 1]; ++k) {
        visit(std::int64_t{data_.ids[at(k)]}, data_.values[at(k)]);
    }
}

void Multiclass::prefetch_example(std::int64_t i) const {
    const std::int64_t first = dense() ? i * data_.features : data_.offsets[at(i)];
    prefetch(data_.values.data() + first);
}

void Multiclass::label_scores(const float* w, std::int64_t i, float cost_weight, std::vector<float>& scores) const {
    if (dense()) {
        scores.resize(at(data_.labels));
        for (int k = 0; k < data_.labels; ++k) {
            const float* weights = w + k * stride_;
            scores[at(k)] =
                static_cast<float>(sum_products(row(i), data_.features, [&](std::int64_t f) { return weights[f]; }));
        }
    } else {
        scores.assign(at(stride_), 0.0f);
        float* out = scores.data();
        const std::int64_t stride = stride_;
        for_features(i, [&](std::int64_t feature, float value) {
            const float* weights = w + feature * stride;
            for (std::int64_t k = 0; k < stride; ++k) out[k] += value * weights[k];
        });
        scores.resize(at(data_.labels));
    }
    if (cost_weight != 0) {
        for (int k = 0; k < data_.labels; ++k) scores[at(k)] += cost_weight * cost(i, k);
    }
}

void Multiclass::decode(const float* w, std::int64_t i, float cost_weight, Scratch& scratch) const {
    auto& scores = static_cast<MulticlassScratch&>(scratch).scores;
    label_scores(w, i, cost_weight, scores);
    scratch.output.assign(1,
                          static_cast<std::int32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin()));
}

bool Multiclass::is_output(std::int64_t, std::span<const std::int32_t> output) const {
    return output.size() == 1 && output[0] >= 0 && output[0] < data_.labels;
}

void Multiclass::difference(std::int64_t i, std::span<const std::int32_t> output, Difference& d) const {
    d.codes.clear();
    d.cost = cost(i, output[0]);
    d.is_truth = output[0] == data_.truth[at(i)];
    if (!d.is_truth) d.codes.push_back(static_cast<Code>(output[0]));
}

bool Multiclass::is_valid(std::int64_t i, std::span<const Code> codes) const {
    return codes.empty() || (codes.size() == 1 && codes[0] < static_cast<Code>(data_.labels) &&
                             static_cast<std::int32_t>(codes[0]) != data_.truth[at(i)]);
}

void Multiclass::output_of(std::int64_t i, std::span<const Code> codes, std::vector<std::int32_t>& output) const {
    output.assign(1, codes.empty() ? data_.truth[at(i)] : static_cast<std::int32_t>(codes[0]));
}

bool Multiclass::allows(std::int64_t, std::span<const std::int32_t>) const { return true; }

double Multiclass::dot(const float* w, std::int64_t i, std::span<const Code> codes) const {
    if (codes.empty()) return 0;
    const int truth = data_.truth[at(i)], label = static_cast<int>(codes[0]);
    if (dense()) {
        const float *of_truth = w + truth * stride_, *of_label = w + label * stride_;
        return sum_products(row(i), data_.features, [&](std::int64_t f) { return of_truth[f] - of_label[f]; });
    }
    double total = 0;
    for_features(i, [&](std::int64_t feature, float value) {
        const float* weights = w + feature * stride_;
        total += value * (weights[truth] - weights[label]);
    });
    return total;
}

void Multiclass::axpy(float* w, std::int64_t i, std::span<const Code> codes, float step) const {
    if (codes.empty()) return;
    const int truth = data_.truth[at(i)], label = static_cast<int>(codes[0]);
    if (dense()) {
        add_scaled(w + truth * stride_, row(i), data_.features, step);
        add_scaled(w + label * stride_, row(i), data_.features, -step);
        return;
    }
    for_features(i, [&](std::int64_t feature, float value) {
        float* weights = w + feature * stride_;
        weights[truth] += step * value;
        weights[label] -= step * value;
    });
}

void Multiclass::accumulate(std::int64_t i, std::span<const Code> codes, float coefficient, SparseSum& sum) const {
    if (codes.empty()) return;
    const int truth = data_.truth[at(i)], label = static_cast<int>(codes[0]);
    for_features(i, [&](std::int64_t feature, float value) {
        sum.add(static_cast<std::uint64_t>(weight(feature, truth)), coefficient * value);
        sum.add(static_cast<std::uint64_t>(weight(feature, label)), -coefficient * value);
    });
}

double Multiclass::inner(std::int64_t i, std::span<const Code> a, std::span<const Code> b, Scratch&) const {
    if (a.empty() || b.empty()) return 0;
    return norm2(i) * (a[0] == b[0] ? 2 : 1);
}

double Multiclass::combination_norm2(std::int64_t i, std::span<const WeightedCodes> terms, Scratch& scratch) const {
    auto& sums = static_cast<MulticlassScratch&>(scratch).sums;
    sums.assign(at(data_.labels), 0.0);
    double of_truth = 0, total = 0;
    for (const auto& term : terms) {
        if (term.codes.empty()) continue;
        sums[term.codes[0]] += term.coefficient;
        of_truth += term.coefficient;
    }
    for (double sum : sums) total += sum * sum;
    return norm2(i) * (total + of_truth * of_truth);
}

std::vector<ScoredOutput> Multiclass::k_best(const float* w, std::int64_t i, float cost_weight, int k,
                                             Scratch& scratch) const {
    auto& scores = static_cast<MulticlassScratch&>(scratch).scores;
    label_scores(w, i, cost_weight, scores);
    std::vector<ScoredOutput> found;
    for (int label = 0; label < data_.labels; ++label) found.push_back({scores[at(label)], {label}});
    std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.score > b.score; });
    if (found.size() > at(k)) found.resize(at(k));
    return found;
}

double Multiclass::log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const {
    auto& difference = static_cast<MulticlassScratch&>(scratch).difference;
    label_scores(w, i, static_cast<float>(gamma), difference);
    const auto truth = at(data_.truth[at(i)]);
    const double of_truth = difference[truth];
    const double log_sum = softmax(difference, beta);
    for (float& p : difference) p = -p;
    difference[truth] += 1;
    return log_sum / beta - of_truth;
}

void Multiclass::add_rows(float* w, std::int64_t i, std::span<const float> coefficients, float step) const {
    if (dense()) {
        for (std::size_t k = 0; k < coefficients.size(); ++k) {
            add_scaled(w + static_cast<std::int64_t>(k) * stride_, row(i), data_.features, step * coefficients[k]);
        }
        return;
    }
    for_features(i, [&](std::int64_t feature, float value) {
        float* weights = w + feature * stride_;
        for (std::size_t k = 0; k < coefficients.size(); ++k) weights[k] += step * value * coefficients[k];
    });
}

void Multiclass::add_expected_difference(float* target, std::int64_t i, float step, Scratch& scratch) const {
    const auto& difference = static_cast<MulticlassScratch&>(scratch).difference;
    add_rows(target, i, difference, step);
}

double Multiclass::expected_difference_norm2(std::int64_t i, Scratch& scratch) const {
    const auto& difference = static_cast<MulticlassScratch&>(scratch).difference;
    double total = 0;
    for (float value : difference) total += double{value} * value;
    return norm2(i) * total;
}

void Multiclass::part_scores(const float* w, std::int64_t i, double gamma, std::span<float> scores) const {
    std::vector<float> found;
    label_scores(w, i, static_cast<float>(gamma), found);
    std::ranges::copy(found, scores.begin());
}

double Multiclass::part_marginals(std::int64_t, std::span<const float> scores, std::span<float> marginals,
                                  Scratch&) const {
    std::ranges::copy(scores, marginals.begin());
    return softmax(marginals, 1);
}

double Multiclass::expected_part_cost(std::int64_t i, std::span<const float> marginals) const {
    double total = 0;
    for (int k = 0; k < data_.labels; ++k) total += double{marginals[at(k)]} * cost(i, k);
    return total;
}

void Multiclass::add_parts(float* w, std::int64_t i, std::span<const float> marginals, float step) const {
    add_rows(w, i, marginals, step);
}

void Multiclass::add_variance(float* target, std::int64_t i) const {
    const auto K = static_cast<float>(data_.labels);
    const float variance = std::max(K - 1, 0.5f) / (K * K);
    for_features(i, [&](std::int64_t feature, float value) {
        for (int k = 0; k < data_.labels; ++k) target[weight(feature, k)] += value * value * variance;
    });
}

void Multiclass::mark_observed(float* marks, std::int64_t i) const {
    for_features(i, [&](std::int64_t feature, float) { marks[weight(feature, data_.truth[at(i)])] = 1; });
}

double Multiclass::score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const {
    double total = 0;
    for_features(i, [&](std::int64_t feature, float value) { total += double{value} * w[weight(feature, output[0])]; });
    return total;
}

void Multiclass::add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const {
    for_features(i, [&](std::int64_t feature, float value) { w[weight(feature, output[0])] += step * value; });
}

}  // namespace dualstruct
