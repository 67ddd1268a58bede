// The passes that drive every dual solver.
//
//   visit    decode an example, admit the output found as a cut, apply the rule
//   revisit  apply the rule to the cuts already held; no inference
//
// A Rule moves one example's dual variables. It is a template argument: the structure is
// reached by one virtual call per example and cut, the rule is inlined. The loops are in pass_loops.hpp,
// and every rule's .cpp instantiates them for itself.
#pragma once

#include <cstdint>
#include <functional>

namespace dualstruct {

class DualState;

struct PassReport {
    std::int64_t inferences = 0;
    std::int64_t added = 0;
    double largest_violation = 0;  // of what the rule returned: how far from optimal duals were
    double loss = 0;               // visit: Σ of weight·(the rule's loss) as each example was met
    std::int64_t beaten = 0;       // inferences whose output a cut held by then violates more than
    std::int64_t moves = 0;        // learners without cuts: examples that moved w
};

// Asked before every example; true stops the pass there, with (α, w) consistent.
using Interrupt = std::function<bool()>;

// A Rule has
//   loss(violation)                        what an example's largest violation costs
//   admits(example, violation, admission)  whether the output with this violation is worth a cut
//   opens()                                whether update opens examples
//   update(example)                        moves the example's duals; returns how far from optimal they were
template <class Rule>
struct Passes {
    static PassReport visit(DualState& state, const Rule& rule, double admission, std::uint64_t seed, int threads,
                            const Interrupt& interrupt);
    // So many sweeps; all but the first go only through those examples that violated more than the mean in the one
    // before.
    static PassReport revisit(DualState& state, const Rule& rule, std::uint64_t seed, int sweeps,
                              const Interrupt& interrupt);
};

// A visit with a rule that leaves w alone.
template <class Rule>
struct Gathering {
    static PassReport gather(DualState& state, const Rule& rule, double admission, std::uint64_t seed, int threads,
                             const Interrupt& interrupt);
};

}  // namespace dualstruct
