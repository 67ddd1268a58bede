// What a factor over binary slots has to offer to inference: a decoder for itself and the counts
// of what it decoded. Trees, head automata, dense tables and users' own constraints are factors.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>

namespace dualstruct::graphs {

inline constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// A slot is a 0/1 quantity: a binary variable, or one state of a larger variable. A factor numbers
// its own slots 0, 1, …; a configuration is one way of switching them, in the factor's own terms
// (a head for each word, a state for each variable), always configuration_size() numbers. Besides the scores
// of its slots a factor may have extra scores (of siblings, of table entries), as many as it likes.
//
// All functions may be called from several threads at once: keep buffers thread_local. They are
// called in inner loops: no allocation, no locks.
class Factor {
public:
    virtual ~Factor() = default;

    virtual int configuration_size() const = 0;

    // The configuration with the largest Σ (scores of slots that are on) + extra score, and that sum.
    // Scores are finite. Returns −∞ when no configuration is allowed at all.
    virtual double maximise(std::span<const double> slots, std::span<const double> extra,
                            std::span<std::int32_t> configuration) const = 0;

    // Σ slots[k] over the slots that the configuration switches on.
    virtual double slot_score(std::span<const std::int32_t> configuration, std::span<const double> slots) const = 0;
    virtual double extra_score(std::span<const std::int32_t>, std::span<const double>) const { return 0; }

    // Whether extra_score knows of more than the extra scores that it is given: then nothing is concluded from
    // their size.
    virtual bool has_hidden_scores() const { return false; }

    // slots[k] += weight where the configuration switches k on.
    virtual void add_counts(std::span<const std::int32_t> configuration, double weight,
                            std::span<double> slots) const = 0;

    // How many slots both configurations switch on.
    virtual int common(std::span<const std::int32_t> a, std::span<const std::int32_t> b) const = 0;

    // The configuration that switches on exactly these slots; false when there is none that is allowed.
    virtual bool read(std::span<const std::uint8_t> on, std::span<std::int32_t> configuration) const = 0;

    // With p(configuration) ∝ exp(its score): p(slot is on) for every slot, p(extra is used) for every extra
    // score, and log Σ exp. Only sum-product needs it.
    virtual double marginals(std::span<const double>, std::span<const double>, std::span<double>,
                             std::span<double>) const {
        throw std::logic_error("this factor has no marginals");
    }
};

}  // namespace dualstruct::graphs
