#include "inference/graphs/inference.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

#include "base/index.hpp"

namespace dualstruct::graphs {

namespace {}  // namespace

Relaxation::Link Inference::link_of(const Graph& graph, const Literal& literal) const {
    const std::int32_t first = first_slot_[at(literal.variable)];
    if (graph.states(literal.variable) == 2) return (literal.state == 1) != literal.negated ? first : ~first;
    return literal.negated ? ~(first + literal.state) : first + literal.state;
}

// The graph over slots: one for a variable with two states, else one for each state.
void Inference::relax(const Graph& graph, const Scores& scores, const RelaxationOptions& options) {
    relaxation_.clear();
    unary_.assign(scores.variables.begin(), scores.variables.end());
    chosen_from_.assign(at(graph.variables()), 0);
    for (int f = 0; f < graph.factors(); ++f) {
        if (graph.kind(f) != Kind::table) continue;
        const int l = graph.first_link(f);
        if (graph.end_link(f) - l == 1) {
            const int first = graph.first_state(graph.link(l).variable);
            for (int s = 0; s < graph.score_count(f); ++s) {
                unary_[at(first + s)] += scores.factors[at(graph.first_score(f) + s)];
            }
        } else if (graph.end_link(f) - l == 2) {
            // Two binary variables: the parts of the table that one of them explains go to it.
            const auto a = graph.link(l).variable, b = graph.link(l + 1).variable;
            const double* table = scores.factors.data() + graph.first_score(f);
            if (graph.states(a) == 2 && graph.states(b) == 2 && std::isfinite(table[0]) && std::isfinite(table[1]) &&
                std::isfinite(table[2]) && std::isfinite(table[3])) {
                unary_[at(graph.first_state(a))] += table[0];
                unary_[at(graph.first_state(a)) + 1] += table[2];
                unary_[at(graph.first_state(b)) + 1] += table[1] - table[0];
            }
        }
    }
    first_slot_.resize(at(graph.variables()));
    double constant = 0;
    bool impossible = false, many = false;
    for (int v = 0; v < graph.variables(); ++v) {
        const double* score = unary_.data() + graph.first_state(v);
        const int states = graph.states(v);
        if (states == 2) {
            const bool off = score[0] > minus_infinity, on = score[1] > minus_infinity;
            impossible = impossible || (!off && !on);
            const int slot = relaxation_.add_slot(off && on ? score[1] - score[0] : 0);
            first_slot_[at(v)] = slot;
            if (!off || !on) relaxation_.fix(slot, on);
            constant += off ? score[0] : score[1];
            continue;
        }
        many = true;
        int possible = 0;
        for (int s = 0; s < states; ++s) {
            const bool allowed = score[s] > minus_infinity;
            const int slot = relaxation_.add_slot(allowed ? score[s] : 0);
            if (s == 0) first_slot_[at(v)] = slot;
            if (!allowed) relaxation_.fix(slot, false);
            possible += allowed;
        }
        impossible = impossible || possible == 0;
    }
    if (impossible) {
        best_.status = Status::infeasible;
        return;
    }
    for (int f = 0; f < graph.factors(); ++f) {
        const int first = graph.first_link(f), end = graph.end_link(f);
        const auto extra = scores.factors.subspan(at(graph.first_score(f)), at(graph.score_count(f)));
        links_.clear();
        if (graph.kind(f) == Kind::table) {
            if (end - first == 1) continue;
            const auto a = graph.link(first).variable, b = graph.link(first + 1).variable;
            if (end - first == 2 && graph.states(a) == 2 && graph.states(b) == 2 &&
                std::ranges::all_of(extra, [](double score) { return std::isfinite(score); })) {
                relaxation_.add_pair(first_slot_[at(a)], first_slot_[at(b)],
                                     (extra[3] - extra[2]) - (extra[1] - extra[0]));
                continue;
            }
            for (int l = first; l < end; ++l) {
                const int v = graph.link(l).variable;
                chosen_from_[at(v)] = 1;
                for (int s = 0; s < TableFactor::slots_of(graph.states(v)); ++s) {
                    links_.push_back(first_slot_[at(v)] + s);
                }
            }
            relaxation_.add_factor(graph.other(f), links_, extra);
            continue;
        }
        for (int l = first; l < end; ++l) links_.push_back(link_of(graph, graph.link(l)));
        if (graph.kind(f) == Kind::count) {
            relaxation_.add_count(links_, graph.least(f), graph.most(f));
        } else if (graph.kind(f) == Kind::or_out) {
            relaxation_.add_or_out(links_);
        } else {
            relaxation_.add_factor(graph.other(f), links_, extra);
        }
    }
    for (int v = 0; v < graph.variables(); ++v) {
        if (graph.states(v) == 2 || chosen_from_[at(v)]) continue;
        links_.clear();
        for (int s = 0; s < graph.states(v); ++s) links_.push_back(first_slot_[at(v)] + s);
        relaxation_.add_count(links_, 1, 1);
    }
    const auto state_of = [&](int v, auto value) {
        const auto slot = at(first_slot_[at(v)]);
        const int states = graph.states(v);
        if (states == 2) return value(slot) > 0.5 ? 1 : 0;
        int best = 0;
        for (int s = 1; s < states; ++s) {
            if (value(slot + at(s)) > value(slot + at(best))) best = s;
        }
        return best;
    };
    if (many) {
        relaxation_.set_rounding([&](std::span<const double> u, std::span<std::uint8_t> slots) {
            for (int v = 0; v < graph.variables(); ++v) {
                const int state = state_of(v, [&](std::size_t slot) { return u[slot]; });
                const auto slot = at(first_slot_[at(v)]);
                if (graph.states(v) == 2) {
                    slots[slot] = state == 1;
                    continue;
                }
                for (int s = 0; s < graph.states(v); ++s) slots[slot + at(s)] = s == state;
            }
        });
    }
    const auto& found = relaxation_.solve(options);
    best_.status = found.status;
    best_.bound = found.bound + constant;
    best_.exact = found.exact;
    best_.iterations = found.iterations;
    best_.nodes = found.nodes;
    if (found.status != Status::solved) return;
    for (int v = 0; v < graph.variables(); ++v) {
        best_.assignment[at(v)] = state_of(v, [&](std::size_t slot) { return double(found.slots[slot]); });
    }
    best_.score = score(graph, scores, best_.assignment);
    if (best_.exact) best_.bound = std::max(best_.bound, best_.score);
}

const Best& Inference::best(const Graph& graph, const Scores& scores, const RelaxationOptions& options) {
    best_.status = Status::unknown;
    best_.assignment.assign(at(graph.variables()), 0);
    best_.score = best_.bound = minus_infinity;
    best_.exact = false;
    best_.iterations = best_.nodes = 0;
    if (!graph.is_forest()) {
        relax(graph, scores, options);
        return best_;
    }
    if (!propagation_.best(graph, scores, best_.assignment)) {
        best_.status = Status::infeasible;
        return best_;
    }
    best_.status = Status::solved;
    best_.score = best_.bound = score(graph, scores, best_.assignment);
    best_.exact = true;
    return best_;
}

// Lawler 1972: the assignments that are not yet listed fall into sets, each of which fixes the first
// variables, excludes some states of the next and leaves the others free; the best of each is found exactly.
std::vector<Scored> Inference::k_best(const Graph& graph, const Scores& scores, int k) {
    struct Part {
        Scored best;
        int fixed;                           // this many variables are as in `best`
        std::vector<std::int32_t> excluded;  // states of the variable after them
        bool operator<(const Part& other) const { return best.score < other.best.score; }
    };
    std::vector<double> masked;
    std::priority_queue<Part> open;
    const auto solve = [&](const std::vector<std::int32_t>& like, int fixed, std::vector<std::int32_t> excluded) {
        masked.assign(scores.variables.begin(), scores.variables.end());
        for (int v = 0; v < fixed; ++v) {
            for (int s = 0; s < graph.states(v); ++s) {
                if (s != like[at(v)]) masked[at(graph.first_state(v) + s)] = minus_infinity;
            }
        }
        for (std::int32_t s : excluded) masked[at(graph.first_state(fixed) + s)] = minus_infinity;
        const Best& found = best(graph, {masked, scores.factors}, {});
        if (found.status == Status::solved) {
            open.push({{found.score, found.assignment}, fixed, std::move(excluded)});
        }
    };
    solve({}, 0, {});
    std::vector<Scored> result;
    while (!open.empty() && static_cast<int>(result.size()) < k) {
        Part top = open.top();
        open.pop();
        result.push_back(top.best);
        if (static_cast<int>(result.size()) == k) break;
        for (int v = top.fixed; v < graph.variables(); ++v) {
            std::vector<std::int32_t> excluded;
            if (v == top.fixed) excluded = top.excluded;
            excluded.push_back(top.best.assignment[at(v)]);
            if (static_cast<int>(excluded.size()) < graph.states(v)) {
                solve(top.best.assignment, v, std::move(excluded));
            }
        }
    }
    return result;
}

int first_contradiction(const Graph& graph, const Scores& scores) {
    const auto only_forbidden = [](std::span<const double> values) {
        std::vector<double> kept;
        for (double value : values) kept.push_back(value == minus_infinity ? value : 0);
        return kept;
    };
    const auto variables = only_forbidden(scores.variables);
    Inference inference;
    const auto possible = [&](int factors) {
        Graph part;
        for (int v = 0; v < graph.variables(); ++v) part.add_variable(graph.states(v));
        for (int f = 0; f < factors; ++f) {
            std::vector<Literal> links;
            std::vector<std::int32_t> over;
            for (int l = graph.first_link(f); l < graph.end_link(f); ++l) {
                links.push_back(graph.link(l));
                over.push_back(graph.link(l).variable);
            }
            if (graph.kind(f) == Kind::table) {
                part.add_table(over);
            } else if (graph.kind(f) == Kind::count) {
                part.add_count(links, graph.least(f), graph.most(f));
            } else if (graph.kind(f) == Kind::or_out) {
                part.add_or_out(links);
            } else {
                // The graph outlives its part.
                part.add_factor({std::shared_ptr<const Factor>(), &graph.other(f)}, links, graph.score_count(f));
            }
        }
        part.finish();
        const auto tables = only_forbidden(scores.factors.first(at(part.total_scores())));
        return inference.best(part, {variables, tables}, {}).status != Status::infeasible;
    };
    if (!possible(0)) return -1;
    int good = 0, bad = graph.factors();
    while (bad - good > 1) {
        const int middle = good + (bad - good) / 2;
        (possible(middle) ? good : bad) = middle;
    }
    return bad - 1;
}

}  // namespace dualstruct::graphs
