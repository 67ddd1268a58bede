#include "structures/custom/custom.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/index.hpp"
#include "base/prefetch.hpp"
#include "base/random.hpp"

namespace dualstruct {

namespace {

struct CustomScratch final : Scratch {
    SparseVector expected;  // φ_i(y_i) − E φ_i(y)
};

// visit(index, value) for every entry of δ.
template <class Visit>
void for_each_entry(std::span<const Code> codes, Visit visit) {
    for (std::size_t k = 1; k < codes.size(); k += 2) visit(codes[k], std::bit_cast<float>(codes[k + 1]));
}

std::span<const Code> as_codes(std::span<const std::int32_t> output) {
    return {reinterpret_cast<const Code*>(output.data()), output.size()};
}

// visit(index, a's value, b's value) for every index that either has.
template <class Visit>
void merge(std::span<const Entry> a, std::span<const Entry> b, Visit visit) {
    std::size_t p = 0, q = 0;
    while (p < a.size() || q < b.size()) {
        if (q == b.size() || (p < a.size() && a[p].index < b[q].index)) {
            visit(a[p].index, a[p].value, 0.0f);
            ++p;
        } else if (p == a.size() || b[q].index < a[p].index) {
            visit(b[q].index, 0.0f, b[q].value);
            ++q;
        } else {
            visit(a[p].index, a[p].value, b[q].value);
            ++p;
            ++q;
        }
    }
}

}  // namespace

void tidy(SparseVector& entries) {
    const auto before = [](const Entry& a, const Entry& b) { return a.index < b.index; };
    if (!std::is_sorted(entries.begin(), entries.end(), before)) {
        std::stable_sort(entries.begin(), entries.end(), before);
    }
    std::size_t kept = 0;
    for (std::size_t k = 0; k < entries.size();) {
        Entry total = entries[k];
        for (++k; k < entries.size() && entries[k].index == total.index; ++k) total.value += entries[k].value;
        if (total.value != 0) entries[kept++] = total;
    }
    entries.resize(kept);
}

void encode_output(std::span<const Entry> truth, std::span<const Entry> features, float cost, CustomOutput& output) {
    output.clear();
    output.push_back(std::bit_cast<std::int32_t>(cost + 0.0f));  // −0 becomes 0
    merge(truth, features, [&](std::uint32_t index, float of_truth, float of_output) {
        const float value = of_truth - of_output;
        if (value == 0) return;
        output.push_back(std::bit_cast<std::int32_t>(index));
        output.push_back(std::bit_cast<std::int32_t>(value));
    });
}

Custom::Custom(std::unique_ptr<UserCode> code, std::shared_ptr<const TrueFeatures> truth, std::int64_t size,
               std::int64_t dimension, bool has_truth)
    : code_(std::move(code)), truth_(std::move(truth)), size_(size), dimension_(dimension), has_truth_(has_truth) {}

std::uint64_t Custom::layout() const { return mix(static_cast<std::uint64_t>(dimension_) ^ 0xC057044ull); }

std::unique_ptr<Scratch> Custom::make_scratch() const { return std::make_unique<CustomScratch>(); }

std::int64_t Custom::output_size(std::int64_t) const { throw Unsupported("its outputs have no fixed size"); }

void Custom::decode(const float* w, std::int64_t i, float cost_weight, Scratch& scratch) const {
    code_->decode(w, i, cost_weight, scratch.output);
}

bool Custom::is_output(std::int64_t i, std::span<const std::int32_t> output) const {
    return !output.empty() && is_valid(i, as_codes(output));
}

void Custom::difference(std::int64_t, std::span<const std::int32_t> output, Difference& d) const {
    const auto codes = as_codes(output);
    d.cost = std::bit_cast<float>(codes[0]);
    d.is_truth = codes.size() == 1 && d.cost == 0;
    d.codes.assign(codes.begin(), d.is_truth ? codes.begin() : codes.end());
}

bool Custom::is_valid(std::int64_t, std::span<const Code> codes) const {
    if (codes.empty()) return true;
    if (codes.size() % 2 == 0 || !(std::bit_cast<float>(codes[0]) >= 0)) return false;
    std::int64_t previous = -1;
    for (std::size_t k = 1; k < codes.size(); k += 2) {
        const float value = std::bit_cast<float>(codes[k + 1]);
        if (codes[k] <= previous || codes[k] >= dimension_ || !std::isfinite(value) || value == 0) return false;
        previous = codes[k];
    }
    return true;
}

void Custom::output_of(std::int64_t, std::span<const Code> codes, std::vector<std::int32_t>& output) const {
    output.assign(codes.begin(), codes.end());
    if (codes.empty()) output.push_back(0);
}

// What is left of an output, its cost and features, does not say it.
bool Custom::allows(std::int64_t, std::span<const std::int32_t>) const { return true; }

double Custom::dot(const float* w, std::int64_t, std::span<const Code> codes) const {
    double total = 0;
    for_each_entry(codes, [&](Code index, float value) { total += double{value} * w[index]; });
    return total;
}

void Custom::axpy(float* w, std::int64_t, std::span<const Code> codes, float step) const {
    for_each_entry(codes, [&](Code index, float value) { w[index] += step * value; });
}

void Custom::accumulate(std::int64_t, std::span<const Code> codes, float coefficient, SparseSum& sum) const {
    for_each_entry(codes, [&](Code index, float value) { sum.add(index, coefficient * value); });
}

double Custom::inner(std::int64_t, std::span<const Code> a, std::span<const Code> b, Scratch&) const {
    double total = 0;
    for (std::size_t p = 1, q = 1; p < a.size() && q < b.size();) {
        if (a[p] == b[q]) total += double{std::bit_cast<float>(a[p + 1])} * std::bit_cast<float>(b[q + 1]);
        const bool forward_a = a[p] <= b[q], forward_b = b[q] <= a[p];
        if (forward_a) p += 2;
        if (forward_b) q += 2;
    }
    return total;
}

std::vector<ScoredOutput> Custom::k_best(const float* w, std::int64_t i, float cost_weight, int k,
                                         Scratch& scratch) const {
    if (k == 1) return Structure::k_best(w, i, cost_weight, k, scratch);
    std::vector<ScoredOutput> best;
    for (auto& output : code_->k_best(w, i, cost_weight, k)) {
        const double value = objective(w, i, output, cost_weight);
        best.push_back({value, std::move(output)});
    }
    return best;
}

double Custom::log_loss(const float* w, std::int64_t i, double beta, double gamma, Scratch& scratch) const {
    SparseVector features;
    double loss = code_->expectation(w, i, beta, gamma, features);
    auto& expected = static_cast<CustomScratch&>(scratch).expected;
    expected.clear();
    merge((*truth_)[i], features, [&](std::uint32_t index, float of_truth, float mean) {
        loss -= double{of_truth} * w[index];
        expected.push_back({index, of_truth - mean});
    });
    return loss;
}

void Custom::add_expected_difference(float* target, std::int64_t, float step, Scratch& scratch) const {
    for (const Entry& entry : static_cast<CustomScratch&>(scratch).expected) target[entry.index] += step * entry.value;
}

double Custom::expected_difference_norm2(std::int64_t, Scratch& scratch) const {
    double total = 0;
    for (const Entry& entry : static_cast<CustomScratch&>(scratch).expected) {
        total += double{entry.value} * entry.value;
    }
    return total;
}

// At w = 0 every output is equally likely: the mean's size stands for the variance.
void Custom::add_variance(float* target, std::int64_t i) const {
    zeros_.resize(at(dimension_));
    SparseVector features;
    code_->expectation(zeros_.data(), i, 1, 0, features);
    merge((*truth_)[i], features, [&](std::uint32_t index, float of_truth, float mean) {
        target[index] += std::abs(of_truth) + std::abs(mean);
    });
}

void Custom::mark_observed(float* marks, std::int64_t i) const {
    for (const Entry& entry : (*truth_)[i]) marks[entry.index] = 1;
}

double Custom::score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const {
    double total = 0;
    for (const Entry& entry : (*truth_)[i]) total += double{entry.value} * w[entry.index];
    return total - dot(w, i, as_codes(output));
}

void Custom::add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const {
    for (const Entry& entry : (*truth_)[i]) w[entry.index] += step * entry.value;
    axpy(w, i, as_codes(output), -step);
}

void Custom::prefetch_cut(const float* w, std::int64_t, std::span<const Code> codes) const {
    for_each_entry(codes, [&](Code index, float) { prefetch(w + index); });
}

}  // namespace dualstruct
