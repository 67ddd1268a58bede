// Belief propagation in the log domain: max-product on forests (exact), sum-product on any graph (exact on
// forests, damped and repeated until it stands still elsewhere).
//
// A message from a factor to a variable has a number for each state, the largest of them 0; −∞ stands for
// "impossible" and is carried exactly. Hard factors speak of literals: on or off.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "inference/graphs/graph.hpp"

namespace dualstruct::graphs {

struct PropagationOptions {
    int max_iterations = 200;  // double sweeps over all factors, where the graph has loops
    double damping = 0.3;      // how much of the old message stays, where the graph has loops
    double tolerance = 1e-6;   // the largest change of a belief at which messages stand still
};

struct Marginals {
    bool feasible = true;
    bool exact = false;      // the graph is a forest
    bool converged = false;  // messages stand still
    int iterations = 0;
    double log_partition = 0;       // Bethe's estimate where it is not exact
    std::vector<double> variables;  // [total_states]: p(v is in state s)
    std::vector<double> factors;    // [total_scores]: p(table entry), p(extra is used)
};

class Propagation {
public:
    // Max-product on a forest; false when no assignment is allowed.
    bool best(const Graph& graph, const Scores& scores, std::span<std::int32_t> assignment);
    const Marginals& marginals(const Graph& graph, const Scores& scores, const PropagationOptions& options);

private:
    struct Switch {
        double on, off;
    };

    void start(const Graph& graph, const Scores& scores);
    void sum_beliefs();
    template <class Semiring>
    Switch heard(int link) const;
    void listen(int link, std::span<double> message) const;
    void speak(int link, std::span<const double> message, double damping);
    void speak_switch(int link, Switch message, double damping);
    template <class Semiring>
    bool send(int f, int only_link, double damping);
    template <class Semiring>
    void send_table(int f, int only_link, double damping);
    template <class Semiring>
    double count_paths(int f, std::span<Switch> out);
    void listen_all(int f);
    bool choose(int f, std::span<std::int32_t> assignment);
    double other_maximum(int f, std::span<std::uint8_t> on);
    double other_marginals(int f, std::span<double> slots, std::span<double> extra);
    double log_sum_factor(int f);
    double least_score() const;
    std::span<const double> scores_of(int f) const {
        return scores_.factors.subspan(at(graph_->first_score(f)), at(graph_->score_count(f)));
    }

    const Graph* graph_ = nullptr;
    Scores scores_;
    std::vector<double> unary_;                  // [total_states]: scores of variables and of tables over one
    std::vector<std::int32_t> first_message_;    // [links + 1]
    std::vector<double> messages_;               // factor to variable
    // Σ of the finite messages and of unary_, and how many are −∞: a message can be taken out again.
    std::vector<double> belief_;
    std::vector<std::int32_t> impossible_;
    // Of the factor at work.
    std::vector<double> in_, out_, totals_, forward_, backward_, odds_, slots_, extra_;
    std::vector<std::int32_t> first_in_, digits_, configuration_, assignment_;
    std::vector<Switch> switches_, replies_;
    std::vector<std::uint8_t> on_;
    double change_ = 0;  // the largest of a message since it was reset
    Marginals result_;
};

}  // namespace dualstruct::graphs
