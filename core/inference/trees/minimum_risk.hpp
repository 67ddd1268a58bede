// The tree that has the most arcs right in expectation: the best one when the probabilities of arcs are their scores.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "base/index.hpp"
#include "inference/trees/decoder.hpp"

namespace dualstruct::trees {

// `scores` is scratch space that the caller keeps. Arcs of probability 0 stay out.
inline bool minimum_risk(TreeDecoder& decoder, const float* marginals, int words, bool single_root,
                         std::vector<float>& scores, std::int32_t* heads) {
    scores.assign(marginals, marginals + (at(words) + 1) * (at(words) + 1));
    std::replace_if(
        scores.begin(), scores.end(), [](float p) { return p <= 0; }, -std::numeric_limits<float>::infinity());
    return decoder.decode(scores.data(), words, single_root, heads);
}

}  // namespace dualstruct::trees
