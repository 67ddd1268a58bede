// Brown clustering: words are merged so that their clusters say as much as possible about the next one's.
//
// The window of Brown et al. (1992), "Class-based n-gram models of natural language", section 3: the C most frequent
// words are clusters; each further word becomes one more, and of the C + 1 the two are merged that lose the least
// mutual information of neighbours. In the end all clusters are merged in the same way, which makes a binary tree.
//
// With n(s, u) pairs of clusters, f(x) = x log2 x and g(x, y) = f(x + y) − f(x) − f(y), merging s and t loses
//
//     L(s, t) = g(left s, left t) + g(right s, right t) − Σ_u [g(n(s, u), n(t, u)) + g(n(u, s), n(u, t))]
//
// (times the number of pairs; the four pairs within {s, t} are counted apart). g is 0 where one of both is 0, so that
// a word that stands beside k clusters changes only k rows of L when it comes or goes: O(k C) instead of O(C²).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "clusters/information.hpp"
#include "clusters/neighbours.hpp"

namespace dualstruct::clusters {

// Two clusters, each by its most frequent word; the first is the more frequent one, and names both from then on.
using Merge = std::pair<std::int32_t, std::int32_t>;

// The cluster of each word, by its most frequent word, after these merges.
std::vector<std::int32_t> clusters_after(std::int64_t words, std::span<const Merge> merges);

class Brown {
public:
    // Continues after the merges of an earlier run, if there are any.
    Brown(std::shared_ptr<const Neighbours> neighbours, std::int64_t clusters, std::vector<Merge> merges, int threads);

    // So many more merges, or as many as are left.
    void advance(std::int64_t merges, int threads);

    const std::vector<Merge>& merges() const { return merges_; }
    std::int64_t merges_in_all() const { return neighbours_->size() - 1; }

private:
    using Count = std::uint32_t;
    using Loss = std::int64_t;
    static constexpr Loss never = INT64_MAX / 2;
    static constexpr std::int32_t none = -1;
    // So many entries of the losses that change are enough for one more thread.
    static constexpr std::size_t worth_a_thread = 100'000;

    // What a phase works on: the slots of one thread.
    struct Range {
        std::size_t begin, end;
    };

    Count n(std::size_t s, std::size_t u) const { return after_[s * stride_ + u]; }
    void count(std::size_t s, std::size_t u, Count many);
    Loss* losses(std::size_t s) { return losses_.data() + s * stride_; }
    const Count* after(std::size_t s) const { return after_.data() + s * stride_; }    // [u] n(s, u)
    const Count* before(std::size_t s) const { return before_.data() + s * stride_; }  // [u] n(u, s)

    std::int32_t root(std::int32_t word);
    void place(std::int32_t word, std::size_t slot);
    bool active(std::size_t slot) const { return leader_[slot] != none; }

    // L(s, t) without the sum over u, from the counts within {s, t}.
    Loss loss_apart(std::uint64_t left_s, std::uint64_t right_s, std::size_t t, Count ss, Count st, Count ts) const;
    void add_shared(const Count* y, Count x, Range range, Loss* out) const;
    void add_growth(const Count* y, Count x, Count more, Range range, Loss* out) const;

    void compute_losses(std::size_t s, Range range, Loss* shared);
    void start(int threads);
    void add_next();                                         // by one thread
    void losses_of_new(Range range, Loss* shared);           // by all
    void choose();                                           // by one
    void merge_losses(Range range, Loss* shared);            // by all
    void update_best(Range range);                           // by all
    void fold();                                             // by one
    void rescan(std::size_t slot);
    void offer(std::size_t slot, std::size_t other);
    bool precedes(Loss loss, std::size_t slot, std::size_t other, Loss than, std::size_t slot_than,
                  std::size_t other_than) const;

    std::shared_ptr<const Neighbours> neighbours_;
    std::size_t slots_, stride_;  // a slot for each cluster of the window and the word that comes
    std::vector<Merge> merges_;
    std::int64_t added_ = 0;            // words that are in a cluster
    std::vector<std::int32_t> parent_;  // [word] of the trees of merged words
    std::vector<std::int32_t> slot_of_;  // [word] of its cluster's, if it is the most frequent one of it
    std::vector<std::int32_t> leader_;  // [slot] the most frequent word of its cluster
    std::vector<std::uint64_t> left_, right_;  // [slot]
    std::vector<Count> after_, before_;        // [slot][slot] n, and the same transposed
    std::vector<Loss> losses_;                 // [slot][slot] L, on both sides of the diagonal
    std::vector<std::int32_t> best_;           // [slot] with which other old cluster it loses the least
    std::int32_t new_ = none;                  // the slot of the word that has just come; in nobody's best_
    std::size_t kept_ = 0, gone_ = 0;          // the slots to merge
    std::vector<std::size_t> beside_;          // slots beside the one that comes or goes, in pairs of either order
    std::vector<std::uint8_t> is_beside_;      // [slot]
    Information information_;
};

}  // namespace dualstruct::clusters
