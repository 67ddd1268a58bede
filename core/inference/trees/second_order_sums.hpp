// Sums over projective trees with consecutive siblings and grandparents: the chart of second_order_chart.hpp forwards,
// and back through it for the marginals.
//
// Numbers are doubles, with the largest score of a word's arcs taken away from all of them: every tree has one arc into
// each word. Where that does not keep them within what doubles hold, the same is done with scaled numbers.
#pragma once

#include <span>
#include <vector>

#include "inference/trees/scaled.hpp"
#include "inference/trees/second_order_chart.hpp"

namespace dualstruct::trees {

class SecondOrderSums {
public:
    // log Σ over trees of exp(score), and the probability of each arc and second-order part; false when the arcs left
    // allow no tree.
    bool marginals(const SecondOrderParts& parts, std::span<const double> arcs, std::span<const double> extras,
                   bool single_root, std::vector<double>& arc_marginals, std::vector<double>& extra_marginals,
                   double& log_partition);

private:
    template <class Number>
    struct Buffers {
        std::vector<Number> arcs, extras;  // exp of the scores
        std::vector<Number> inside, outside;  // [cells]
        std::vector<Number> arc_mass, extra_mass;  // marginals times the total
    };
    template <class Number>
    struct Inside;
    template <class Number>
    struct Outside;
    // False where the numbers are out of bounds; the total is 0 when there is no tree.
    template <class Number>
    bool run(Buffers<Number>& buffers, std::span<const double> arcs, std::span<const double> extras, bool single_root,
             std::vector<double>& arc_marginals, std::vector<double>& extra_marginals, double& log_total);

    SecondOrderChart chart_;
    std::vector<double> shifted_;
    Buffers<double> plain_;
    Buffers<Scaled> scaled_;
};

}  // namespace dualstruct::trees
