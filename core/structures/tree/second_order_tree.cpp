#include "structures/tree/second_order_tree.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/index.hpp"
#include "base/prefetch.hpp"
#include "inference/trees/algorithms.hpp"
#include "inference/trees/minimum_risk.hpp"
#include "text/hash.hpp"

namespace dualstruct {

namespace {

using Combination = ArcFeatures::Combination;

SecondOrderScratch& second_order_scratch(Scratch& scratch) { return static_cast<SecondOrderScratch&>(scratch); }

}  // namespace

KeptArcs prune(const Tree& tree, const float* w, const trees::Pruning& pruning, double beta, bool keep_truth,
               trees::PruningReport& report, const std::function<bool()>& interrupt) {
    KeptArcs result;
    result.offsets.push_back(0);
    const auto scratch = tree.make_scratch();
    const auto decoder = trees::make_decoder(tree.options().projective);
    std::vector<float> scores;
    std::vector<std::int32_t> likely, truth;
    std::vector<std::uint8_t> kept;
    for (std::int64_t i = 0; i < tree.size() && !interrupt(); ++i) {
        const int n = tree.words(i);
        if (n > 0) {
            const TreeExpectation e = tree.expectation(w, i, beta, 0, *scratch);
            likely.resize(at(n) + 1);
            if (!trees::minimum_risk(*decoder, e.arcs.data(), n, tree.options().single_root, scores, likely.data())) {
                throw Infeasible(i, 0);
            }
            truth.clear();
            if (keep_truth) {
                truth.push_back(-1);
                for (int m = 1; m <= n; ++m) truth.push_back(tree.true_arc(i, m).head);
            }
            kept.resize(e.arcs.size());
            trees::prune(e.arcs, n, pruning, likely, truth, kept, report);
            for (int h = 0; h <= n; ++h) {
                for (int m = 1; m <= n; ++m) {
                    if (!kept[at(h) * (at(n) + 1) + m]) continue;
                    result.heads.push_back(static_cast<std::uint16_t>(h));
                    result.modifiers.push_back(static_cast<std::uint16_t>(m));
                }
            }
        }
        result.offsets.push_back(static_cast<std::int64_t>(result.heads.size()));
    }
    return result;
}

SecondOrderTree::SecondOrderTree(std::shared_ptr<const Tree> first, KeptArcs kept, int bits,
                                 const SecondOrderTreeOptions& options)
    : first_(std::move(first)), kept_(std::move(kept)), features_(first_->features(), bits), options_(options) {}

bool SecondOrderTree::allows(std::int64_t i, std::span<const std::int32_t> output) const {
    const auto begin = at(kept_.offsets[at(i)]);
    const auto end = at(kept_.offsets[at(i) + 1]);
    int kept = 0;  // arcs of the output; none is listed twice
    for (std::size_t k = begin; k < end; ++k) {
        kept += output[at(kept_.modifiers[k]) - 1] == kept_.heads[k];
    }
    return kept == words(i) && first_->allows(i, output);
}

std::uint64_t SecondOrderTree::layout() const {
    const auto parts = static_cast<std::uint64_t>(options_.siblings + 2 * options_.grandparents);
    return combine(combine(combine(0x2D0E, first_->layout()), static_cast<std::uint64_t>(features_.bits())), parts);
}

std::unique_ptr<Scratch> SecondOrderTree::make_scratch() const { return std::make_unique<SecondOrderScratch>(); }

SecondOrderTree::Effort SecondOrderTree::take_effort() const {
    return {decoded_.exchange(0), exact_.exchange(0), iterations_.exchange(0)};
}

// The sentence's arcs and parts; false when it has no words.
bool SecondOrderTree::load(std::int64_t i, Scratch& base) const {
    SecondOrderScratch& scratch = second_order_scratch(base);
    const auto nodes = at(words(i)) + 1;
    scratch.heads.resize(nodes);
    scratch.output.resize(2 * (nodes - 1));
    if (nodes == 1) return false;
    scratch.kept.assign(nodes * nodes, 0);
    const auto begin = at(kept_.offsets[at(i)]);
    const auto end = at(kept_.offsets[at(i) + 1]);
    for (std::size_t a = begin; a < end; ++a) scratch.kept[kept_.heads[a] * nodes + kept_.modifiers[a]] = 1;
    scratch.parts.build(static_cast<int>(nodes) - 1, scratch.kept);
    scratch.arcs.resize(nodes * nodes);
    scratch.labels.resize(nodes * nodes);
    scratch.arc_scores.resize(at(scratch.parts.arcs()));
    return true;
}

// The second-order parts' scores. Lines are on their way to the cache some parts before they are summed.
void SecondOrderTree::score_parts(const float* weights, Scratch& base_scratch) const {
    SecondOrderScratch& scratch = second_order_scratch(base_scratch);
    const float* w = weights + base();
    constexpr int ahead = 8, width = SecondOrderFeatures::most_templates;
    struct Waiting {
        std::int64_t lines[width];
        int slots[3];
        int count, index;
        bool sibling;
    };
    Waiting ring[ahead];
    int received = 0, done = 0;
    scratch.extra_scores.assign(at(scratch.parts.extras()), 0.0);
    const auto finish = [&] {
        const Waiting& part = ring[done++ % ahead];
        float score = 0;
        for (int k = 0; k < part.count; ++k) {
            const float* line = w + part.lines[k];
            score += line[part.slots[0]] + line[part.slots[1]];
            if (part.sibling) score += line[part.slots[2]];
        }
        scratch.extra_scores[at(part.index)] = score;
    };
    const auto receive = [&](int index, bool sibling) -> Waiting& {
        if (received - done == ahead) finish();
        Waiting& part = ring[received++ % ahead];
        part.index = index;
        part.sibling = sibling;
        part.count = 0;
        return part;
    };
    const std::span<const ArcFeatures::Node> nodes(scratch.sums.nodes);
    const auto put = [&](Waiting& part) {
        return [&](std::int64_t line) {
            prefetch(w + line);
            part.lines[part.count++] = line;
        };
    };
    scratch.parts.for_each(
        [&](int index, int h, int s, int m, bool right) {
            if (!options_.siblings) return;
            Waiting& part = receive(index, true);
            const auto slots = SecondOrderFeatures::sibling_slots(h, m, right);
            std::copy(slots.begin(), slots.end(), part.slots);
            features_.sibling_lines(nodes, h, s, m, put(part));
        },
        [&](int index, int g, int h, int m) {
            if (!options_.grandparents || g == m) return;
            Waiting& part = receive(index, false);
            const auto slots = SecondOrderFeatures::grandparent_slots(g, h, m);
            std::copy(slots.begin(), slots.end(), part.slots);
            features_.grandparent_lines(nodes, g, h, m, put(part));
        });
    while (done < received) finish();
}

void SecondOrderTree::decode(const float* w, std::int64_t i, float cost_weight, Scratch& base) const {
    SecondOrderScratch& scratch = second_order_scratch(base);
    if (!load(i, base)) return;
    const int n = words(i), nodes = n + 1;
    first_->score_arcs(w, i, cost_weight, scratch.sums, scratch.arcs, scratch.labels, scratch.kept.data());
    for (int a = 0; a < scratch.parts.arcs(); ++a) {
        scratch.arc_scores[at(a)] = scratch.arcs[at(scratch.parts.head_of(a)) * nodes + scratch.parts.modifier_of(a)];
    }
    score_parts(w, base);
    graphs::RelaxationOptions relaxation = trees::SecondOrderDecoder::relaxation();
    relaxation.max_iterations = options_.max_iterations;
    relaxation.branch = options_.branch;
    const trees::SecondOrderOptions how{first_->options().projective, first_->options().single_root,
                                        options_.grandparents, false};
    const auto best = scratch.decoder.decode(scratch.parts, scratch.arc_scores, scratch.extra_scores, how, relaxation,
                                             scratch.heads.data());
    if (!best.found) throw Infeasible(i, 0);
    decoded_.fetch_add(1, std::memory_order_relaxed);
    exact_.fetch_add(best.exact, std::memory_order_relaxed);
    unproven_.fetch_add(!best.exact, std::memory_order_relaxed);
    iterations_.fetch_add(best.iterations, std::memory_order_relaxed);
    for (int m = 1; m <= n; ++m) {
        const std::int32_t h = scratch.heads[at(m)];
        scratch.output[at(m - 1)] = h;
        scratch.output[at(n + m - 1)] = scratch.labels[at(h) * nodes + m];
    }
}

template <class F>
void SecondOrderTree::for_each_in(std::int64_t i, std::span<const Code> changed, F f) const {
    if (changed.empty()) return;
    thread_local std::vector<std::int32_t> truth, cut, touched;
    thread_local std::vector<Part> of_truth, of_cut, only;
    thread_local std::vector<ArcFeatures::Node> nodes;
    const int n = words(i);
    truth.assign(1, -1);
    for (int m = 1; m <= n; ++m) truth.push_back(first_->true_arc(i, m).head);
    cut = truth;
    touched.clear();
    for (const Code code : changed) {
        const Tree::Arc arc = Tree::unpack(code);
        auto& head = cut[at(arc.modifier)];
        if (head == arc.head) continue;
        // Heads that lost or gained a modifier, and the word whose own modifiers have another grandparent.
        touched.insert(touched.end(), {head, arc.head, arc.modifier});
        head = arc.head;
    }
    if (touched.empty()) return;
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    of_truth.clear();
    of_cut.clear();
    for (const auto h : touched) {
        each_part(truth, h, [&](const Part& part) { of_truth.push_back(part); });
        each_part(cut, h, [&](const Part& part) { of_cut.push_back(part); });
    }
    std::ranges::sort(of_truth);
    std::ranges::sort(of_cut);
    first_->features().nodes(i, nodes);
    const auto emit = [&](const std::vector<Part>& some, const std::vector<Part>& others, float sign) {
        only.clear();
        std::ranges::set_difference(some, others, std::back_inserter(only));
        for (const Part& part : only) each_index(nodes, part, [&](std::int64_t index) { f(index, sign); });
    };
    emit(of_truth, of_cut, 1);
    emit(of_cut, of_truth, -1);
}

std::vector<SecondOrderTree::NamedPart> SecondOrderTree::named_parts(std::int64_t i,
                                                                     std::span<const std::int32_t> given,
                                                                     const ArcNames::ColumnNames& columns) const {
    std::vector<std::int32_t> heads(1, -1);
    heads.insert(heads.end(), given.begin(), given.end());
    std::vector<ArcFeatures::Node> nodes;
    first_->features().nodes(i, nodes);
    const ArcNames names(first_->features(), i, columns);
    std::vector<NamedPart> found;
    const auto name_part = [&](const Part& part) {
        auto& features = found.emplace_back(NamedPart{part, {}}).features;
        const auto [a, b, c, kind] = part;
        // The nodes that are no words, and what each of the three is to the others.
        const bool siblings = kind < 2;
        const int second = siblings && b == a ? ArcNames::nothing : b, third = siblings && c == a ? ArcNames::end : c;
        const char* first_role = siblings ? "head" : "grandparent";
        const char* second_role = siblings ? "sibling" : "head";
        const auto add = [&](auto slots) {
            return [&, slots](std::int64_t line, Combination x, Combination y, Combination z) {
                std::string name;
                if (x != SecondOrderFeatures::none) name = names.combination(a, x, first_role);
                if (y != SecondOrderFeatures::none)
                    name = ArcNames::joined(name, names.combination(second, y, second_role));
                NamedFeature feature{ArcNames::joined(name, names.combination(third, z, "child")), {}};
                for (int slot : slots) feature.weights.push_back(base() + line + slot);
                features.push_back(std::move(feature));
            };
        };
        if (siblings) {
            features_.sibling_lines(nodes, a, b, c, add(SecondOrderFeatures::sibling_slots(a, c, kind == 1)));
        } else {
            features_.grandparent_lines(nodes, a, b, c, add(SecondOrderFeatures::grandparent_slots(a, b, c)));
        }
    };
    for (int h = 0; h < static_cast<int>(heads.size()) && heads.size() > 1; ++h) each_part(heads, h, name_part);
    return found;
}

double SecondOrderTree::dot(const float* w, std::int64_t i, std::span<const Code> codes) const {
    double total = first_->dot(w, i, codes);
    for_each_in(i, codes, [&](std::int64_t index, float sign) { total += sign * w[index]; });
    return total;
}

void SecondOrderTree::axpy(float* w, std::int64_t i, std::span<const Code> codes, float step) const {
    first_->axpy(w, i, codes, step);
    for_each_in(i, codes, [&](std::int64_t index, float sign) { w[index] += sign * step; });
}

void SecondOrderTree::accumulate(std::int64_t i, std::span<const Code> codes, float coefficient, SparseSum& sum) const {
    first_->accumulate(i, codes, coefficient, sum);
    for_each_in(i, codes, [&](std::int64_t index, float sign) {
        sum.add(static_cast<std::uint64_t>(index), sign * coefficient);
    });
}

void SecondOrderTree::axpy(float* w, std::int64_t i, std::span<const Code> codes, float step,
                           SharedLines& lines) const {
    first_->axpy(w, i, codes, step, lines);
    for_each_in(i, codes, [&](std::int64_t index, float sign) { w[index] += sign * step * lines.touch(index); });
}

double SecondOrderTree::dot(const float* w, std::int64_t i, std::span<const Code> codes, const SharedLines& lines,
                            double& mean_times) const {
    double total = first_->dot(w, i, codes, lines, mean_times), times = 0;
    std::int64_t count = 0;
    for_each_in(i, codes, [&](std::int64_t index, float sign) {
        total += sign * w[index];
        times += lines.times(index);
        ++count;
    });
    // Either part by its share of ‖δ‖² would need the number of the first: arcs have more features than pairs of them.
    if (count) mean_times = std::max(mean_times, times / static_cast<double>(count));
    return total;
}

double SecondOrderTree::score(const float* w, std::int64_t i, std::span<const std::int32_t> output) const {
    double total = first_->score(w, i, output);
    for_each_of(i, output, [&](std::int64_t index) { total += w[index]; });
    return total;
}

void SecondOrderTree::add_features(float* w, std::int64_t i, std::span<const std::int32_t> output, float step) const {
    first_->add_features(w, i, output, step);
    for_each_of(i, output, [&](std::int64_t index) { w[index] += step; });
}

void SecondOrderTree::mark_observed(float* marks, std::int64_t i) const {
    first_->mark_observed(marks, i);
    thread_local std::vector<std::int32_t> heads;
    heads.clear();
    for (int m = 1; m <= words(i); ++m) heads.push_back(first_->true_arc(i, m).head);
    for_each_of(i, heads, [&](std::int64_t index) { marks[index] = 1; });
}

}  // namespace dualstruct
