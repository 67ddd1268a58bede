// Collins's perceptron (2002): w ← w + weight_i·δ_i(ŷ) whenever the prediction ŷ is not the truth.
#pragma once

#include "learning/online.hpp"

namespace dualstruct {

struct PerceptronStep : SingleStep, DecodingStep {
    double meet(ExampleStep& example) const {
        const double loss = example.find(0);
        if (!example.found.is_truth) example.w.add(example.i, example.found.codes, example.weight);
        return loss;
    }
};

}  // namespace dualstruct
