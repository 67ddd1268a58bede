#include "inference/trees/second_order.hpp"

#include <numeric>

#include "base/index.hpp"

namespace dualstruct::trees {
namespace {

// The second-order scores of a head.
std::span<const double> extras_of(const SecondOrderParts& parts, int h, std::span<const double> extras) {
    const auto begin = at(parts.head(h).first_step);
    const auto end = at(h < parts.words() ? parts.head(h + 1).first_step : parts.extras());
    return extras.subspan(begin, end - begin);
}

// f(arc) for the slots of a head's automaton.
template <class F>
void for_each_slot(const SecondOrderParts& parts, int h, F f) {
    const auto& head = parts.head(h);
    for (const auto arc : parts.entering(h)) f(arc);
    for (int arc = head.first_arc; arc < head.first_arc + head.arcs(); ++arc) f(arc);
}

}  // namespace

SecondOrderBest SecondOrderDecoder::decode(const SecondOrderParts& parts, std::span<const double> arcs,
                                           std::span<const double> extras, const SecondOrderOptions& options,
                                           const graphs::RelaxationOptions& relaxation, std::int32_t* heads) {
    const int words = parts.words();
    const std::span<std::int32_t> tree(heads, at(words) + 1);
    SecondOrderBest best;
    if (options.projective && !options.relax) {
        best.found = best.exact = options.grandparents
                                      ? exact_.decode(parts, arcs, extras, options.single_root, heads)
                                      : siblings_.decode(parts, arcs, extras, options.single_root, heads);
        if (best.found) best.score = best.bound = parts.score(tree, arcs, extras);
        return best;
    }
    // No tree has g → h → g; without it the relaxation is tighter.
    extras_.assign(extras.begin(), extras.end());
    parts.for_each([](int, int, int, int, bool) {},
                   [&](int index, int g, int, int m) {
                       if (g == m) extras_[at(index)] = graphs::minus_infinity;
                   });
    heads[0] = -1;
    double nothing = 0;  // the scores of heads that can have no modifier
    relaxation_.clear();
    for (const double score : arcs) relaxation_.add_slot(score);
    links_.resize(arcs.size());
    std::iota(links_.begin(), links_.end(), 0);
    const TreeFactor tree_factor(parts, options.projective, options.single_root);
    if (tree_factor.maximise(arcs, {}, tree) == graphs::minus_infinity) return best;
    relaxation_.add_factor(tree_factor, links_, {});
    automata_.resize(at(words) + 1);
    for (int h = 0; h <= words; ++h) {
        const auto scores = extras_of(parts, h, extras_);
        if (parts.head(h).arcs() == 0) {
            for (const double score : scores) nothing += score;
            continue;
        }
        links_.clear();
        for_each_slot(parts, h, [&](int arc) { links_.push_back(arc); });
        auto& automaton = automata_[at(h)];
        automaton = HeadAutomaton(parts.head(h));
        relaxation_.add_factor(automaton, links_, scores);
    }
    // The tree nearest to the fractions.
    relaxation_.set_rounding([&](std::span<const double> relaxed, std::span<std::uint8_t> slots) {
        std::ranges::fill(slots, std::uint8_t{0});
        if (tree_factor.maximise(relaxed, {}, tree) == graphs::minus_infinity) return;
        for (int m = 1; m <= words; ++m) slots[at(parts.arc(heads[m], m))] = 1;
    });
    const auto& result = relaxation_.solve(relaxation);
    if (result.status != graphs::Status::solved) return best;
    tree_factor.read(result.slots, tree);
    best.found = true;
    best.exact = result.exact;
    best.score = result.score + nothing;
    best.bound = result.bound + nothing;
    best.iterations = result.iterations;
    return best;
}

SecondOrderMarginals second_order_marginals(const SecondOrderParts& parts, std::span<const double> arcs,
                                            std::span<const double> extras, const SecondOrderOptions& options,
                                            const graphs::PropagationOptions& propagation) {
    SecondOrderMarginals result;
    graphs::Graph graph;
    std::vector<graphs::Literal> literals;
    for (int arc = 0; arc < parts.arcs(); ++arc) {
        graph.add_variable(2);
        literals.push_back({arc, 1, false});
    }
    graph.add_factor(std::make_shared<TreeFactor>(parts, options.projective, options.single_root), literals, 0);
    // Automata over the modifiers alone, and a table for each grandparent: automata that see the arcs into their heads
    // would say over again what TREE says, that exactly one of them is on, and beliefs would count it twice.
    std::vector<double> scores;
    std::vector<std::int32_t> place;  // of each second-order part that has a score of its own in the graph
    double nothing = 0;
    for (int h = 0; h <= parts.words(); ++h) {
        const auto& head = parts.head(h);
        const auto own = extras_of(parts, h, extras);
        if (head.arcs() == 0) {
            for (const double score : own) nothing += score;
            place.resize(place.size() + own.size(), -1);
            continue;
        }
        auto siblings = head;
        siblings.in = 0;
        literals.clear();
        for (int arc = head.first_arc; arc < head.first_arc + head.arcs(); ++arc) literals.push_back({arc, 1, false});
        const int steps = head.first_grandparent() - head.first_step;
        graph.add_factor(std::make_shared<HeadAutomaton>(siblings), literals, steps);
        for (int k = 0; k < steps; ++k) {
            place.push_back(static_cast<std::int32_t>(scores.size()));
            scores.push_back(own[at(k)]);
        }
        for (std::size_t k = at(steps); k < own.size(); ++k) {
            const auto pair = static_cast<int>(k) - steps;
            const std::int32_t both[] = {parts.entering(h)[at(pair / head.arcs())],
                                         head.first_arc + pair % head.arcs()};
            if (own[k] == 0 || parts.head_of(both[0]) == parts.modifier_of(both[1])) {
                place.push_back(-2);
                continue;
            }
            graph.add_table(both);
            place.push_back(static_cast<std::int32_t>(scores.size()) + 3);
            scores.insert(scores.end(), {0.0, 0.0, 0.0, own[k]});
        }
    }
    graph.finish();
    std::vector<double> unary(2 * arcs.size(), 0.0);
    for (std::size_t a = 0; a < arcs.size(); ++a) unary[2 * a + 1] = arcs[a];
    graphs::Propagation messages;
    const auto& found = messages.marginals(graph, {unary, scores}, propagation);
    result.found = found.feasible;
    result.converged = found.converged;
    result.iterations = found.iterations;
    result.log_partition = found.log_partition + nothing;
    if (!found.feasible) return result;
    result.arcs.resize(arcs.size());
    for (std::size_t a = 0; a < arcs.size(); ++a) result.arcs[a] = found.variables[2 * a + 1];
    result.extras.resize(extras.size());
    for (std::size_t k = 0; k < extras.size(); ++k) {
        result.extras[k] = place[k] == -1 ? 1 : place[k] == -2 ? 0 : found.factors[at(place[k])];
    }
    // A grandparent without a score tells its two arcs nothing: its belief is the product of theirs.
    parts.for_each([](int, int, int, int, bool) {},
                   [&](int index, int g, int h, int m) {
                       if (place[at(index)] != -2 || g == m) return;
                       result.extras[at(index)] = result.arcs[at(parts.arc(g, h))] * result.arcs[at(parts.arc(h, m))];
                   });
    return result;
}

}  // namespace dualstruct::trees
