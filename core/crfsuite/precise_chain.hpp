// A trained chain in double precision with sparse weights, for prediction alone.
//
// Models of other programs hold doubles. Sums are taken in the order in which those programs take
// them, and the first of equal labels wins, so that answers agree to the last digit; training has
// `Chain`, which is single precision and fast.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dualstruct {

// The attributes of the tokens of one sentence.
struct PreciseRows {
    std::span<const std::int64_t> offsets;     // [tokens + 1]
    std::span<const std::int32_t> attributes;
    std::span<const double> values;            // empty: all 1
};

// Throws unless the offsets fit the attributes, and these are of a model with so many.
void check_rows(const PreciseRows& rows, std::int64_t attributes);

struct PreciseSums {
    double log_partition = 0;       // log Σ_y exp score(y)
    std::vector<double> marginals;  // [tokens, labels]
    std::vector<double> pairs;      // [labels, labels]: Σ_t p(y_t−1 = j, y_t = k), if wanted
};

// emissions: [tokens, labels]; transitions: [labels, labels], from and to.
// The best labelling; what it needs room for is kept for the next sentence.
class PreciseDecoder {
public:
    // The answer is good until the next call.
    std::span<const std::int32_t> decode(std::span<const double> emissions, std::span<const double> transitions,
                                         int labels);

private:
    std::vector<double> best_;  // [tokens, labels]: of the labellings that end here
    std::vector<std::int32_t> path_;
};

PreciseSums precise_sum(std::span<const double> emissions, std::span<const double> transitions, int labels, bool pairs);
double precise_score(std::span<const double> emissions, std::span<const double> transitions, int labels,
                     std::span<const std::int32_t> output);

class PreciseChain {
public:
    // offsets: [attributes + 1] into targets and weights; transitions: [labels, labels], from and to.
    PreciseChain(int labels, std::span<const std::int64_t> offsets, std::span<const std::int32_t> targets,
                 std::span<const double> weights, std::span<const double> transitions);

    std::vector<double> emissions(const PreciseRows& rows) const;  // [tokens, labels]
    std::span<const double> transitions() const { return transitions_; }
    int labels() const { return labels_; }

private:
    std::int64_t attributes() const { return static_cast<std::int64_t>(offsets_.size()) - 1; }

    int labels_;
    std::vector<std::int64_t> offsets_;
    std::vector<std::int32_t> targets_;
    std::vector<double> weights_;
    std::vector<double> transitions_;  // [from, to]
};

}  // namespace dualstruct
