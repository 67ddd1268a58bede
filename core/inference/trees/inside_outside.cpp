#include "inference/trees/inside_outside.hpp"

#include "base/index.hpp"

namespace dualstruct::trees {
namespace {

constexpr Scaled one{1, 0};

}  // namespace

bool InsideOutside::marginals(const float* scores, int words, bool single_root, float* marginals,
                              double& log_partition) {
    const int nodes = words + 1;
    std::fill_n(marginals, at(nodes) * nodes, 0.0f);
    log_partition = 0;
    if (words == 0) return true;
    for (ScaledRows* chart : {&right_, &left_, &halves_, &arc_left_, &complete_right_, &complete_left_,
                              &outside_arc_left_, &outside_right_, &outside_left_}) {
        chart->resize(nodes, nodes);
    }
    for (ScaledRows* chart :
         {&arc_left_, &complete_right_, &complete_left_, &outside_arc_left_, &outside_right_, &outside_left_}) {
        chart->clear(0, nodes);
    }
    outside_halves_.resize(1, nodes);
    for (int h = 0; h < nodes; ++h) {
        const float* row = scores + at(h) * nodes;
        for (int m = 1; m < h; ++m) left_[m].set(h, exponential(row[m]));
        for (int m = h + 1; m < nodes; ++m) right_[h].set(m, exponential(row[m]));
    }
    for (int m = 0; m < nodes; ++m) left_[0].set(m, {});  // no arc into the root

    const int first = single_root ? 1 : 0;
    for (int s = words; s >= first; --s) inside_row(s, nodes);
    Scaled total;
    if (single_root) {
        for (int q = 1; q < nodes; ++q) {
            const Scaled after = q == words ? one : complete_right_[q][words];
            total = total + complete_left_[1][q] * right_[0][q] * after;
        }
    } else {
        total = complete_right_[0][words];
    }
    if (total.is_zero()) return false;
    log_partition = total.log();

    if (single_root) {
        for (int q = 1; q < nodes; ++q) {
            const Scaled before = complete_left_[1][q], after = q == words ? one : complete_right_[q][words];
            const Scaled arc = right_[0][q];
            outside_left_[1].set(q, arc * after);
            outside_right_[q].set(words, before * arc);
            marginals[q] = static_cast<float>(ratio(before * arc * after, total));
        }
    } else {
        outside_right_[0].set(words, one);
    }
    for (int s = first; s < nodes; ++s) outside_row(s, nodes, total, marginals);
    return true;
}

// Each finished span is added as the left part of all longer ones of its row.
void InsideOutside::inside_row(int s, int nodes) {
    const TreeKernels& kernels = tree_kernels();
    const int end = complete_left_.stride();
    const ScaledRow right = right_[s], left = left_[s], halves = halves_[s], arc_left = arc_left_[s];
    const ScaledRow complete_right = complete_right_[s], complete_left = complete_left_[s];
    complete_left.set(s, one);
    if (s + 1 == nodes) return;
    for (int t = block_of(s); t < end; ++t) halves.set(t, complete_left_[s + 1][t]);
    for (int q = s + 1; q < nodes; ++q) {
        const Scaled half = normalised(halves[q]);
        halves.set(q, half);
        const Scaled arc_right = half * right[q];
        arc_left.set(q, half * left[q]);
        const Scaled to_left = normalised(complete_left[q] + arc_left[q]);
        const Scaled to_right = normalised(complete_right[q] + arc_right);
        complete_left.set(q, to_left);
        complete_right.set(q, to_right);
        if (q + 1 == nodes) break;
        const int begin = block_of(q + 1);
        if (!arc_right.is_zero()) kernels.add_multiple(complete_right, arc_right, complete_right_[q], begin, end);
        if (!to_left.is_zero()) kernels.add_multiple(complete_left, to_left, arc_left_[q], begin, end);
        if (!to_right.is_zero()) kernels.add_multiple(halves, to_right, complete_left_[q + 1], begin, end);
    }
}

// The steps of inside_row backwards: what a span is multiplied by, in the sum of all trees. The rows before s, which
// are all that use this one, are done. The blocks reach left of the columns meant, where one of the factors is 0 or
// the result is not read.
void InsideOutside::outside_row(int s, int nodes, Scaled total, float* marginals) {
    const TreeKernels& kernels = tree_kernels();
    const int end = complete_left_.stride();
    const ScaledRow right = right_[s], left = left_[s], halves = halves_[s], arc_left = arc_left_[s];
    const ScaledRow complete_right = complete_right_[s], complete_left = complete_left_[s];
    const ScaledRow outside_right = outside_right_[s], outside_left = outside_left_[s];
    kernels.normalise(outside_right, 0, end);
    kernels.normalise(outside_left, 0, end);
    outside_halves_.clear(0, 1);
    const ScaledRow outside_halves = outside_halves_[0];
    for (int q = nodes - 1; q > s; --q) {
        const Scaled half = halves[q], arc_right = half * right[q];
        Scaled around_right = outside_right[q], around_left = outside_left[q], around_arc_right;
        if (q + 1 < nodes) {
            const int begin = block_of(q + 1);
            around_right = around_right + kernels.dot(outside_halves, complete_left_[q + 1], begin, end);
            around_left = around_left + kernels.dot(outside_left, arc_left_[q], begin, end);
            around_arc_right = kernels.dot(outside_right, complete_right_[q], begin, end);
            if (!complete_right[q].is_zero()) {
                kernels.add_multiple(outside_left_[q + 1], complete_right[q], outside_halves, begin, end);
            }
            if (!complete_left[q].is_zero()) {
                kernels.add_multiple(outside_arc_left_[q], complete_left[q], outside_left, begin, end);
            }
            if (!arc_right.is_zero()) {
                kernels.add_multiple(outside_right_[q], arc_right, outside_right, begin, end);
            }
        }
        outside_right.set(q, around_right);
        outside_left.set(q, around_left);
        around_arc_right = around_arc_right + around_right;
        const Scaled around_arc_left = normalised(outside_arc_left_[s][q]) + around_left;
        outside_halves.set(q, around_arc_right * right[q] + around_arc_left * left[q]);
        marginals[at(s) * nodes + q] = static_cast<float>(ratio(arc_right * around_arc_right, total));
        if (s > 0) {
            marginals[at(q) * nodes + s] = static_cast<float>(ratio(arc_left[q] * around_arc_left, total));
        }
    }
    if (s + 1 < nodes) kernels.add_multiple(outside_left_[s + 1], one, outside_halves, block_of(s + 1), end);
}

}  // namespace dualstruct::trees
