// The best assignment, the k best and the marginals of a factor graph, by the method that fits it: message
// passing where the graph is a forest, the relaxation elsewhere. Every answer says whether it is exact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inference/graphs/graph.hpp"
#include "inference/graphs/propagation.hpp"
#include "inference/graphs/relaxation.hpp"

namespace dualstruct::graphs {

struct Best {
    Status status = Status::unknown;
    std::vector<std::int32_t> assignment;
    double score = minus_infinity;
    double bound = minus_infinity;  // no assignment scores more
    bool exact = false;             // proven the best: a forest, or bound = score
    int iterations = 0;             // of AD3
    int nodes = 0;                  // of branch and bound
};

struct Scored {
    double score;
    std::vector<std::int32_t> assignment;
};

// Buffers and methods of one thread.
class Inference {
public:
    const Best& best(const Graph& graph, const Scores& scores, const RelaxationOptions& options);
    const Marginals& marginals(const Graph& graph, const Scores& scores, const PropagationOptions& options) {
        return propagation_.marginals(graph, scores, options);
    }
    // Of a forest: best first, fewer when fewer are allowed.
    std::vector<Scored> k_best(const Graph& graph, const Scores& scores, int k);

private:
    void relax(const Graph& graph, const Scores& scores, const RelaxationOptions& options);
    Relaxation::Link link_of(const Graph& graph, const Literal& literal) const;

    Propagation propagation_;
    Relaxation relaxation_;
    Best best_;
    std::vector<std::int32_t> first_slot_;
    std::vector<double> unary_;
    std::vector<Relaxation::Link> links_;
    std::vector<std::uint8_t> chosen_from_;  // [variables]: a table sees to it that one state is on
};

// The first factor that leaves no assignment together with those before it; −1 when the scores of the
// variables alone do. Only for messages: it asks many times.
int first_contradiction(const Graph& graph, const Scores& scores);

}  // namespace dualstruct::graphs
