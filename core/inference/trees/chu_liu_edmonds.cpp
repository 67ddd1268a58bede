#include "inference/trees/chu_liu_edmonds.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "base/infinity.hpp"

namespace dualstruct::trees {
namespace {

bool has_one_root(const std::int32_t* heads, int words) { return std::count(heads + 1, heads + words + 1, 0) == 1; }

}  // namespace

bool ChuLiuEdmonds::decode(const float* scores, int words, bool single_root, std::int32_t* heads) {
    const int nodes = words + 1;
    heads[0] = -1;
    if (words == 0) return true;
    largest_.assign(at(nodes), -infinity);
    std::fill_n(heads + 1, words, -1);
    for (int h = 0; h < nodes; ++h) {
        const float* row = scores + at(h) * nodes;
        const float own = largest_[h];
        const std::int32_t own_head = heads[h];
        for (int m = 1; m < nodes; ++m) {
            const bool better = row[m] > largest_[m];
            largest_[m] = better ? row[m] : largest_[m];
            heads[m] = better ? h : heads[m];
        }
        largest_[h] = own;
        heads[h] = own_head;
    }
    if (std::find(heads + 1, heads + nodes, -1) != heads + nodes) return false;
    if (!is_tree(heads, words) && !contract(scores, words, false, heads)) return false;
    if (!single_root || has_one_root(heads, words)) return true;
    return contract(scores, words, true, heads) && has_one_root(heads, words);
}

bool ChuLiuEdmonds::is_tree(const std::int32_t* heads, int words) {
    seen_.assign(at(words) + 1, 0);
    for (int m = 1; m <= words; ++m) {
        int v = m;
        for (; v != 0 && seen_[v] == 0; v = heads[v]) seen_[v] = m;
        if (v != 0 && seen_[v] == m) return false;
    }
    return true;
}

// With spare_the_root the number of arcs from the root is what counts first and the score second: such an arc enters a
// component only where no other does. Arcs from the root never lie on a cycle, so no arithmetic of pairs is needed.
bool ChuLiuEdmonds::contract(const float* scores, int words, bool spare_the_root, std::int32_t* heads) {
    const int nodes = words + 1;
    const std::size_t cells = at(nodes) * nodes;
    if (score_.size() < cells) {
        score_.resize(cells);
        end_.resize(cells);
    }
    components_.clear();
    for (std::int32_t v = 0; v < nodes; ++v) {
        components_.push_back({v, v, v, 0, 0, 0, State::untouched, false});
        std::fill_n(end_.data() + at(v) * nodes, nodes, v);
    }
    for (int h = 0; h < nodes; ++h) {
        const float* row = scores + at(h) * nodes;
        for (int m = 1; m < nodes; ++m) {
            score_[at(m) * nodes + h] =
                h == m ? -infinity : static_cast<double>(row[m]) - static_cast<double>(largest_[m]);
        }
    }
    components_[0].state = State::finished;

    for (std::int32_t v = 1; v < nodes; ++v) {
        std::int32_t place = top_of(v);
        if (components_[place].state == State::finished) continue;
        path_.clear();
        while (true) {
            if (!choose_arc(components_[place], nodes, spare_the_root)) return false;
            components_[place].state = State::on_path;
            path_.push_back(place);
            place = top_of(components_[place].head);
            if (components_[place].state == State::finished) break;
            if (components_[place].state == State::on_path) {
                const auto cycle = std::find(path_.begin(), path_.end(), place);
                place = contract_cycle(at(cycle - path_.begin()), nodes);
            }
        }
        for (const auto c : path_) components_[c].state = State::finished;
    }

    // The last contracted are opened first: the arc that enters one takes the place of the arcs of all components
    // around its word.
    for (auto c = static_cast<std::int32_t>(components_.size()) - 1; c > 0; --c) {
        if (components_[c].resolved) continue;
        const std::int32_t word = components_[c].word;
        heads[word] = components_[c].head;
        for (std::int32_t inner = word;; inner = components_[inner].parent) {
            components_[inner].resolved = true;
            if (inner == c) break;
        }
    }
    return true;
}

bool ChuLiuEdmonds::choose_arc(Component& component, int nodes, bool spare_the_root) const {
    const std::size_t row = at(component.row) * nodes;
    const double* score = score_.data() + row;
    double best = -infinity;
    for (int h = spare_the_root ? 1 : 0; h < nodes; ++h) best = score[h] > best ? score[h] : best;
    int head = spare_the_root ? 1 : 0;
    if (best == -infinity && spare_the_root) {
        head = 0;
        best = score[0];
    }
    if (best == -infinity) return false;
    while (score[head] != best) ++head;
    component.head = head;
    component.word = end_[row + head];
    component.score = best;
    return true;
}

// Makes path_[begin …] one component and takes it off the path.
std::int32_t ChuLiuEdmonds::contract_cycle(std::size_t begin, int nodes) {
    const auto whole = static_cast<std::int32_t>(components_.size());
    const Component first = components_[path_[begin]];
    for (std::size_t k = begin; k < path_.size(); ++k) {
        components_[path_[k]].parent = components_[path_[k]].top = whole;
    }
    components_.push_back({whole, whole, first.row, 0, 0, 0, State::untouched, false});
    double* score = score_.data() + at(first.row) * nodes;
    std::int32_t* end = end_.data() + at(first.row) * nodes;
    for (int h = 0; h < nodes; ++h) score[h] -= first.score;
    for (std::size_t k = begin + 1; k < path_.size(); ++k) {
        const Component& part = components_[path_[k]];
        const double* other = score_.data() + at(part.row) * nodes;
        const std::int32_t* other_end = end_.data() + at(part.row) * nodes;
        for (int h = 0; h < nodes; ++h) {
            const double reduced = other[h] - part.score;
            end[h] = reduced > score[h] ? other_end[h] : end[h];
            score[h] = reduced > score[h] ? reduced : score[h];
        }
    }
    for (std::int32_t h = 1; h < nodes; ++h) {
        if (top_of(h) == whole) score[h] = -infinity;
    }
    path_.resize(begin);
    return whole;
}

std::int32_t ChuLiuEdmonds::top_of(std::int32_t component) {
    while (components_[component].top != component) {
        auto& top = components_[component].top;
        top = components_[top].top;
        component = top;
    }
    return component;
}

}  // namespace dualstruct::trees
