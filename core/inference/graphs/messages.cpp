// The part of Propagation that sends messages along the links of a graph.

#include <algorithm>
#include <cmath>

#include "base/index.hpp"
#include "base/infinity.hpp"
#include "inference/graphs/propagation.hpp"
#include "inference/graphs/semirings.hpp"

namespace dualstruct::graphs {

namespace {

// a − b where both may be −∞.
double odds(double on, double off) {
    if (on == minus_infinity) return -infinity;
    return off == minus_infinity ? infinity : on - off;
}

}  // namespace

void Propagation::start(const Graph& graph, const Scores& scores) {
    graph_ = &graph;
    scores_ = scores;
    unary_.assign(scores.variables.begin(), scores.variables.end());
    first_message_.resize(at(graph.total_links()) + 1);
    std::int32_t next = 0;
    std::size_t widest = 0, longest = 0;
    for (int l = 0; l < graph.total_links(); ++l) {
        first_message_[at(l)] = next;
        next += graph.states(graph.link(l).variable);
    }
    first_message_[at(graph.total_links())] = next;
    messages_.assign(at(next), 0.0);
    for (int f = 0; f < graph.factors(); ++f) {
        const int links = graph.end_link(f) - graph.first_link(f);
        widest = std::max(widest, at(links));
        longest =
            std::max(longest, at(first_message_[at(graph.end_link(f))] - first_message_[at(graph.first_link(f))]));
        if (graph.kind(f) == Kind::table && links == 1) {
            const int first = graph.first_state(graph.link(graph.first_link(f)).variable);
            for (int s = 0; s < graph.score_count(f); ++s) {
                unary_[at(first + s)] += scores.factors[at(graph.first_score(f) + s)];
            }
        }
    }
    in_.resize(longest);
    out_.resize(longest);
    first_in_.resize(widest + 1);
    digits_.resize(widest);
    switches_.resize(widest);
    replies_.resize(widest);
    on_.resize(widest);
    slots_.resize(widest);
    odds_.resize(widest);
    sum_beliefs();
}

// From scratch, so that rounding does not add up over many sweeps.
void Propagation::sum_beliefs() {
    belief_.resize(unary_.size());
    impossible_.resize(unary_.size());
    for (std::size_t s = 0; s < unary_.size(); ++s) {
        impossible_[s] = unary_[s] == minus_infinity;
        belief_[s] = impossible_[s] ? 0 : unary_[s];
    }
    for (int l = 0; l < graph_->total_links(); ++l) {
        const int first = graph_->first_state(graph_->link(l).variable);
        for (int s = 0; s < graph_->states(graph_->link(l).variable); ++s) {
            const double message = messages_[at(first_message_[at(l)] + s)];
            if (message == minus_infinity) {
                ++impossible_[at(first + s)];
            } else {
                belief_[at(first + s)] += message;
            }
        }
    }
}

// What the link's variable says to the link's factor: everything it heard from elsewhere.
void Propagation::listen(int link, std::span<double> message) const {
    const int first = graph_->first_state(graph_->link(link).variable);
    const double* mine = messages_.data() + first_message_[at(link)];
    for (std::size_t s = 0; s < message.size(); ++s) {
        const bool forbidden = mine[s] == minus_infinity;
        const auto state = at(first) + s;
        message[s] = impossible_[state] - forbidden > 0 ? minus_infinity : belief_[state] - (forbidden ? 0 : mine[s]);
    }
}

template <class Semiring>
Propagation::Switch Propagation::heard(int link) const {
    const Literal& literal = graph_->link(link);
    const int first = graph_->first_state(literal.variable);
    const double* mine = messages_.data() + first_message_[at(link)];
    const auto value = [&](std::size_t s) {
        const bool forbidden = mine[s] == minus_infinity;
        const auto state = at(first) + s;
        return impossible_[state] - forbidden > 0 ? minus_infinity : belief_[state] - (forbidden ? 0 : mine[s]);
    };
    const double in = value(at(literal.state));
    const double out = Semiring::sum(at(graph_->states(literal.variable)),
                                     [&](std::size_t s) { return s == at(literal.state) ? minus_infinity : value(s); });
    return literal.negated ? Switch{out, in} : Switch{in, out};
}

void Propagation::speak(int link, std::span<const double> message, double damping) {
    const int first = graph_->first_state(graph_->link(link).variable);
    double* mine = messages_.data() + first_message_[at(link)];
    double largest = minus_infinity;
    for (double value : message) largest = std::max(largest, value);
    for (std::size_t s = 0; s < message.size(); ++s) {
        const auto state = at(first) + s;
        double fresh = largest == minus_infinity ? minus_infinity : message[s] - largest;
        const double old = mine[s];
        if (old == minus_infinity) {
            --impossible_[state];
        } else {
            belief_[state] -= old;
        }
        if (fresh != minus_infinity && old != minus_infinity) fresh = (1 - damping) * fresh + damping * old;
        if (fresh == minus_infinity) {
            ++impossible_[state];
            if (old != minus_infinity) change_ = infinity;
        } else {
            belief_[state] += fresh;
            // Far below the largest a change does not matter.
            change_ = std::max(change_, old == minus_infinity ? infinity : std::abs(std::exp(fresh) - std::exp(old)));
        }
        mine[s] = fresh;
    }
}

void Propagation::speak_switch(int link, Switch message, double damping) {
    const Literal& literal = graph_->link(link);
    if (literal.negated) std::swap(message.on, message.off);
    const std::span<double> reply(out_.data(), at(graph_->states(literal.variable)));
    std::ranges::fill(reply, message.off);
    reply[at(literal.state)] = message.on;
    speak(link, reply, damping);
}

void Propagation::listen_all(int f) {
    std::int32_t next = 0;
    for (int l = graph_->first_link(f); l < graph_->end_link(f); ++l) {
        const int states = graph_->states(graph_->link(l).variable);
        first_in_[at(l - graph_->first_link(f))] = next;
        listen(l, {in_.data() + next, at(states)});
        next += states;
    }
}

// Each message by itself, without what came through its own link: no division, nothing underflows.
template <class Semiring>
void Propagation::send_table(int f, int only_link, double damping) {
    const int first = graph_->first_link(f), order = graph_->end_link(f) - first;
    const auto table = scores_of(f);
    listen_all(f);
    const auto states = [&](int k) { return graph_->states(graph_->link(first + k).variable); };
    if (order == 2) {
        const auto rows = at(states(0)), columns = at(states(1));
        const double* row_in = in_.data();
        const double* column_in = in_.data() + first_in_[1];
        if (only_link < 0 || only_link == first) {
            for (std::size_t a = 0; a < rows; ++a) {
                out_[a] = Semiring::sum(columns, [&](std::size_t b) { return table[a * columns + b] + column_in[b]; });
            }
            speak(first, {out_.data(), rows}, damping);
        }
        if (only_link < 0 || only_link == first + 1) {
            for (std::size_t b = 0; b < columns; ++b) {
                out_[b] = Semiring::sum(rows, [&](std::size_t a) { return table[a * columns + b] + row_in[a]; });
            }
            speak(first + 1, {out_.data(), columns}, damping);
        }
        return;
    }
    totals_.resize(table.size());
    for (int k = 0; k < order; ++k) {
        if (only_link >= 0 && only_link != first + k) continue;
        std::fill_n(digits_.begin(), order, 0);
        for (std::size_t entry = 0; entry < table.size(); ++entry) {
            double total = table[entry];
            for (int other = 0; other < order; ++other) {
                if (other != k) total += in_[at(first_in_[at(other)] + digits_[at(other)])];
            }
            totals_[entry] = total;
            for (int other = order; other-- > 0;) {
                if (++digits_[at(other)] < states(other)) break;
                digits_[at(other)] = 0;
            }
        }
        std::size_t inner = 1;  // entries that share the digits up to k
        for (int other = k + 1; other < order; ++other) inner *= at(states(other));
        const std::size_t own = at(states(k)), outer = table.size() / (inner * own);
        for (std::size_t s = 0; s < own; ++s) {
            out_[s] = Semiring::sum(outer * inner,
                                    [&](std::size_t e) { return totals_[(e / inner * own + s) * inner + e % inner]; });
        }
        speak(first + k, {out_.data(), own}, damping);
    }
}

// A counting factor, or OR with output, as paths through counts: out = what the others allow of each literal
// being on or off. Returns the sum over all paths. Needs switches_.
template <class Semiring>
double Propagation::count_paths(int f, std::span<Switch> out) {
    const bool or_out = graph_->kind(f) == Kind::or_out;
    const auto n = out.size() - or_out;
    const int literals = static_cast<int>(n);
    const int least = or_out ? 1 : std::max(0, graph_->least(f));
    const int most = or_out ? literals : std::min(graph_->most(f), literals);
    if (!or_out && least > most) {
        std::ranges::fill(out, Switch{minus_infinity, minus_infinity});
        return minus_infinity;
    }
    // Counts beyond those that matter stand still (no upper limit) or fall off.
    const bool saturates = most >= literals;
    const int cap = saturates ? least : most;
    const auto width = at(cap) + 1;
    forward_.assign((n + 1) * width, minus_infinity);
    backward_.assign((n + 1) * width, minus_infinity);
    forward_[0] = 0;
    const auto above = [&](std::size_t c) { return c + 1 < width ? c + 1 : (saturates ? c : width); };
    for (std::size_t k = 0; k < n; ++k) {
        const double* from = forward_.data() + k * width;
        double* to = forward_.data() + (k + 1) * width;
        for (std::size_t c = 0; c < width; ++c) {
            if (from[c] == minus_infinity) continue;
            to[c] = Semiring::plus(to[c], from[c] + switches_[k].off);
            if (above(c) < width) to[above(c)] = Semiring::plus(to[above(c)], from[c] + switches_[k].on);
        }
    }
    double* last = backward_.data() + n * width;
    for (std::size_t c = 0; c < width; ++c) {
        if (or_out) {
            last[c] = c ? switches_[n].on : switches_[n].off;
        } else if (static_cast<int>(c) >= least) {
            last[c] = 0;
        }
    }
    for (std::size_t k = n; k-- > 0;) {
        const double* from = backward_.data() + (k + 1) * width;
        double* to = backward_.data() + k * width;
        const double* before = forward_.data() + k * width;
        Switch reply{minus_infinity, minus_infinity};
        for (std::size_t c = 0; c < width; ++c) {
            const double off = from[c], on = above(c) < width ? from[above(c)] : minus_infinity;
            to[c] = Semiring::plus(switches_[k].off + off, switches_[k].on + on);
            if (before[c] == minus_infinity) continue;
            reply.on = Semiring::plus(reply.on, before[c] + on);
            reply.off = Semiring::plus(reply.off, before[c] + off);
        }
        out[k] = reply;
    }
    if (or_out) out[n] = {cap > 0 ? forward_[n * width + 1] : minus_infinity, forward_[n * width]};
    return backward_[0];
}

// The best configuration of a factor with a decoder of its own, given switches_; −∞ when what is impossible
// cannot be avoided.
double Propagation::other_maximum(int f, std::span<std::uint8_t> on) {
    const Factor& factor = graph_->other(f);
    const auto n = on.size();
    double limit = 1;
    for (double score : scores_of(f)) limit += std::isfinite(score) ? std::abs(score) : 0;
    double total = 0;  // of everything off
    for (std::size_t k = 0; k < n; ++k) {
        const auto& literal = switches_[k];
        if (literal.on == minus_infinity && literal.off == minus_infinity) return minus_infinity;
        odds_[k] = odds(literal.on, literal.off);
        if (std::isfinite(odds_[k])) limit += std::abs(odds_[k]);
    }
    if (factor.has_hidden_scores()) limit *= 1e6;
    for (std::size_t k = 0; k < n; ++k) odds_[k] = std::clamp(odds_[k], -limit, limit);
    configuration_.resize(at(factor.configuration_size()));
    if (factor.maximise({odds_.data(), n}, scores_of(f), configuration_) == minus_infinity) return minus_infinity;
    std::fill_n(slots_.begin(), n, 0.0);
    factor.add_counts(configuration_, 1, {slots_.data(), n});
    for (std::size_t k = 0; k < n; ++k) {
        on[k] = slots_[k] > 0.5;
        total += on[k] ? switches_[k].on : switches_[k].off;
    }
    return total + factor.extra_score(configuration_, scores_of(f));
}

double Propagation::other_marginals(int f, std::span<double> slots, std::span<double> extra) {
    const auto n = slots.size();
    double limit = 50, off = 0;
    for (std::size_t k = 0; k < n; ++k) {
        const auto& literal = switches_[k];
        if (literal.on == minus_infinity && literal.off == minus_infinity) return minus_infinity;
        odds_[k] = odds(literal.on, literal.off);
        if (std::isfinite(odds_[k])) limit = std::max(limit, 50 + std::abs(odds_[k]));
    }
    for (std::size_t k = 0; k < n; ++k) {
        // A literal that must be on is scored `limit` in odds and 0 by itself.
        off += odds_[k] == infinity ? switches_[k].on - limit : switches_[k].off;
        odds_[k] = std::clamp(odds_[k], -limit, limit);
    }
    return off + graph_->other(f).marginals({odds_.data(), n}, scores_of(f), slots, extra);
}

// Messages from a factor to all its variables or to one; false when it allows nothing.
template <class Semiring>
bool Propagation::send(int f, int only_link, double damping) {
    const int first = graph_->first_link(f), end = graph_->end_link(f);
    const auto n = at(end - first);
    if (graph_->kind(f) == Kind::table) {
        if (n > 1) send_table<Semiring>(f, only_link, damping);
    } else {
        for (int l = first; l < end; ++l) switches_[at(l - first)] = heard<Semiring>(l);
        if (graph_->kind(f) != Kind::other) {
            count_paths<Semiring>(f, {replies_.data(), n});
        } else if constexpr (std::is_same_v<Semiring, Largest>) {
            const auto k = at(only_link - first);
            Switch reply;
            switches_[k] = {0, minus_infinity};
            reply.on = other_maximum(f, {on_.data(), n});
            if (!on_[k]) reply.on = minus_infinity;
            switches_[k] = {minus_infinity, 0};
            reply.off = other_maximum(f, {on_.data(), n});
            if (on_[k]) reply.off = minus_infinity;
            replies_[k] = reply;
        } else {
            extra_.resize(at(graph_->score_count(f)));
            if (other_marginals(f, {slots_.data(), n}, extra_) == minus_infinity) return false;
            for (std::size_t k = 0; k < n; ++k) {
                // 0 and 1 may be rounded: they do not forbid.
                const double p = std::clamp(slots_[k], 1e-300, 1 - 1e-16);
                replies_[k] = {std::log(p) - odds_[k], std::log1p(-p)};
            }
        }
        for (int l = first; l < end; ++l) {
            if (only_link < 0 || l == only_link) speak_switch(l, replies_[at(l - first)], damping);
        }
    }
    for (int l = first; l < end; ++l) {
        if (only_link >= 0 && l != only_link) continue;
        const int state = graph_->first_state(graph_->link(l).variable);
        bool possible = false;
        for (int s = 0; s < graph_->states(graph_->link(l).variable); ++s) {
            possible = possible || impossible_[at(state + s)] == 0;
        }
        if (!possible) return false;
    }
    return true;
}

template Propagation::Switch Propagation::heard<Largest>(int) const;
template Propagation::Switch Propagation::heard<LogSum>(int) const;
template double Propagation::count_paths<Largest>(int, std::span<Switch>);
template double Propagation::count_paths<LogSum>(int, std::span<Switch>);
template bool Propagation::send<Largest>(int, int, double);
template bool Propagation::send<LogSum>(int, int, double);

}  // namespace dualstruct::graphs
