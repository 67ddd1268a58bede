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
    float cost_weight;
    const std::int64_t* allowed_offsets;  // [tokens + 1] into allowed; null: no restriction
    const std::int32_t* allowed;          // an empty range allows every label
};

struct ChainKernels {
    // maxima[t][k]: the best score of labels 0 … t that end in k, less shifts[t].
    // Shifts keep float32 exact on long sentences; a null pointer forgets them.
    void (*max_forward)(const ChainInput&, float* maxima, double* shifts);

    // The labels of the best path, by recomputing the argmax along it; false when there is none.
    bool (*backtrace)(const ChainInput&, const float* maxima, std::int32_t* path);

    // With s(y) = scale·(score + cost_weight·cost): the logarithms, up to a constant a token,
    // of the sums over all labellings before (forward, emission t included) and after (backward,
    // emission t excluded) token t. Returns log Σ_y exp s(y), −∞ when there is no labelling.
    double (*log_forward_backward)(const ChainInput&, float scale, float* emissions, float* forward,
                                   float* backward);

    // pairs[j][k] ∝ exp(before[j] + scale·transition[j][k] + after[k]), summing to 1.
    void (*pair_marginals)(const ChainInput&, float scale, const float* before, const float* after,
                           float* pairs);

    // out[k] ∝ exp(a[k] + b[k]), summing to 1.
    void (*label_marginals)(const ChainInput&, const float* a, const float* b, float* out);
};

}  // namespace dualstruct
