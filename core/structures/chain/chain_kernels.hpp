// The inner loops of chains, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace dualstruct {

// One sentence as the kernels see it.
struct ChainInput {
    std::int64_t tokens;
    int labels;
    int stride;                    // floats from one row of labels to the next
    const std::int64_t* offsets;   // [tokens + 1] into features and values
    const std::int32_t* features;
    const float* values;           // null: all 1
    const float* emission;         // [features, stride]
    const float* transition;       // [labels + 2, stride]: from a label, start, end; −∞ where forbidden
    const float* transposed;       // [labels, stride]: to a label
    const float* cost;             // [labels, stride]: of the truth, of the label
    const std::int32_t* truth;     // [tokens], read only when cost_weight is not 0
    const float* token_weights;    // [tokens]: what the cost is multiplied by; null: all 1
    float cost_weight;
    const std::int64_t* allowed_offsets;  // [tokens + 1] into allowed; null: no restriction
    const std::int32_t* allowed;          // an empty range allows every label
    const std::int64_t* pair_offsets;     // [tokens + 1] into pair_features; null: there are none
    const std::int32_t* pair_features;
    const float* pair_values;             // null: all 1
    const float* pair;                    // [pair features, labels, stride]: added to transition
    float* step;                          // [labels, stride] and
    float* step_transposed;               // [labels, stride]: room for the transitions into one token
};

// The sums over all labellings of one sentence in the probability domain. Rows of labels have
// `stride` floats. Transitions come exponentiated, their largest being 1 (see exponentiate).
struct ChainSums {
    float scale;
    const float* transition;   // [labels + 2, stride]: exp scale·(transition − shift), 0 where forbidden
    const float* transposed;   // [labels, stride]
    double shift, start_shift, end_shift;
    float* emissions;          // [tokens, stride]
    float* forward;            // [tokens, stride]
    float* marginals;          // [tokens, stride]: p(y_t = k), padding 0
    float* pairs;              // [labels, stride]: Σ_t p(y_t−1 = j, y_t = k), padding 0
    float* inverse;            // [tokens]
    float* steps;              // [tokens, labels, stride]: p(y_t−1 = j, y_t = k), padding 0; null: no pair features
};

struct ChainKernels {
    // maxima[t][k]: the best score of labels 0 … t that end in k, less shifts[t].
    // Shifts keep float32 exact on long sentences; a null pointer forgets them.
    void (*max_forward)(const ChainInput&, float* maxima, double* shifts);

    // The transitions into token t > 0 [labels, stride], pair features included; and those into its label
    // k [stride]. What they return is good until the next call.
    const float* (*transitions_into)(const ChainInput&, std::int64_t t);
    const float* (*column_into)(const ChainInput&, std::int64_t t, int k);

    // The labels of the best path, by recomputing the argmax along it; false when there is none.
    bool (*backtrace)(const ChainInput&, const float* maxima, std::int32_t* path);

    // With s(y) = scale·(score + cost_weight·cost): the logarithms, up to a constant a token,
    // of the sums over all labellings before (forward, emission t included) and after (backward,
    // emission t excluded) token t. Returns log Σ_y exp s(y), −∞ when there is no labelling.
    double (*log_forward_backward)(const ChainInput&, float scale, float* emissions, float* forward, float* backward);

    // pairs[j][k] ∝ exp(before[j] + scale·transition[j][k] + after[k]), summing to 1.
    void (*pair_marginals)(const ChainInput&, float scale, const float* before, const float* after, float* pairs);

    // out[k] ∝ exp(a[k] + b[k]), summing to 1.
    void (*label_marginals)(const ChainInput&, const float* a, const float* b, float* out);

    // out[r][k] = exp(scale·(rows[r][k] − shift)) where shift, returned, is the largest entry.
    float (*exponentiate)(const ChainInput&, float scale, const float* rows, int count, float* out);

    // Marginals and log Σ_y exp s(y) as above, but by products of float32 numbers: several times
    // as fast. NaN when they underflow (or no labelling exists); then logarithms have to do it.
    double (*forward_backward)(const ChainInput&, const ChainSums&);

    // target[feature] += step·value·(truth − marginals) of every token's features, where the truth is 1
    // at its label.
    void (*add_difference)(const ChainInput&, const std::int32_t* truth, const float* marginals, float step,
                           float* target);
};

const ChainKernels& chain_kernels();

}  // namespace dualstruct
