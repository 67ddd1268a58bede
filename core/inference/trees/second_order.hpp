// Inference with siblings and grandparents over pruned arcs: decoding exactly where trees are projective, by relaxation
// (AD3) where they are not; marginals by loopy belief propagation (Smith and Eisner 2008).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "inference/graphs/propagation.hpp"
#include "inference/graphs/relaxation.hpp"
#include "inference/trees/factors.hpp"
#include "inference/trees/second_order_eisner.hpp"
#include "inference/trees/second_order_parts.hpp"
#include "inference/trees/sibling_eisner.hpp"

namespace dualstruct::trees {

struct SecondOrderOptions {
    bool projective = true;
    bool single_root = true;
    bool grandparents = true;  // without them their scores must be 0
    bool relax = false;  // AD3 for projective trees, too
};

struct SecondOrderBest {
    bool found = false;  // false: the arcs left allow no tree
    bool exact = false;  // proven the best: by the algorithm, or because bound and score meet
    double score = 0, bound = 0;
    int iterations = 0;  // of AD3
};

struct SecondOrderMarginals {
    bool found = false, converged = false;
    int iterations = 0;
    double log_partition = 0;  // Bethe's estimate
    std::vector<double> arcs;  // [arcs]
    std::vector<double> extras;  // [extras]
};

// Objects keep their buffers: one per thread. Scores: of arcs and second-order parts as `parts` numbers them.
class SecondOrderDecoder {
public:
    // AD3 as it went fastest on parsers that were learned: large steps from the start.
    static graphs::RelaxationOptions relaxation() {
        graphs::RelaxationOptions options;
        options.rho = 2;
        options.bound_every = 5;
        return options;
    }
    SecondOrderBest decode(const SecondOrderParts& parts, std::span<const double> arcs, std::span<const double> extras,
                           const SecondOrderOptions& options, const graphs::RelaxationOptions& relaxation,
                           std::int32_t* heads);

private:
    SiblingEisner siblings_;
    SecondOrderEisner exact_;
    graphs::Relaxation relaxation_;
    std::vector<HeadAutomaton> automata_;
    std::vector<graphs::Relaxation::Link> links_;
    std::vector<double> extras_;
};

SecondOrderMarginals second_order_marginals(const SecondOrderParts& parts, std::span<const double> arcs,
                                            std::span<const double> extras, const SecondOrderOptions& options,
                                            const graphs::PropagationOptions& propagation);

}  // namespace dualstruct::trees
