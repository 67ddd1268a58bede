#include "inference/trees/matrix_tree.hpp"

#include "base/index.hpp"

namespace dualstruct::trees {
namespace {

// One child of the root: its arcs weigh so little that trees with the fewest of them are all that counts.
constexpr std::int64_t root_exponent = std::int64_t{1} << 40;

}  // namespace

bool MatrixTree::marginals(const float* scores, int words, bool single_root, float* marginals, double& log_partition) {
    nodes_ = words + 1;
    std::fill_n(marginals, at(nodes_) * nodes_, 0.0f);
    log_partition = 0;
    if (words == 0) return true;
    into_.resize(nodes_, nodes_);
    chances_.resize(nodes_, nodes_);
    escape_.resize(1, nodes_);
    escape_.clear(0, 1);
    if (levels_.empty()) levels_.resize(1);
    levels_[0].first = 1;
    levels_[0].weights.resize(nodes_, words);
    for (int h = 0; h < nodes_; ++h) {
        for (int m = 1; m < nodes_; ++m) {
            Scaled weight = h == m ? Scaled{} : exponential(scores[at(h) * nodes_ + m]);
            if (h == 0 && single_root) weight.e -= root_exponent;
            into_[m].set(h, weight);
            levels_[0].weights[h].set(m - 1, weight);
        }
    }
    eliminated_.clear();
    product_ = {1, 0};
    total_ = {};
    if (!halve(0, 1, nodes_, marginals)) return false;
    if (single_root) {
        total_.e += root_exponent;
        if (total_.e < -root_exponent / 2) return false;
    }
    log_partition = total_.log();
    return true;
}

bool MatrixTree::halve(std::size_t level, int begin, int end, float* marginals) {
    if (end - begin == 1) {
        reach(begin, marginals);
        return !total_.is_zero();
    }
    const int middle = (begin + end) / 2;
    copy(level, begin, end);
    for (int word = end - 1; word >= middle; --word) {
        if (!eliminate(levels_[level + 1], word, begin, word)) return false;
    }
    if (!halve(level + 1, begin, middle, marginals)) return false;
    eliminated_.resize(eliminated_.size() - at(end - middle));
    copy(level, begin, end);
    for (int word = begin; word < middle; ++word) {
        if (!eliminate(levels_[level + 1], word, word + 1, end)) return false;
    }
    if (!halve(level + 1, middle, end, marginals)) return false;
    eliminated_.resize(eliminated_.size() - at(middle - begin));
    return true;
}

// The part of one level that concerns the words begin … end, to the next.
void MatrixTree::copy(std::size_t level, int begin, int end) {
    if (levels_.size() < level + 2) levels_.resize(level + 2);
    Level& from = levels_[level];
    Level& to = levels_[level + 1];
    const int words = end - begin;
    to.first = begin;
    to.weights.resize(words + 1, words);
    to.weights.clear(0, words + 1);
    for (int row = 0; row <= words; ++row) {
        const ScaledRow source = from.weights[row == 0 ? 0 : row + begin - from.first] + (begin - from.first);
        std::copy_n(source.m, words, to.weights[row].m);
        std::copy_n(source.e, words, to.weights[row].e);
    }
}

// Takes a word out; begin … end are the words left.
bool MatrixTree::eliminate(Level& level, int word, int begin, int end) {
    const TreeKernels& kernels = tree_kernels();
    const int column = word - level.first;
    const int first_row = 1 + begin - level.first, last_row = 1 + end - level.first;
    Scaled sum = normalised(level.weights[0][column]);
    for (int row = first_row; row < last_row; ++row) sum = sum + normalised(level.weights[row][column]);
    if (sum.is_zero()) return false;
    if (total_.is_zero()) product_ = product_ * sum;

    const int first_block = block_of(begin - level.first), last_block = padded(end - level.first);
    const ScaledRow arcs = level.weights[1 + column];
    kernels.normalise(arcs, first_block, last_block);
    const ScaledRow chances = chances_[word];
    for (int h = block_of(begin); h < padded(end); ++h) chances.set(h, {});
    const auto redirect = [&](int row, int head) {
        const Scaled chance = normalised(level.weights[row][column]) / sum;
        chances.set(head, chance);
        if (!chance.is_zero()) kernels.add_multiple(level.weights[row], chance, arcs, first_block, last_block);
    };
    redirect(0, 0);
    for (int row = first_row; row < last_row; ++row) redirect(row, begin + row - first_row);
    eliminated_.push_back({word, begin, end});
    return true;
}

// All words but this one are out: walks from each of them, those taken out last first.
void MatrixTree::reach(int word, float* marginals) {
    const TreeKernels& kernels = tree_kernels();
    const ScaledRow escape = escape_[0];
    escape_.clear(0, 1);
    for (auto step = eliminated_.rbegin(); step != eliminated_.rend(); ++step) {
        const ScaledRow chances = chances_[step->word];
        const Scaled by_others = kernels.dot(chances, escape, block_of(step->begin), padded(step->end));
        escape.set(step->word, chances[0] + by_others);
    }
    const ScaledRow into = into_[word];
    Scaled sum = into[0];
    for (int h = 1; h < nodes_; ++h) sum = sum + into[h] * escape[h];
    if (sum.is_zero()) return;
    if (total_.is_zero()) total_ = product_ * sum;
    marginals[word] = static_cast<float>(ratio(into[0], sum));
    for (int h = 1; h < nodes_; ++h) {
        marginals[at(h) * nodes_ + word] = static_cast<float>(ratio(into[h] * escape[h], sum));
    }
}

}  // namespace dualstruct::trees
