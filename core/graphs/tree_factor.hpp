// TREE: the arcs that are on form a dependency tree. Its slots are arcs between the words of a sentence; which
// arcs there are is up to the caller (pruned ones are simply not listed).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graphs/factor.hpp"

namespace dualstruct::graphs {

struct Arc {
    std::int32_t head, modifier;  // head 0 is the root; words are 1 … n
};

// A configuration is the heads of the root (−1) and of every word.
class TreeFactor final : public Factor {
public:
    TreeFactor(int words, std::span<const Arc> arcs, bool projective, bool single_root);

    int configuration_size() const override { return words_ + 1; }
    double maximise(std::span<const double> slots, std::span<const double> extra,
                    std::span<std::int32_t> configuration) const override;
    double slot_score(std::span<const std::int32_t> configuration, std::span<const double> slots) const override;
    void add_counts(std::span<const std::int32_t> configuration, double weight,
                    std::span<double> slots) const override;
    int common(std::span<const std::int32_t> a, std::span<const std::int32_t> b) const override;
    bool read(std::span<const std::uint8_t> on, std::span<std::int32_t> configuration) const override;
    double marginals(std::span<const double> slots, std::span<const double> extra, std::span<double> result,
                     std::span<double> extra_result) const override;

private:
    std::size_t cell(int head, int modifier) const {
        return static_cast<std::size_t>(head) * static_cast<std::size_t>(words_ + 1) +
               static_cast<std::size_t>(modifier);
    }
    int slot(int head, int modifier) const { return slot_of_[cell(head, modifier)]; }
    const float* fill(std::span<const double> slots) const;

    int words_;
    bool projective_, single_root_;
    std::vector<Arc> arcs_;
    std::vector<std::int32_t> slot_of_;  // [words + 1, words + 1]; −1: no such arc
};

}  // namespace dualstruct::graphs
