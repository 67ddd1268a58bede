#include "inference/graphs/propagation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/index.hpp"
#include "inference/graphs/semirings.hpp"

namespace dualstruct::graphs {

// The states of a factor's variables that go best with the state its parent has.
bool Propagation::choose(int f, std::span<std::int32_t> assignment) {
    const int first = graph_->first_link(f), end = graph_->end_link(f), parent = graph_->parent_link(f);
    const auto n = at(end - first);
    if (n == 1) return true;
    const auto parent_state = assignment[at(graph_->link(parent).variable)];
    if (graph_->kind(f) == Kind::table) {
        listen_all(f);
        const auto table = scores_of(f);
        double best = minus_infinity;
        std::size_t best_entry = 0;
        std::fill_n(digits_.begin(), n, 0);
        for (std::size_t entry = 0; entry < table.size(); ++entry) {
            if (digits_[at(parent - first)] == parent_state) {
                double total = table[entry];
                for (std::size_t k = 0; k < n; ++k) {
                    if (static_cast<int>(k) != parent - first) total += in_[at(first_in_[k] + digits_[k])];
                }
                if (total > best) {
                    best = total;
                    best_entry = entry;
                }
            }
            for (std::size_t k = n; k-- > 0;) {
                if (++digits_[k] < graph_->states(graph_->link(first + static_cast<int>(k)).variable)) break;
                digits_[k] = 0;
            }
        }
        if (best == minus_infinity) return false;
        for (int l = end; l-- > first;) {
            const auto states = at(graph_->states(graph_->link(l).variable));
            assignment[at(graph_->link(l).variable)] = static_cast<std::int32_t>(best_entry % states);
            best_entry /= states;
        }
        return true;
    }
    for (int l = first; l < end; ++l) switches_[at(l - first)] = heard<Largest>(l);
    const Literal& literal = graph_->link(parent);
    const bool parent_on = (parent_state == literal.state) != literal.negated;
    switches_[at(parent - first)] = parent_on ? Switch{0, minus_infinity} : Switch{minus_infinity, 0};
    if (graph_->kind(f) == Kind::other) {
        if (other_maximum(f, {on_.data(), n}) == minus_infinity || on_[at(parent - first)] != parent_on) return false;
    } else {
        if (count_paths<Largest>(f, {replies_.data(), n}) == minus_infinity) return false;
        // Along the best path: the literal is what the best rest of the way asks for.
        const bool or_out = graph_->kind(f) == Kind::or_out;
        const auto inputs = n - or_out;
        const auto width = backward_.size() / (inputs + 1);
        const bool saturates = or_out || graph_->most(f) >= static_cast<int>(inputs);
        std::size_t count = 0;
        for (std::size_t k = 0; k < inputs; ++k) {
            const double* after = backward_.data() + (k + 1) * width;
            const std::size_t above = count + 1 < width ? count + 1 : (saturates ? count : width);
            const double off = switches_[k].off + after[count];
            const double on = above < width ? switches_[k].on + after[above] : minus_infinity;
            on_[k] = on > off;
            if (on_[k]) count = above;
        }
        if (or_out) on_[inputs] = count > 0;
    }
    for (int l = first; l < end; ++l) {
        if (l == parent) continue;
        const Literal& child = graph_->link(l);
        std::int32_t& state = assignment[at(child.variable)];
        if ((on_[at(l - first)] != 0) != child.negated) {
            state = child.state;
            continue;
        }
        const auto states = at(graph_->states(child.variable));
        const std::span<double> message(out_.data(), states);
        listen(l, message);
        state = -1;
        for (std::size_t s = 0; s < states; ++s) {
            if (static_cast<std::int32_t>(s) == child.state || message[s] == minus_infinity) continue;
            if (state < 0 || message[s] > message[at(state)]) state = static_cast<std::int32_t>(s);
        }
        if (state < 0) return false;
    }
    return true;
}

bool Propagation::best(const Graph& graph, const Scores& scores, std::span<std::int32_t> assignment) {
    start(graph, scores);
    const auto order = graph.order();
    for (std::size_t k = order.size(); k-- > 0;) {
        if (!send<Largest>(order[k], graph.parent_link(order[k]), 0)) return false;
    }
    for (int v : graph.roots()) {
        const int first = graph.first_state(v);
        std::int32_t& state = assignment[at(v)];
        state = -1;
        for (int s = 0; s < graph.states(v); ++s) {
            if (impossible_[at(first + s)]) continue;
            if (state < 0 || belief_[at(first + s)] > belief_[at(first + state)]) state = s;
        }
        if (state < 0) return false;
    }
    // Messages towards the root are all that has been said: what a variable hears from elsewhere comes
    // from below it.
    for (int f : order) {
        if (!choose(f, assignment)) return false;
    }
    return true;
}

// log Σ over a factor's configurations with what its variables say; leaves its marginals in result_.
double Propagation::log_sum_factor(int f) {
    const int first = graph_->first_link(f), end = graph_->end_link(f);
    const auto n = at(end - first);
    const auto table = scores_of(f);
    double* marginals = result_.factors.data() + graph_->first_score(f);
    if (graph_->kind(f) == Kind::other) {
        for (int l = first; l < end; ++l) switches_[at(l - first)] = heard<LogSum>(l);
        return other_marginals(f, {slots_.data(), n}, {marginals, table.size()});
    }
    if (graph_->kind(f) != Kind::table) {
        for (int l = first; l < end; ++l) switches_[at(l - first)] = heard<LogSum>(l);
        return count_paths<LogSum>(f, {replies_.data(), n});
    }
    listen_all(f);
    totals_.resize(table.size());
    std::fill_n(digits_.begin(), n, 0);
    for (std::size_t entry = 0; entry < table.size(); ++entry) {
        double total = table[entry];
        for (std::size_t k = 0; k < n; ++k) total += in_[at(first_in_[k] + digits_[k])];
        totals_[entry] = total;
        for (std::size_t k = n; k-- > 0;) {
            if (++digits_[k] < graph_->states(graph_->link(first + static_cast<int>(k)).variable)) break;
            digits_[k] = 0;
        }
    }
    const double sum = LogSum::sum(table.size(), [&](std::size_t e) { return totals_[e]; });
    for (std::size_t e = 0; e < table.size(); ++e) {
        marginals[e] = sum == minus_infinity ? 0 : std::exp(totals_[e] - sum);
    }
    return sum;
}

const Marginals& Propagation::marginals(const Graph& graph, const Scores& scores, const PropagationOptions& options) {
    start(graph, scores);
    result_.feasible = true;
    result_.exact = graph.is_forest();
    result_.converged = false;
    result_.iterations = 0;
    result_.log_partition = minus_infinity;
    result_.variables.assign(at(graph.total_states()), 0.0);
    result_.factors.assign(at(graph.total_scores()), 0.0);
    const auto order = graph.order();
    const int sweeps = result_.exact ? 1 : std::max(1, options.max_iterations);
    while (!result_.converged && result_.iterations < sweeps) {
        ++result_.iterations;
        change_ = 0;
        const double damping = result_.exact || result_.iterations == 1 ? 0 : options.damping;
        for (std::size_t k = order.size(); k-- > 0;) {
            const int only = result_.exact ? graph.parent_link(order[k]) : -1;
            if (!send<LogSum>(order[k], only, damping)) result_.feasible = false;
            if (!result_.feasible) return result_;
        }
        for (int f : order) {
            if (!send<LogSum>(f, -1, damping)) result_.feasible = false;
            if (!result_.feasible) return result_;
        }
        sum_beliefs();
        result_.converged = result_.exact || change_ <= options.tolerance;
    }

    double total = 0;
    for (int v = 0; v < graph.variables(); ++v) {
        const int first = graph.first_state(v);
        const auto states = at(graph.states(v));
        const auto value = [&](std::size_t s) {
            return impossible_[at(first) + s] ? minus_infinity : belief_[at(first) + s];
        };
        const double sum = LogSum::sum(states, value);
        if (sum == minus_infinity) {
            result_.feasible = false;
            return result_;
        }
        for (std::size_t s = 0; s < states; ++s) result_.variables[at(first) + s] = std::exp(value(s) - sum);
        total += sum;
        for (std::int32_t l : graph.links_of(v)) {
            const int f = graph.factor_of(l);
            // Tables over one variable are part of what it says itself.
            if (graph.kind(f) == Kind::table && graph.score_count(f) == static_cast<int>(states) &&
                graph.end_link(f) - graph.first_link(f) == 1) {
                std::copy_n(result_.variables.begin() + first, states, result_.factors.begin() + graph.first_score(f));
            } else {
                total -= sum;  // Σ of what is said on a link, both ways, is the same as at the variable
            }
        }
    }
    for (int f = 0; f < graph.factors(); ++f) {
        if (graph.kind(f) == Kind::table && graph.end_link(f) - graph.first_link(f) == 1) continue;
        const double sum = log_sum_factor(f);
        if (sum == minus_infinity) {
            result_.feasible = false;
            return result_;
        }
        total += sum;
    }
    result_.log_partition = total;
    // Factors with decoders of their own say "impossible" by very small numbers: together they may leave
    // less than any single assignment weighs.
    if (result_.exact && total < least_score() - 1) {
        assignment_.resize(at(graph.variables()));
        result_.feasible = best(graph, scores, assignment_);
    }
    return result_;
}

// No allowed assignment scores less.
double Propagation::least_score() const {
    double total = 0;
    for (const auto& scores : {scores_.variables, scores_.factors}) {
        for (double score : scores) total += std::isfinite(score) ? std::min(0.0, score) : 0;
    }
    return total;
}

}  // namespace dualstruct::graphs
