// Collins's perceptron (2002): w ← w + weight_i·δ_i(ŷ) whenever the prediction ŷ is not the truth.
#pragma once

#include "learning/online.hpp"

namespace dualstruct {

struct PerceptronStep : SingleStep {
    double meet(Meeting& meeting) const {
        const double loss = meeting.find(0);
        if (!meeting.found.is_truth) meeting.w.add(meeting.i, meeting.found.words, meeting.weight());
        return loss;
    }
};

}  // namespace dualstruct
