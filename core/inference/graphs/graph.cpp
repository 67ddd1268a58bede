#include "inference/graphs/graph.hpp"

#include <algorithm>
#include <cmath>

#include "base/index.hpp"

namespace dualstruct::graphs {

TableFactor::TableFactor(std::vector<std::int32_t> shape) : shape_(std::move(shape)) {
    std::int32_t first = 0;
    for (std::int32_t states : shape_) {
        first_.push_back(first);
        first += slots_of(states);
    }
}

double TableFactor::maximise(std::span<const double> slots, std::span<const double> extra,
                             std::span<std::int32_t> configuration) const {
    const std::size_t last = shape_.size() - 1;
    const int row = shape_[last];
    const bool binary = row == 2;
    const double* of_last = slots.data() + first_[last];
    double best = minus_infinity;
    std::size_t best_at = 0;
    thread_local std::vector<std::int32_t> digits;
    digits.assign(shape_.size(), 0);
    for (std::size_t begin = 0; begin < extra.size(); begin += at(row)) {
        double before = 0;
        for (std::size_t v = 0; v < last; ++v) {
            const int k = slot(v, digits[v]);
            if (k >= 0) before += slots[at(k)];
        }
        for (int state = 0; state < row; ++state) {
            const double here =
                before + extra[begin + at(state)] + (binary ? (state ? of_last[0] : 0.0) : of_last[state]);
            if (here > best) {
                best = here;
                best_at = begin + at(state);
            }
        }
        for (std::size_t v = last; v-- > 0;) {
            if (++digits[v] < shape_[v]) break;
            digits[v] = 0;
        }
    }
    for (std::size_t v = shape_.size(); v-- > 0;) {
        configuration[v] = static_cast<std::int32_t>(best_at % at(shape_[v]));
        best_at /= at(shape_[v]);
    }
    return best;
}

double TableFactor::slot_score(std::span<const std::int32_t> configuration, std::span<const double> slots) const {
    double total = 0;
    for (std::size_t v = 0; v < shape_.size(); ++v) {
        const int k = slot(v, configuration[v]);
        if (k >= 0) total += slots[at(k)];
    }
    return total;
}

double TableFactor::extra_score(std::span<const std::int32_t> configuration, std::span<const double> extra) const {
    std::size_t entry = 0;
    for (std::size_t v = 0; v < shape_.size(); ++v) {
        entry = entry * at(shape_[v]) + at(configuration[v]);
    }
    return extra[entry];
}

void TableFactor::add_counts(std::span<const std::int32_t> configuration, double weight,
                             std::span<double> slots) const {
    for (std::size_t v = 0; v < shape_.size(); ++v) {
        const int k = slot(v, configuration[v]);
        if (k >= 0) slots[at(k)] += weight;
    }
}

int TableFactor::common(std::span<const std::int32_t> a, std::span<const std::int32_t> b) const {
    int same = 0;
    for (std::size_t v = 0; v < shape_.size(); ++v) same += a[v] == b[v] && slot(v, a[v]) >= 0;
    return same;
}

bool TableFactor::read(std::span<const std::uint8_t> on, std::span<std::int32_t> configuration) const {
    for (std::size_t v = 0; v < shape_.size(); ++v) {
        const auto first = at(first_[v]);
        if (shape_[v] == 2) {
            configuration[v] = on[first] != 0;
            continue;
        }
        configuration[v] = -1;
        for (std::int32_t state = 0; state < shape_[v]; ++state) {
            if (!on[first + at(state)]) continue;
            if (configuration[v] >= 0) return false;
            configuration[v] = state;
        }
        if (configuration[v] < 0) return false;
    }
    return true;
}

int Graph::add_variable(int states) {
    states_.push_back(states);
    first_state_.push_back(first_state_.back() + states);
    return variables() - 1;
}

int Graph::add(Kind kind, std::span<const Literal> literals, int least, int most, int scores,
               std::shared_ptr<const Factor> other) {
    kinds_.push_back(kind);
    least_.push_back(least);
    most_.push_back(most);
    first_score_.push_back(first_score_.back() + scores);
    others_.push_back(std::move(other));
    links_.insert(links_.end(), literals.begin(), literals.end());
    factor_of_.insert(factor_of_.end(), literals.size(), factors() - 1);
    first_link_.push_back(total_links());
    return factors() - 1;
}

int Graph::add_table(std::span<const std::int32_t> variables) {
    std::vector<Literal> literals;
    std::vector<std::int32_t> shape;
    int entries = 1;
    for (std::int32_t v : variables) {
        literals.push_back({v, -1, false});
        shape.push_back(states(v));
        entries *= states(v);
    }
    // Tables of one shape share one factor.
    std::shared_ptr<const Factor> table;
    if (shape.size() > 1) {
        for (std::size_t f = others_.size(); f-- > 0 && others_.size() - f < 16 && !table;) {
            if (kinds_[f] != Kind::table || !others_[f]) continue;
            if (static_cast<const TableFactor&>(*others_[f]).shape() == shape) table = others_[f];
        }
        if (!table) table = std::make_shared<TableFactor>(shape);
    }
    return add(Kind::table, literals, 0, 0, entries, std::move(table));
}

int Graph::add_count(std::span<const Literal> literals, int least, int most) {
    return add(Kind::count, literals, least, most, 0, nullptr);
}

int Graph::add_or_out(std::span<const Literal> literals) { return add(Kind::or_out, literals, 0, 0, 0, nullptr); }

int Graph::add_factor(std::shared_ptr<const Factor> factor, std::span<const Literal> literals, int extras) {
    return add(Kind::other, literals, 0, 0, extras, std::move(factor));
}

void Graph::finish() {
    const auto V = at(variables()), F = at(factors());
    first_variable_link_.assign(V + 1, 0);
    for (const Literal& literal : links_) ++first_variable_link_[index(literal.variable) + 1];
    for (std::size_t v = 0; v < V; ++v) first_variable_link_[v + 1] += first_variable_link_[v];
    variable_links_.resize(links_.size());
    std::vector<std::int32_t> filled(first_variable_link_.begin(), first_variable_link_.end() - 1);
    for (std::size_t l = 0; l < links_.size(); ++l) {
        variable_links_[index(filled[index(links_[l].variable)]++)] = static_cast<std::int32_t>(l);
    }

    order_.clear();
    roots_.clear();
    parent_link_.assign(F, -1);
    is_forest_ = true;
    std::vector<std::uint8_t> met_variable(V), met_factor(F);
    std::vector<std::int32_t> queue;
    for (int root = 0; root < variables(); ++root) {
        if (met_variable[index(root)]) continue;
        met_variable[index(root)] = 1;
        roots_.push_back(root);
        queue.assign(1, root);
        for (std::size_t next = 0; next < queue.size(); ++next) {
            for (std::int32_t l : links_of(queue[next])) {
                const int f = factor_of(l);
                if (met_factor[index(f)]) continue;
                met_factor[index(f)] = 1;
                order_.push_back(f);
                parent_link_[index(f)] = l;
                for (int other = first_link(f); other < end_link(f); ++other) {
                    if (other == l) continue;
                    const int v = link(other).variable;
                    if (met_variable[index(v)]) {
                        is_forest_ = false;  // met before, or twice in this factor
                        continue;
                    }
                    met_variable[index(v)] = 1;
                    queue.push_back(v);
                }
            }
        }
    }
}

bool Graph::allows(int f, std::span<const std::int32_t> assignment, std::span<const double> extra,
                   double& score) const {
    const auto on = [&](int l) { return (assignment[index(link(l).variable)] == link(l).state) != link(l).negated; };
    if (kind(f) == Kind::other) {
        thread_local std::vector<std::uint8_t> local;
        thread_local std::vector<std::int32_t> configuration;
        local.clear();
        for (int l = first_link(f); l < end_link(f); ++l) local.push_back(on(l));
        configuration.resize(index(other(f).configuration_size()));
        if (!other(f).read(local, configuration)) return false;
        score += other(f).extra_score(configuration, extra);
        return true;
    }
    int count = 0;
    for (int l = first_link(f); l < end_link(f); ++l) count += on(l);
    if (kind(f) == Kind::count) return count >= least(f) && count <= most(f);
    return on(end_link(f) - 1) ? count > 1 : count == 0;
}

double score(const Graph& graph, const Scores& scores, std::span<const std::int32_t> assignment) {
    double total = 0;
    for (int v = 0; v < graph.variables(); ++v) {
        total += scores.variables[at(graph.first_state(v) + assignment[at(v)])];
    }
    for (int f = 0; f < graph.factors(); ++f) {
        const auto first = at(graph.first_score(f));
        if (graph.kind(f) == Kind::table) {
            total += scores.factors[first + at(graph.table_entry(f, assignment))];
        } else if (!graph.allows(f, assignment, scores.factors.subspan(first, at(graph.score_count(f))), total)) {
            return minus_infinity;
        }
    }
    return total;
}

}  // namespace dualstruct::graphs
