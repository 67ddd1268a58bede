#include "structures/chain/chain.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <queue>

#include "base/index.hpp"
#include "base/prefetch.hpp"
#include "base/random.hpp"
#include "simd/dispatch.hpp"
#include "structures/chain/chain_scratch.hpp"
#include "structures/chain/chain_walk.hpp"

namespace dualstruct {

DUALSTRUCT_DISPATCH(ChainKernels, chain_kernels, chain_kernels)

// Rows are whole vectors of 8, whatever the instruction set, so that weights mean the same on every machine.
int Chain::stride_for(int labels) { return (labels + 7) / 8 * 8; }

Chain::Chain(const ChainData& data) : data_(data), stride_(stride_for(data.labels)) {
    const int K = data_.labels;
    cost_ = allocate_floats(at(K) * stride_);
    for (int truth = 0; truth < K; ++truth) {
        for (int k = 0; k < K; ++k) {
            cost_[at(truth) * stride_ + k] = data_.cost[at(truth) * K + k];
        }
    }
    forbidden_ = allocate_floats(at(K + 2) * stride_);
    auto allowed = [&](int from, int to) {
        return data_.transitions.empty() || data_.transitions[at(from) * (K + 1) + to];
    };
    for (int from = 0; from < K + 2; ++from) {
        for (int to = 0; to < stride_; ++to) {
            // The end is a row here and a column of the caller's matrix.
            const bool open = to < K && (from == K + 1 ? allowed(to, K) : allowed(from, to));
            forbidden_[at(from) * stride_ + to] = open ? 0 : -infinity;
        }
    }
    // The weights carry the forbidden transitions with them, so those are part of the layout.
    layout_ = mix(static_cast<std::uint64_t>(data_.dimension) * max_labels + static_cast<std::uint64_t>(K));
    if (has_pairs()) layout_ = mix(layout_ + static_cast<std::uint64_t>(data_.pair_dimension) + 1);
    for (std::size_t k = 0; k < at(K + 2) * stride_; ++k) {
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

ChainInput Chain::input(const float* w, std::int64_t i, float cost_weight, ChainScratch& buffers) const {
    const std::int64_t first = data_.sentences[i];
    const float* masked = w + dimension();
    const auto room = has_pairs() ? at(data_.labels) * stride_ : 0;
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
        .token_weights = data_.token_weights.empty() ? nullptr : data_.token_weights.data() + first,
        .cost_weight = cost_weight,
        .allowed_offsets = data_.allowed_offsets.empty() ? nullptr : data_.allowed_offsets.data() + first,
        .allowed = data_.allowed.data(),
        .pair_offsets = has_pairs() ? data_.pair_offsets.data() + first : nullptr,
        .pair_features = data_.pair_features.data(),
        .pair_values = data_.pair_values.empty() ? nullptr : data_.pair_values.data(),
        .pair = w + pair_row(0, 0) * stride_,
        .step = buffers.step.ensure(room),
        .step_transposed = buffers.step_transposed.ensure(room),
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
    const ChainInput in = input(w, i, cost_weight, buffers);
    buffers.output.resize(at(in.tokens));
    if (in.tokens == 0) return;
    float* maxima = buffers.maxima.ensure(at((in.tokens + 1) * stride_));
    chain_kernels().max_forward(in, maxima, nullptr);
    if (!chain_kernels().backtrace(in, maxima, buffers.output.data())) fail_infeasible(in, i, maxima);
}

bool Chain::is_output(std::int64_t i, std::span<const std::int32_t> output) const {
    return static_cast<std::int64_t>(output.size()) == tokens(i) &&
           std::ranges::all_of(output, [&](std::int32_t label) { return label >= 0 && label < data_.labels; });
}

void Chain::difference(std::int64_t i, std::span<const std::int32_t> output, Difference& d) const {
    const std::int32_t* truth = data_.truth.data() + data_.sentences[i];
    d.codes.clear();
    double cost = 0;
    for (std::size_t t = 0; t < output.size(); ++t) {
        if (output[t] != truth[t]) {
            d.codes.push_back(static_cast<Code>(t << label_bits) | static_cast<Code>(output[t]));
            cost += token_weight(data_.sentences[i] + static_cast<std::int64_t>(t)) *
                    cost_[at(truth[t]) * stride_ + output[t]];
        }
    }
    d.cost = static_cast<float>(cost);
    d.is_truth = d.codes.empty();
}

bool Chain::is_valid(std::int64_t i, std::span<const Code> codes) const {
    std::int64_t previous = -1;
    for (Code code : codes) {
        const std::int64_t t = token_of(code);
        if (t <= previous || t >= tokens(i) || label_of(code) >= data_.labels ||
            label_of(code) == data_.truth[at(data_.sentences[i] + t)]) {
            return false;
        }
        previous = t;
    }
    return true;
}

void Chain::output_of(std::int64_t i, std::span<const Code> codes, std::vector<std::int32_t>& output) const {
    const auto truth = data_.truth.subspan(at(data_.sentences[i]), at(tokens(i)));
    output.assign(truth.begin(), truth.end());
    for (Code code : codes) output[at(token_of(code))] = label_of(code);
}

bool Chain::allows(std::int64_t i, std::span<const std::int32_t> output) const {
    const std::int64_t first = data_.sentences[i];
    const int start = data_.labels, end = data_.labels + 1;
    const auto open = [&](int from, int to) { return forbidden_[at(from) * stride_ + to] == 0; };
    for (std::size_t t = 0; t < output.size(); ++t) {
        if (!open(t ? output[t - 1] : start, output[t])) return false;
        if (data_.allowed_offsets.empty()) continue;
        const auto token = at(first) + t;
        const std::int32_t* here = data_.allowed.data() + data_.allowed_offsets[token];
        const std::int32_t* stop = data_.allowed.data() + data_.allowed_offsets[token + 1];
        if (here != stop && std::find(here, stop, output[t]) == stop) return false;
    }
    return output.empty() || open(end, output.back());
}

template <class Emit, class Move>
void Chain::walk_output(std::int64_t i, std::span<const std::int32_t> output, Emit emit, Move move) const {
    std::int64_t token = data_.sentences[i];
    for (std::size_t t = 0; t < output.size(); ++t, ++token) {
        emit(token, output[t]);
        move(token, t ? output[t - 1] : data_.labels, output[t]);
    }
    if (!output.empty()) move(token, output.back(), data_.labels);
}

double Chain::dot(const float* w, std::int64_t i, std::span<const Code> codes) const {
    const float* transition = w + transition_row(0) * stride_;
    const int end = data_.labels;
    double total = 0;
    walk(
        i, codes,
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
        [&](std::int64_t token, int from, int to, int sign) {
            const std::int64_t row = to == end ? end + 1 : from, column = to == end ? from : to;
            total += sign * transition[row * stride_ + column];
            for_pairs(token, from, to,
                      [&](std::int64_t pair, float value) { total += sign * value * w[pair * stride_ + to]; });
        });
    return total;
}

void Chain::move_transition(float* w, std::int64_t token, int from, int to, float step) const {
    const int K = data_.labels;
    const std::int64_t place = to == K ? std::int64_t{K + 1} * stride_ + from : std::int64_t{from} * stride_ + to;
    w[transition_row(0) * stride_ + place] += step;
    float* masked = w + dimension();
    masked[place] += step;
    if (from < K && to < K) masked[(std::int64_t{K + 2} + to) * stride_ + from] += step;
    for_pairs(token, from, to, [&](std::int64_t pair, float value) { w[pair * stride_ + to] += step * value; });
}

void Chain::axpy(float* w, std::int64_t i, std::span<const Code> codes, float step) const {
    walk(
        i, codes,
        [&](std::int64_t token, int truth, int label) {
            for (std::int64_t f = data_.offsets[token]; f < data_.offsets[token + 1]; ++f) {
                float* row = w + std::int64_t{data_.features[f]} * stride_;
                const float change = data_.values.empty() ? step : step * data_.values[f];
                row[truth] += change;
                row[label] -= change;
            }
        },
        [&](std::int64_t token, int from, int to, int sign) { move_transition(w, token, from, to, sign * step); });
}

void Chain::accumulate(std::int64_t i, std::span<const Code> codes, float coefficient, SparseSum& sum) const {
    walk(
        i, codes,
        [&](std::int64_t token, int truth, int label) {
            for (std::int64_t f = data_.offsets[token]; f < data_.offsets[token + 1]; ++f) {
                const std::uint64_t row = static_cast<std::uint64_t>(data_.features[f]) * stride_;
                const float value = data_.values.empty() ? coefficient : coefficient * data_.values[f];
                sum.add(row + truth, value);
                sum.add(row + label, -value);
            }
        },
        [&](std::int64_t token, int from, int to, int sign) {
            const bool end = to == data_.labels;
            const std::int64_t row = transition_row(end ? data_.labels + 1 : from);
            sum.add(static_cast<std::uint64_t>(row * stride_ + (end ? from : to)), sign * coefficient);
            for_pairs(token, from, to, [&](std::int64_t pair, float value) {
                sum.add(static_cast<std::uint64_t>(pair * stride_ + to), sign * value * coefficient);
            });
        });
}

void Chain::axpy(float* w, std::int64_t i, std::span<const Code> codes, float step, SharedLines& lines) const {
    if (has_pairs()) return Structure::axpy(w, i, codes, step, lines);
    const auto add = [&](std::int64_t place, float change) { w[place] += change * lines.touch(place); };
    walk(
        i, codes,
        [&](std::int64_t token, int truth, int label) {
            for (std::int64_t f = data_.offsets[token]; f < data_.offsets[token + 1]; ++f) {
                const std::int64_t row = std::int64_t{data_.features[f]} * stride_;
                const float change = data_.values.empty() ? step : step * data_.values[f];
                add(row + truth, change);
                add(row + label, -change);
            }
        },
        [&](std::int64_t token, int from, int to, int sign) {
            const bool end = to == data_.labels;
            const std::int64_t place = transition_row(end ? data_.labels + 1 : from) * stride_ + (end ? from : to);
            move_transition(w, token, from, to, sign * step * lines.touch(place));
        });
}

double Chain::dot(const float* w, std::int64_t i, std::span<const Code> codes, const SharedLines& lines,
                  double& mean_times) const {
    if (has_pairs() || !data_.values.empty()) return Structure::dot(w, i, codes, lines, mean_times);
    double total = 0, times = 0;
    std::int64_t count = 0;
    const float* transition = w + transition_row(0) * stride_;
    walk(
        i, codes,
        [&](std::int64_t token, int truth, int label) {
            for (std::int64_t f = data_.offsets[token]; f < data_.offsets[token + 1]; ++f) {
                const std::int64_t row = std::int64_t{data_.features[f]} * stride_;
                total += w[row + truth] - w[row + label];
                times += lines.times(row + truth) + lines.times(row + label);
                count += 2;
            }
        },
        [&](std::int64_t, int from, int to, int sign) {
            const bool end = to == data_.labels;
            const std::int64_t place = std::int64_t{end ? data_.labels + 1 : from} * stride_ + (end ? from : to);
            total += sign * transition[place];
            times += lines.times(transition_row(0) * stride_ + place);
            ++count;
        });
    mean_times = count ? times / static_cast<double>(count) : 1;
    return total;
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
        [&](std::int64_t token, int from, int to) {
            const bool end = to == data_.labels;
            total += transition[std::int64_t{end ? to + 1 : from} * stride_ + (end ? from : to)];
            for_pairs(token, from, to,
                      [&](std::int64_t pair, float value) { total += double{value} * w[pair * stride_ + to]; });
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
        [&](std::int64_t token, int from, int to) { move_transition(w, token, from, to, step); });
}

// Best-first search from the end: the maxima of the forward pass say exactly how good the best
// completion of each partial path is, so at most k partial paths are opened at each token.
std::vector<ScoredOutput> Chain::k_best(const float* w, std::int64_t i, float cost_weight, int k,
                                        Scratch& scratch) const {
    auto& buffers = static_cast<ChainScratch&>(scratch);
    const ChainInput in = input(w, i, cost_weight, buffers);
    if (in.tokens == 0) return {ScoredOutput{0, {}}};
    float* maxima = buffers.maxima.ensure(at((in.tokens + 1) * stride_));
    buffers.shifts.resize(at(in.tokens));
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
    std::vector<int> opened_at(at(in.tokens), 0);

    // Opens the k best labels of token t in front of partial path `next`; `to` is its transposed row.
    auto extend = [&](std::int64_t t, const float* to, double suffix, std::int64_t next) {
        candidates.clear();
        for (int label = 0; label < in.labels; ++label) {
            const float here = maxima[t * stride_ + label];
            if (here == -infinity || to[label] == -infinity) continue;
            const double after = suffix + to[label];
            candidates.push_back({here + buffers.shifts[at(t)] + after, after, t, label, next});
        }
        const auto kept = std::min(candidates.size(), at(k));
        std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(kept), candidates.end(),
                          [](const Partial& a, const Partial& b) { return b < a; });
        for (std::size_t c = 0; c < kept; ++c) open.push(candidates[c]);
    };
    extend(in.tokens - 1, in.transition + std::int64_t{in.labels + 1} * stride_, 0, -1);
    if (open.empty()) fail_infeasible(in, i, maxima);

    std::vector<float> emission(at(in.labels));
    std::vector<ScoredOutput> best;
    while (!open.empty() && best.size() < at(k)) {
        const Partial top = open.top();
        open.pop();
        if (++opened_at[at(top.token)] > k) continue;
        if (top.token == 0) {
            ScoredOutput found;
            found.output.push_back(top.label);
            for (std::int64_t place = top.next; place >= 0; place = opened[at(place)].next) {
                found.output.push_back(opened[at(place)].label);
            }
            found.score = objective(w, i, found.output, cost_weight);
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
            emitted += double{cost_weight} * token_weight(token) * cost_[at(in.truth[top.token]) * stride_ + top.label];
        }
        opened.push_back(top);
        extend(top.token - 1, chain_kernels().column_into(in, top.token, top.label), top.suffix + emitted,
               static_cast<std::int64_t>(opened.size()) - 1);
    }
    std::stable_sort(best.begin(), best.end(),
                     [](const ScoredOutput& a, const ScoredOutput& b) { return a.score > b.score; });
    return best;
}

void Chain::prefetch_example(std::int64_t i) const {
    const std::int64_t first = data_.sentences[i];
    prefetch(data_.truth.data() + first);
    const auto* from = reinterpret_cast<const char*>(data_.features.data() + data_.offsets[first]);
    const auto* to = reinterpret_cast<const char*>(data_.features.data() + data_.offsets[data_.sentences[i + 1]]);
    for (; from < to; from += 64) prefetch(from);
}

void Chain::prefetch_outline(std::int64_t i) const {
    const std::int64_t first = data_.sentences[i], last = data_.sentences[i + 1];
    for (std::int64_t t = first; t < last; t += 16) prefetch(data_.truth.data() + t);
    for (std::int64_t t = first; t < last; t += 8) prefetch(data_.offsets.data() + t);
}

void Chain::prefetch_parts(std::int64_t i, std::span<const Code> codes) const {
    for (Code code : codes) {
        const std::int64_t token = data_.sentences[i] + token_of(code);
        const std::int32_t* features = data_.features.data();
        prefetch(features + data_.offsets[token]);
        prefetch(features + data_.offsets[token + 1] - 1);
    }
}

void Chain::prefetch_decode(const float* w, std::int64_t i) const {
    const std::int64_t begin = data_.offsets[data_.sentences[i]];
    const std::int64_t end = std::min(begin + 40, data_.offsets[data_.sentences[i + 1]]);
    for (std::int64_t f = begin; f < end; ++f) {
        const float* row = w + std::int64_t{data_.features[f]} * stride_;
        for (int k = 0; k < data_.labels; k += 16) prefetch(row + k);
    }
}

void Chain::prefetch_cut(const float* w, std::int64_t i, std::span<const Code> codes) const {
    for (Code code : codes) {
        const std::int64_t token = data_.sentences[i] + token_of(code);
        const int truth = data_.truth[token], label = label_of(code);
        for (std::int64_t f = data_.offsets[token]; f < data_.offsets[token + 1]; ++f) {
            const float* row = w + std::int64_t{data_.features[f]} * stride_;
            prefetch(row + truth);
            prefetch(row + label);
        }
    }
}

}  // namespace dualstruct
