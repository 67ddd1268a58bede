// The examples that a learner goes through: all of a structure, or those that a span of indices names, and how much
// each counts. Learners number them from 0 and keep what they know of each (cuts, steps) by that number; the structure
// is asked about examples[i].
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "structures/structure.hpp"

namespace dualstruct {

class Examples {
public:
    explicit Examples(const Structure& structure, std::optional<std::vector<std::int64_t>> chosen = {})
        : structure(structure), chosen_(std::move(chosen)) {}
    Examples(const Examples&) = delete;

    const Structure& structure;
    std::int64_t size() const { return chosen_ ? static_cast<std::int64_t>(chosen_->size()) : structure.size(); }
    std::int64_t operator[](std::int64_t i) const { return chosen_ ? (*chosen_)[at(i)] : i; }

    // The loss of example i has the weight C·weight(i): 1 unless set.
    double weight(std::int64_t i) const { return weights_.empty() ? 1 : weights_[at(i)]; }
    // One for each example, at least 0.
    void set_weights(std::vector<double> weights) { weights_ = std::move(weights); }

private:
    std::optional<std::vector<std::int64_t>> chosen_;  // none: all
    std::vector<double> weights_;
};

}  // namespace dualstruct
