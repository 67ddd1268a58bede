// A factor graph without its scores: variables with any number of states, tables over them, and hard
// factors over literals ("variable v is in state s", or is not). Scores come with each question, so that
// one graph serves all examples of its shape.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "inference/graphs/factor.hpp"

namespace dualstruct::graphs {

struct Literal {
    std::int32_t variable;
    std::int32_t state;
    bool negated = false;  // on when the variable is in any other state
};

enum class Kind : std::uint8_t { table, count, or_out, other };

// A dense table over variables, as a factor over slots: its configuration is a state for each variable, its
// extra scores are the table, the last variable's state running fastest. A variable with two states has one
// slot (on in state 1), any other one for each state.
class TableFactor final : public Factor {
public:
    explicit TableFactor(std::vector<std::int32_t> shape);
    static int slots_of(int states) { return states == 2 ? 1 : states; }

    int configuration_size() const override { return static_cast<int>(shape_.size()); }
    double maximise(std::span<const double> slots, std::span<const double> extra,
                    std::span<std::int32_t> configuration) const override;
    double slot_score(std::span<const std::int32_t> configuration, std::span<const double> slots) const override;
    double extra_score(std::span<const std::int32_t> configuration, std::span<const double> extra) const override;
    void add_counts(std::span<const std::int32_t> configuration, double weight, std::span<double> slots) const override;
    int common(std::span<const std::int32_t> a, std::span<const std::int32_t> b) const override;
    bool read(std::span<const std::uint8_t> on, std::span<std::int32_t> configuration) const override;
    const std::vector<std::int32_t>& shape() const { return shape_; }

private:
    // The slot of a state, or −1 for the state that has none.
    int slot(std::size_t variable, std::int32_t state) const {
        return shape_[variable] == 2 ? (state == 1 ? first_[variable] : -1) : first_[variable] + state;
    }
    std::vector<std::int32_t> shape_, first_;
};

class Graph {
public:
    int add_variable(int states);
    int add_table(std::span<const std::int32_t> variables);
    // At least `least`, at most `most` literals are on.
    int add_count(std::span<const Literal> literals, int least, int most);
    // The last literal is on exactly when one of the others is.
    int add_or_out(std::span<const Literal> literals);
    int add_factor(std::shared_ptr<const Factor> factor, std::span<const Literal> literals, int extras);
    // Call once, after the last factor and before any question.
    void finish();

    int variables() const { return static_cast<int>(states_.size()); }
    int factors() const { return static_cast<int>(kinds_.size()); }
    int states(int v) const { return states_[index(v)]; }
    // Where a variable's states begin among those of all.
    int first_state(int v) const { return first_state_[index(v)]; }
    int total_states() const { return first_state_.back(); }

    Kind kind(int f) const { return kinds_[index(f)]; }
    int least(int f) const { return least_[index(f)]; }
    int most(int f) const { return most_[index(f)]; }
    const Factor& other(int f) const { return *others_[index(f)]; }
    // Where the scores of a factor, its table or its extra scores, begin among those of all.
    int first_score(int f) const { return first_score_[index(f)]; }
    int score_count(int f) const { return first_score_[index(f) + 1] - first_score_[index(f)]; }
    int total_scores() const { return first_score_.back(); }

    // A factor's links to its variables; a table's have no state.
    int first_link(int f) const { return first_link_[index(f)]; }
    int end_link(int f) const { return first_link_[index(f) + 1]; }
    int total_links() const { return static_cast<int>(links_.size()); }
    const Literal& link(int l) const { return links_[index(l)]; }
    int factor_of(int l) const { return factor_of_[index(l)]; }
    std::span<const std::int32_t> links_of(int v) const {
        return std::span(variable_links_)
            .subspan(index(first_variable_link_[index(v)]),
                     index(first_variable_link_[index(v) + 1] - first_variable_link_[index(v)]));
    }

    // No two ways lead from one variable to another.
    bool is_forest() const { return is_forest_; }
    // Factors in the order in which a search from one variable of each component meets them, and the link
    // through which each is met.
    std::span<const std::int32_t> order() const { return order_; }
    int parent_link(int f) const { return parent_link_[index(f)]; }
    std::span<const std::int32_t> roots() const { return roots_; }

    // The entry of a table for an assignment of all variables.
    int table_entry(int f, std::span<const std::int32_t> assignment) const {
        int entry = 0;
        for (int l = first_link(f); l < end_link(f); ++l) {
            entry = entry * states(link(l).variable) + assignment[index(link(l).variable)];
        }
        return entry;
    }
    // Whether a hard factor, or a factor of the user's, allows an assignment; its extra score is added.
    bool allows(int f, std::span<const std::int32_t> assignment, std::span<const double> extra, double& score) const;

private:
    static std::size_t index(int k) { return at(k); }
    int add(Kind kind, std::span<const Literal> literals, int least, int most, int scores,
            std::shared_ptr<const Factor> other);

    std::vector<std::int32_t> states_, first_state_ = {0};
    std::vector<Kind> kinds_;
    std::vector<std::int32_t> least_, most_, first_score_ = {0}, first_link_ = {0};
    std::vector<std::shared_ptr<const Factor>> others_;
    std::vector<Literal> links_;
    std::vector<std::int32_t> factor_of_, first_variable_link_, variable_links_;
    std::vector<std::int32_t> order_, parent_link_, roots_;
    bool is_forest_ = true;
};

// The scores of one question: of every variable's states and of every factor's table or extras. −∞ forbids.
struct Scores {
    std::span<const double> variables;  // [total_states]
    std::span<const double> factors;    // [total_scores]
};

// −∞ when a factor forbids the assignment.
double score(const Graph& graph, const Scores& scores, std::span<const std::int32_t> assignment);

}  // namespace dualstruct::graphs
