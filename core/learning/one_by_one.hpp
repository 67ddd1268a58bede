// Schedules that turn to the next example only when something is solved: slow, and as their papers print them.
#pragma once

#include <cstdint>

#include "learning/dual_state.hpp"
#include "learning/passes.hpp"
#include "learning/rules/smo.hpp"

namespace dualstruct {

// Algorithm 1 of Balamurugan et al. 2011: every example is decoded and optimised again until ψ_i ≤ τ, the rule's
// decoded tolerance.
PassReport settle_each(DualState& state, const SMORule& rule, std::uint64_t seed, const Interrupt& interrupt);

// Algorithm 1 of Tsochantaridis et al. 2005: where an example's output violates by more than ε over what its cuts do,
// it becomes a cut, and the dual over all cuts of all examples is optimised, to the rule's tolerance, before the next
// example is decoded.
PassReport optimise_after_each(DualState& state, const SMORule& rule, double epsilon, std::uint64_t seed,
                               const Interrupt& interrupt);

}  // namespace dualstruct
