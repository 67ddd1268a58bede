#include "crfsuite/precise_learner.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/index.hpp"

namespace dualstruct {

namespace {

bool rises(std::span<const std::int64_t> offsets, std::size_t end) {
    return !offsets.empty() && offsets.front() == 0 && std::ranges::is_sorted(offsets) &&
           offsets.back() == static_cast<std::int64_t>(end);
}

bool all_below(std::span<const std::int32_t> numbers, std::int64_t bound, std::int32_t least = 0) {
    return std::ranges::all_of(numbers, [=](std::int32_t n) { return n >= least && n < bound; });
}

}  // namespace

PreciseLearner::PreciseLearner(const PreciseData& data) : data_(data) {
    const auto K = at(std::max(data.labels, 0));
    const auto attributes = static_cast<std::int64_t>(data.feature_offsets.size()) - 1;
    if (K == 0 || !rises(data.sentences, data.truth.size()) || data.offsets.size() != data.truth.size() + 1 ||
        !rises(data.offsets, data.attributes.size()) ||
        (!data.values.empty() && data.values.size() != data.attributes.size()) ||
        !rises(data.feature_offsets, data.feature_labels.size()) || data.transition_features.size() != K * K ||
        data.features < static_cast<std::int64_t>(data.feature_labels.size()) ||
        !all_below(data.attributes, attributes) || !all_below(data.truth, data.labels) ||
        !all_below(data.feature_labels, data.labels) || !all_below(data.transition_features, data.features, -1)) {
        throw std::invalid_argument("the training data do not fit together");
    }
    // Each pair of labels has a feature of its own, so that its weight can be kept in step.
    const auto first = static_cast<std::int64_t>(data.feature_labels.size());
    transition_of_.assign(at(data.features - first), -1);
    for (std::size_t pair = 0; pair < K * K; ++pair) {
        const std::int32_t f = data.transition_features[pair];
        if (f < 0) continue;
        if (f < first || transition_of_[f - first] >= 0) {
            throw std::invalid_argument("two pairs of labels, or a pair and an attribute, have the same feature");
        }
        transition_of_[f - first] = static_cast<std::int64_t>(pair);
    }
    delta_.resize(at(data.features));
    is_noted_.resize(at(data.features));
    restart();
}

void PreciseLearner::restart() {
    w_.assign(at(data_.features), 0.0);
    deferred_ = w_;
    transitions_.assign(data_.transition_features.size(), 0.0);
    variance_.clear();
    met_ = 1;
}

std::vector<double> PreciseLearner::average() const {
    std::vector<double> mean(w_);
    for (std::size_t f = 0; f < mean.size(); ++f) mean[f] -= deferred_[f] / met_;
    return mean;
}

// Emissions of sentence i under scale·w.
void PreciseLearner::score_tokens(std::int64_t i, double scale) {
    const auto K = at(data_.labels);
    const std::int64_t first = data_.sentences[i], T = data_.sentences[i + 1] - first;
    emissions_.assign(at(T) * K, 0.0);
    for (std::int64_t t = 0; t < T; ++t) {
        double* const row = emissions_.data() + at(t) * K;
        for (std::int64_t at = data_.offsets[first + t]; at < data_.offsets[first + t + 1]; ++at) {
            const std::int64_t a = data_.attributes[at];
            const double value = scale * (data_.values.empty() ? 1.0 : data_.values[at]);
            for (std::int64_t f = data_.feature_offsets[a]; f < data_.feature_offsets[a + 1]; ++f) {
                row[data_.feature_labels[f]] += w_[f] * value;
            }
        }
    }
}

void PreciseLearner::score_transitions(double scale) {
    for (std::size_t pair = 0; pair < transitions_.size(); ++pair) {
        const std::int32_t f = data_.transition_features[pair];
        if (f >= 0) transitions_[pair] = scale * w_[f];
    }
}

void PreciseLearner::add(std::int64_t feature, double change) {
    w_[feature] += change;
    const std::int64_t move = feature - static_cast<std::int64_t>(data_.feature_labels.size());
    if (move >= 0) transitions_[transition_of_[move]] = w_[feature];
}

// Calls visit(feature, value) for the features of a labelling.
template <class Visit>
void PreciseLearner::walk(std::int64_t i, std::span<const std::int32_t> output, Visit visit) const {
    const std::int64_t first = data_.sentences[i];
    for (std::size_t t = 0; t < output.size(); ++t) {
        const std::int64_t token = first + static_cast<std::int64_t>(t);
        for (std::int64_t at = data_.offsets[token]; at < data_.offsets[token + 1]; ++at) {
            const std::int64_t a = data_.attributes[at];
            for (std::int64_t f = data_.feature_offsets[a]; f < data_.feature_offsets[a + 1]; ++f) {
                if (data_.feature_labels[f] == output[t]) visit(f, data_.values.empty() ? 1.0 : data_.values[at]);
            }
        }
        if (t == 0) continue;
        const std::int32_t f = data_.transition_features[output[t - 1] * data_.labels + output[t]];
        if (f >= 0) visit(f, 1.0);
    }
}

void PreciseLearner::note(std::int64_t feature, double change) {
    if (is_noted_[feature] == 0) {
        is_noted_[feature] = 1;
        noted_.push_back(feature);
    }
    delta_[feature] += change;
}

void PreciseLearner::forget_difference() {
    for (const std::int64_t f : noted_) {
        delta_[f] = 0;
        is_noted_[f] = 0;
    }
    noted_.clear();
}

// Decodes sentence i; δ, m and what the truth falls short of, unless the truth was found.
bool PreciseLearner::find_difference(std::int64_t i) {
    const std::int64_t first = data_.sentences[i], T = data_.sentences[i + 1] - first;
    const auto truth = data_.truth.subspan(at(first), at(T));
    score_tokens(i);
    best_ = decoder_.decode(emissions_, transitions_, data_.labels);
    wrong_ = 0;
    for (std::size_t t = 0; t < truth.size(); ++t) wrong_ += best_[t] != truth[t];
    if (wrong_ == 0) return false;
    shortfall_ = precise_score(emissions_, transitions_, data_.labels, best_) -
                 precise_score(emissions_, transitions_, data_.labels, truth);
    walk(i, truth, [&](std::int64_t f, double value) { note(f, value); });
    walk(i, best_, [&](std::int64_t f, double value) { note(f, -value); });
    return true;
}

template <class Step>
double PreciseLearner::meet_all(std::span<const std::int32_t> order, const Interrupt& interrupt, Step step) {
    if (!all_below(order, size())) throw std::invalid_argument("there is no such sentence");
    double loss = 0;
    for (const std::int32_t i : order) {
        if (interrupt()) break;
        loss += step(i);
        forget_difference();
        ++met_;
    }
    return loss;
}

double PreciseLearner::perceptron(std::span<const std::int32_t> order, const Interrupt& interrupt) {
    return meet_all(order, interrupt, [&](std::int64_t i) {
        if (!find_difference(i)) return 0.0;
        for (const std::int64_t f : noted_) {
            add(f, delta_[f]);
            deferred_[f] += met_ * delta_[f];
        }
        return static_cast<double>(wrong_) / static_cast<double>(best_.size());
    });
}

double PreciseLearner::passive_aggressive(std::span<const std::int32_t> order, int kind, double c, bool error_sensitive,
                                          const Interrupt& interrupt) {
    return meet_all(order, interrupt, [&](std::int64_t i) {
        if (!find_difference(i)) return 0.0;
        const double loss = shortfall_ + (error_sensitive ? std::sqrt(static_cast<double>(wrong_)) : 1.0);
        double norm2 = 0;
        for (const std::int64_t f : noted_) norm2 += delta_[f] * delta_[f];
        if (kind == 2) norm2 += 0.5 / c;
        if (norm2 == 0) return loss;  // no feature distinguishes the two labellings
        const double step = kind == 1 ? std::min(c, loss / norm2) : loss / norm2;
        for (const std::int64_t f : noted_) {
            add(f, step * delta_[f]);
            deferred_[f] += met_ * step * delta_[f];
        }
        return loss;
    });
}

double PreciseLearner::arow(std::span<const std::int32_t> order, double variance, double gamma,
                            const Interrupt& interrupt) {
    if (variance_.empty()) variance_.assign(w_.size(), variance);
    return meet_all(order, interrupt, [&](std::int64_t i) {
        if (!find_difference(i)) return 0.0;
        const double loss = shortfall_ + wrong_;
        double spread = gamma;
        for (const std::int64_t f : noted_) spread += variance_[f] * delta_[f] * delta_[f];
        for (const std::int64_t f : noted_) {
            add(f, loss / spread * variance_[f] * delta_[f]);
            variance_[f] = 1 / (1 / variance_[f] + delta_[f] * delta_[f] / gamma);
        }
        return loss;
    });
}

double PreciseLearner::gradient(std::span<const std::int32_t> order, double lambda, double t0, double first,
                                const Interrupt& interrupt) {
    // w = scale·v, so that shrinking touches one number.
    double scale = 1, t = first;
    const auto K = at(data_.labels);
    const double loss = meet_all(order, interrupt, [&](std::int64_t i) {
        const double rate = 1 / (lambda * (t0 + t++));
        scale *= 1 - rate * lambda;
        const std::int64_t begin = data_.sentences[i], T = data_.sentences[i + 1] - begin;
        const auto truth = data_.truth.subspan(at(begin), at(T));
        score_tokens(i, scale);
        score_transitions(scale);
        const PreciseSums sums = precise_sum(emissions_, transitions_, data_.labels, true);
        const double step = rate / scale;
        walk(i, truth, [&](std::int64_t f, double value) { w_[f] += step * value; });
        for (std::int64_t token = 0; token < T; ++token) {
            const double* const marginals = sums.marginals.data() + at(token) * K;
            for (std::int64_t at = data_.offsets[begin + token]; at < data_.offsets[begin + token + 1]; ++at) {
                const std::int64_t a = data_.attributes[at];
                const double value = step * (data_.values.empty() ? 1.0 : data_.values[at]);
                for (std::int64_t f = data_.feature_offsets[a]; f < data_.feature_offsets[a + 1]; ++f) {
                    w_[f] -= value * marginals[data_.feature_labels[f]];
                }
            }
        }
        for (std::size_t pair = 0; pair < K * K; ++pair) {
            const std::int32_t f = data_.transition_features[pair];
            if (f >= 0) w_[f] -= step * sums.pairs[pair];
        }
        return sums.log_partition - precise_score(emissions_, transitions_, data_.labels, truth);
    });
    for (double& weight : w_) weight *= scale;
    score_transitions();
    return loss;
}

double PreciseLearner::log_loss(std::span<const std::int32_t> order, const Interrupt& interrupt) {
    return meet_all(order, interrupt, [&](std::int64_t i) {
        const std::int64_t begin = data_.sentences[i], T = data_.sentences[i + 1] - begin;
        score_tokens(i);
        return precise_sum(emissions_, transitions_, data_.labels, false).log_partition -
               precise_score(emissions_, transitions_, data_.labels, data_.truth.subspan(at(begin), at(T)));
    });
}

}  // namespace dualstruct
