// Trees as factors of a graph whose slots are arcs: one TREE factor over all of them, and for each head an automaton
// over the arcs that enter and leave it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "inference/graphs/factor.hpp"
#include "inference/trees/second_order_parts.hpp"

namespace dualstruct::trees {

// Whether heads[0 … n] is a tree of the kind that is asked for.
bool is_tree(std::span<const std::int32_t> heads, bool projective, bool single_root);

// The arcs that are on form a tree. A configuration is the head of each word.
class TreeFactor final : public graphs::Factor {
public:
    TreeFactor(std::shared_ptr<const ArcList> arcs, bool projective, bool single_root)
        : arcs_(std::move(arcs)), projective_(projective), single_root_(single_root) {}
    // The arcs must stay as they are while the factor is used.
    TreeFactor(const ArcList& arcs, bool projective, bool single_root)
        : TreeFactor(std::shared_ptr<const ArcList>(std::shared_ptr<const ArcList>(), &arcs), projective, single_root) {
    }

    int configuration_size() const override { return arcs_->words() + 1; }
    double maximise(std::span<const double> slots, std::span<const double> extra,
                    std::span<std::int32_t> configuration) const override;
    double slot_score(std::span<const std::int32_t> configuration, std::span<const double> slots) const override;
    void add_counts(std::span<const std::int32_t> configuration, double weight, std::span<double> slots) const override;
    int common(std::span<const std::int32_t> a, std::span<const std::int32_t> b) const override;
    bool read(std::span<const std::uint8_t> on, std::span<std::int32_t> configuration) const override;
    double marginals(std::span<const double> slots, std::span<const double> extra, std::span<double> on,
                     std::span<double> extra_used) const override;

private:
    std::size_t slot(std::span<const std::int32_t> heads, int m) const { return at(arcs_->arc(heads[at(m)], m)); }

    std::shared_ptr<const ArcList> arcs_;
    bool projective_, single_root_;
};

// One head with its own head and its modifiers on both sides: consecutive siblings, and grandparents. Slots: the arcs
// that enter it (exactly one is on; none for the root), then those that leave it. Extra scores: as SecondOrderParts
// lays out those of a head. A configuration is the place of the entering arc and 0 or 1 for each leaving arc.
class HeadAutomaton final : public graphs::Factor {
public:
    HeadAutomaton() = default;
    explicit HeadAutomaton(const SecondOrderParts::Head& head) : in_(head.in), left_(head.left), right_(head.right) {}

    int configuration_size() const override { return 1 + left_ + right_; }
    double maximise(std::span<const double> slots, std::span<const double> extra,
                    std::span<std::int32_t> configuration) const override;
    double slot_score(std::span<const std::int32_t> configuration, std::span<const double> slots) const override;
    double extra_score(std::span<const std::int32_t> configuration, std::span<const double> extra) const override;
    void add_counts(std::span<const std::int32_t> configuration, double weight, std::span<double> slots) const override;
    int common(std::span<const std::int32_t> a, std::span<const std::int32_t> b) const override;
    bool read(std::span<const std::uint8_t> on, std::span<std::int32_t> configuration) const override;
    double marginals(std::span<const double> slots, std::span<const double> extra, std::span<double> on,
                     std::span<double> extra_used) const override;

private:
    struct Side {
        int count, first;      // modifiers; the first among all that leave
        std::size_t steps;     // where its steps begin among the extra scores
    };
    Side side(int right) const {
        return right ? Side{right_, left_, at(SecondOrderParts::steps(left_))} : Side{left_, 0, 0};
    }
    std::size_t first_grandparent() const {
        return at(SecondOrderParts::steps(left_) + SecondOrderParts::steps(right_));
    }
    int choices() const { return in_ > 0 ? in_ : 1; }  // of the entering arc; the root has one, of no arc

    int in_ = 0, left_ = 0, right_ = 0;
};

}  // namespace dualstruct::trees
