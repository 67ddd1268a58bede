#include "structures/chain/chain_excerpt.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/index.hpp"
#include "base/infinity.hpp"
#include "base/prefetch.hpp"
#include "structures/chain/chain_walk.hpp"
#include "structures/chain/shared_features.hpp"

namespace dualstruct {

std::unique_ptr<Excerpt> Chain::make_excerpt() const {
    if (has_pairs() || !data_.values.empty() || data_.labels > ChainExcerpt::most_chain_labels) return nullptr;
    std::call_once(shared_features_made_, [&] {
        shared_features_ =
            std::make_unique<SharedFeatures>(data_.sentences, data_.offsets, data_.features, data_.dimension);
    });
    return std::make_unique<ChainExcerpt>(*this, *shared_features_);
}

ChainExcerpt::ChainExcerpt(const Chain& chain, const SharedFeatures& shared)
    : chain_(chain), shared_features_(shared), label_places_(at(chain.labels()), -1),
      transition_places_(at(chain.labels() + 1) * at(chain.labels() + 1), -1) {}

void ChainExcerpt::start(std::int64_t i) {
    for (const Token& token : tokens_) token_places_[at(token.in_sentence)] = -1;
    for (int label : labels_) label_places_[at(label)] = -1;
    for (const Transition& each : transitions_) {
        transition_places_[at(each.from) * at(chain_.labels() + 1) + at(each.to)] = -1;
    }
    tokens_.clear();
    labels_.clear();
    transitions_.clear();
    cuts_.clear();
    i_ = i;
    counts_ = shared_features_.of(i);
    if (at(chain_.tokens(i)) > token_places_.size()) token_places_.resize(at(chain_.tokens(i)), -1);
}

int ChainExcerpt::place_of_label(int label) {
    std::int32_t& place = label_places_[at(label)];
    if (place < 0) {
        place = static_cast<std::int32_t>(labels_.size());
        labels_.push_back(label);
    }
    return place;
}

int ChainExcerpt::place_of_transition(int from, int to) {
    std::int32_t& place = transition_places_[at(from) * at(chain_.labels() + 1) + at(to)];
    if (place < 0) {
        place = static_cast<std::int32_t>(transitions_.size());
        transitions_.push_back({from, to, w_[chain_.transition_place(from, to)], 0});
    }
    return place;
}

bool ChainExcerpt::include(std::span<const Code> codes) {
    if (!counts_) return false;
    const std::int64_t first = chain_.first_token(i_), tokens = chain_.tokens(i_);
    for (Code code : codes) {
        const int t = token_of(code);
        if (labels_.size() + 2 > most_labels) return false;
        std::int32_t& place = token_places_[at(t)];
        if (place < 0) {
            place = static_cast<std::int32_t>(tokens_.size());
            const int truth = place_of_label(chain_.data_.truth[at(first + t)]);
            tokens_.push_back({t, truth, std::uint64_t{1} << truth});
            dualstruct::prefetch(counts_ + t * tokens);
            const auto features = features_of(tokens_.back());
            dualstruct::prefetch(features.data());
            dualstruct::prefetch(features.data() + features.size() - 1);
        }
        tokens_[at(place)].labels |= std::uint64_t{1} << place_of_label(label_of(code));
    }
    cuts_.push_back(codes);
    return true;
}

std::span<const std::int32_t> ChainExcerpt::features_of(const Token& token) const {
    const auto place = at(chain_.first_token(i_) + token.in_sentence);
    const auto begin = at(chain_.data_.offsets[place]), end = at(chain_.data_.offsets[place + 1]);
    return chain_.data_.features.subspan(begin, end - begin);
}

template <class Visit>
void ChainExcerpt::for_labels(const Token& token, Visit visit) const {
    for (std::uint64_t bits = token.labels; bits; bits &= bits - 1) {
        const auto place = at(std::countr_zero(bits));
        visit(place, labels_[place]);
    }
}

std::span<const ChainExcerpt::Pair> ChainExcerpt::pairs_of(int cut) const {
    return std::span(pairs_).subspan(pairs_before_[at(cut)], pairs_before_[at(cut) + 1] - pairs_before_[at(cut)]);
}

std::span<const ChainExcerpt::Move> ChainExcerpt::moves_of(int cut) const {
    return std::span(moves_).subspan(moves_before_[at(cut)], moves_before_[at(cut) + 1] - moves_before_[at(cut)]);
}

void ChainExcerpt::prefetch(const float* w) const {
    for (const Token& token : tokens_) {
        int columns[most_labels], count = 0;
        for_labels(token, [&](std::size_t, int label) { columns[count++] = label; });
        for (std::int32_t feature : features_of(token)) {
            const float* row = w + std::int64_t{feature} * chain_.stride();
            for (int k = 0; k < count; ++k) dualstruct::prefetch(row + columns[k]);
        }
    }
}

void ChainExcerpt::append(std::span<const Code> codes) {
    for (Code code : codes) {
        const std::int32_t token = token_places_[at(token_of(code))];
        const auto place = [&](int label) { return static_cast<std::int32_t>(at(label) * width_ + at(token)); };
        pairs_.push_back({token, place(tokens_[at(token)].truth), place(label_places_[at(label_of(code))])});
    }
    chain_.walk(
        i_, codes, [](std::int64_t, int, int) {},
        [&](std::int64_t, int from, int to, int sign) {
            moves_.push_back({place_of_transition(from, to), static_cast<float>(sign)});
        });
    pairs_before_.push_back(pairs_.size());
    moves_before_.push_back(moves_.size());
}

namespace {

// sums[k] = Σ_f w[feature_f][columns[k]].
template <int Columns>
void sum_columns(const float* w, std::int64_t stride, std::span<const std::int32_t> features, const int* columns,
                 float* sums) {
    float sum[Columns] = {};
    for (const std::int32_t feature : features) {
        const float* row = w + std::int64_t{feature} * stride;
        for (int k = 0; k < Columns; ++k) sum[k] += row[columns[k]];
    }
    for (int k = 0; k < Columns; ++k) sums[k] = sum[k];
}

void sum_columns(const float* w, std::int64_t stride, std::span<const std::int32_t> features, const int* columns,
                 int count, float* sums) {
    for (; count > 4; count -= 4, columns += 4, sums += 4) sum_columns<4>(w, stride, features, columns, sums);
    if (count == 4) return sum_columns<4>(w, stride, features, columns, sums);
    if (count == 3) return sum_columns<3>(w, stride, features, columns, sums);
    if (count == 2) return sum_columns<2>(w, stride, features, columns, sums);
    sum_columns<1>(w, stride, features, columns, sums);
}

}  // namespace

void ChainExcerpt::read(const float* w) {
    width_ = (tokens_.size() + 3) / 4 * 4;
    w_ = w;
    pairs_.clear();
    moves_.clear();
    pairs_before_.assign(1, 0);
    moves_before_.assign(1, 0);
    for (const std::span<const Code> codes : cuts_) append(codes);
    in_order_.clear();
    scores_.assign(labels_.size() * width_, 0);
    moved_.assign(labels_.size() * width_, 0);
    for (std::size_t token = 0; token < tokens_.size(); ++token) {
        int columns[most_labels], count = 0;
        float sums[most_labels];
        for_labels(tokens_[token], [&](std::size_t, int label) { columns[count++] = label; });
        sum_columns(w, chain_.stride(), features_of(tokens_[token]), columns, count, sums);
        count = 0;
        for_labels(tokens_[token], [&](std::size_t label, int) { scores_[label * width_ + token] = sums[count++]; });
    }
    shared_.assign(tokens_.size() * width_, 0);
    for (std::size_t a = 0; a < tokens_.size(); ++a) {
        const std::uint8_t* counts = counts_ + tokens_[a].in_sentence * chain_.tokens(i_);
        for (std::size_t b = 0; b < tokens_.size(); ++b) shared_[a * width_ + b] = counts[tokens_[b].in_sentence];
    }
}

double ChainExcerpt::dot(int cut) const {
    double total = 0;
    for (const Pair& pair : pairs_of(cut)) total += double{scores_[at(pair.truth)]} - scores_[at(pair.label)];
    for (const Move& move : moves_of(cut)) total += double{move.sign} * transitions_[at(move.place)].score;
    return total;
}

void ChainExcerpt::axpy(int cut, float step) {
    for (const Pair& pair : pairs_of(cut)) {
        const float* shared = shared_.data() + at(pair.token) * width_;
        float* truth = scores_.data() + pair.truth - pair.token;
        float* label = scores_.data() + pair.label - pair.token;
        for (std::size_t k = 0; k < width_; ++k) {
            const float change = step * shared[k];
            truth[k] += change;
            label[k] -= change;
        }
        moved_[at(pair.truth)] += step;
        moved_[at(pair.label)] -= step;
    }
    for (const Move& move : moves_of(cut)) {
        Transition& transition = transitions_[at(move.place)];
        transition.score += move.sign * step;
        transition.moved += move.sign * step;
    }
}

double ChainExcerpt::combination_norm2(std::span<const double> coefficients) {
    const std::size_t pairs = labels_.size() * width_;
    combined_.assign(pairs + transitions_.size(), 0);
    for (std::size_t k = 0; k < coefficients.size(); ++k) {
        if (coefficients[k] == 0) continue;
        const auto coefficient = static_cast<float>(coefficients[k]);
        for (const Pair& pair : pairs_of(static_cast<int>(k))) {
            combined_[at(pair.truth)] += coefficient;
            combined_[at(pair.label)] -= coefficient;
        }
        for (const Move& move : moves_of(static_cast<int>(k))) {
            combined_[pairs + at(move.place)] += move.sign * coefficient;
        }
    }
    double total = 0;
    for (std::size_t label = 0; label < labels_.size(); ++label) {
        const float* row = combined_.data() + label * width_;
        for (std::size_t a = 0; a < tokens_.size(); ++a) {
            if (row[a] == 0) continue;
            double sum = 0;
            for (std::size_t b = 0; b < tokens_.size(); ++b) sum += double{shared_[a * width_ + b]} * row[b];
            total += row[a] * sum;
        }
    }
    for (std::size_t k = pairs; k < combined_.size(); ++k) total += double{combined_[k]} * combined_[k];
    return total;
}

float ChainExcerpt::transition(int from, int to) const {
    const std::int32_t place = transition_places_[at(from) * at(chain_.labels() + 1) + at(to)];
    return place < 0 ? w_[chain_.transition_place(from, to)] : transitions_[at(place)].score;
}

bool ChainExcerpt::is_allowed(const Token& token, int label) const {
    const auto& data = chain_.data_;
    if (data.allowed_offsets.empty()) return true;
    const auto place = at(chain_.first_token(i_) + token.in_sentence);
    const auto begin = at(data.allowed_offsets[place]), end = at(data.allowed_offsets[place + 1]);
    const auto allowed = data.allowed.subspan(begin, end - begin);
    return allowed.empty() || std::ranges::find(allowed, label) != allowed.end();
}

// Viterbi over neighbouring tokens between others that are as in the truth: the best labels into path_ (none where there
// is no way through), and by how much they beat the true ones.
double ChainExcerpt::decode_stretch(std::span<const std::int32_t> stretch) {
    const int K = chain_.labels();
    const std::int64_t first = tokens_[at(stretch.front())].in_sentence, last = tokens_[at(stretch.back())].in_sentence;
    const std::int32_t* truth = chain_.data_.truth.data() + chain_.first_token(i_);
    const int before = first ? truth[first - 1] : K, after = last + 1 < chain_.tokens(i_) ? truth[last + 1] : K;
    const auto masked = [&](int from, int to) { return transition(from, to) + chain_.forbidden(from, to); };
    double of_truth = 0;
    std::size_t from = 0, to = 0;  // the steps of the token before
    steps_.clear();
    for (const std::int32_t place : stretch) {
        const Token& token = tokens_[at(place)];
        const int own = truth[token.in_sentence];
        of_truth += transition(token.in_sentence ? truth[token.in_sentence - 1] : K, own);
        of_truth += scores_[at(token.truth) * width_ + at(place)];
        const auto weight = static_cast<float>(chain_.token_weight(chain_.first_token(i_) + token.in_sentence));
        for_labels(token, [&](std::size_t label_place, int label) {
            if (!is_allowed(token, label)) return;
            Step step{label, -1, -infinity};
            if (place == stretch.front()) step.score = masked(before, label);
            for (std::size_t k = from; k < to; ++k) {
                const float score = steps_[k].score + masked(steps_[k].label, label);
                if (score > step.score) step = {label, static_cast<int>(k), score};
            }
            step.score += scores_[label_place * width_ + at(place)];
            step.score += weight * chain_.cost_[at(own) * at(chain_.stride()) + at(label)];
            steps_.push_back(step);
        });
        from = to;
        to = steps_.size();
    }
    of_truth += transition(truth[last], after);
    float most = -infinity;
    int best = -1;
    for (std::size_t k = from; k < to; ++k) {
        const float score = steps_[k].score + masked(steps_[k].label, after);
        if (score > most) most = score, best = static_cast<int>(k);
    }
    path_.clear();
    for (; best >= 0; best = steps_[at(best)].before) path_.push_back(steps_[at(best)].label);
    std::ranges::reverse(path_);
    return most - of_truth;
}

double ChainExcerpt::decode(Difference& found) {
    if (in_order_.empty()) {
        in_order_.resize(tokens_.size());
        std::iota(in_order_.begin(), in_order_.end(), 0);
        std::ranges::sort(in_order_, {}, [&](std::int32_t place) { return tokens_[at(place)].in_sentence; });
    }
    const auto number = [&](std::size_t k) { return tokens_[at(in_order_[k])].in_sentence; };
    double violation = 0, cost = 0;
    found = {};
    for (std::size_t begin = 0, end = 0; begin < in_order_.size(); begin = end) {
        for (end = begin + 1; end < in_order_.size() && number(end) == number(end - 1) + 1;) ++end;
        violation += decode_stretch(std::span(in_order_).subspan(begin, end - begin));
        if (path_.size() != end - begin) return -infinity;
        for (std::size_t k = begin; k < end; ++k) {
            const std::int64_t token = chain_.first_token(i_) + number(k);
            const int truth = chain_.data_.truth[at(token)], label = path_[k - begin];
            if (label == truth) continue;
            found.codes.push_back(static_cast<Code>(number(k)) << Chain::label_bits | static_cast<Code>(label));
            cost += chain_.token_weight(token) * chain_.cost_[at(truth) * at(chain_.stride()) + at(label)];
        }
    }
    found.cost = static_cast<float>(cost);
    found.is_truth = found.codes.empty();
    return violation;
}

void ChainExcerpt::write(float* w) {
    for (std::size_t place = 0; place < tokens_.size(); ++place) {
        int columns[most_labels], count = 0;
        float changes[most_labels];
        for_labels(tokens_[place], [&](std::size_t label, int column) {
            changes[count] = moved_[label * width_ + place];
            columns[count] = column;
            count += changes[count] != 0;
        });
        if (count == 0) continue;
        for (const std::int32_t feature : features_of(tokens_[place])) {
            float* row = w + std::int64_t{feature} * chain_.stride();
            for (int k = 0; k < count; ++k) row[columns[k]] += changes[k];
        }
    }
    for (const Transition& each : transitions_) {
        if (each.moved != 0) chain_.move_transition(w, 0, each.from, each.to, each.moved);
    }
}

}  // namespace dualstruct
