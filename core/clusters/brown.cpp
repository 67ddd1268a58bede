#include "clusters/brown.hpp"

#include <algorithm>
#include <numeric>

#include "base/errors.hpp"
#include "base/index.hpp"
#include "base/parallel.hpp"

namespace dualstruct::clusters {

std::vector<std::int32_t> clusters_after(std::int64_t words, std::span<const Merge> merges) {
    std::vector<std::int32_t> cluster(at(words));
    std::iota(cluster.begin(), cluster.end(), 0);
    for (const auto& [kept, gone] : merges) cluster[at(gone)] = kept;
    // A cluster goes to one whose number is smaller, which is therefore final by then.
    for (auto& each : cluster) each = cluster[at(each)];
    return cluster;
}

Brown::Brown(std::shared_ptr<const Neighbours> neighbours, std::int64_t clusters, std::vector<Merge> merges,
             int threads)
    : neighbours_(std::move(neighbours)), slots_(at(clusters + 1)), stride_((slots_ + 15) / 16 * 16),
      merges_(std::move(merges)), parent_(at(neighbours_->size())), slot_of_(at(neighbours_->size()), none),
      leader_(slots_, none), left_(slots_, 0), right_(slots_, 0), after_(slots_ * stride_, 0),
      before_(slots_ * stride_, 0), losses_(slots_ * stride_, never), best_(slots_, none), is_beside_(slots_, 0) {
    if (clusters < 2 || clusters > neighbours_->size()) {
        throw InputError("there are " + std::to_string(neighbours_->size()) + " words for " + std::to_string(clusters) +
                         " clusters");
    }
    std::iota(parent_.begin(), parent_.end(), 0);
    added_ = std::min(clusters + static_cast<std::int64_t>(merges_.size()), neighbours_->size());
    std::vector<std::uint8_t> gone(at(added_), 0);
    for (const auto& [kept, other] : merges_) {
        if (kept < 0 || kept >= other || other >= added_ || gone[at(kept)] || gone[at(other)]) {
            throw InputError("these merges are of other words");
        }
        gone[at(other)] = 1;
        parent_[at(other)] = kept;
    }
    start(threads);
}

// The tables for the clusters as they are.
void Brown::start(int threads) {
    std::size_t slot = 0;
    for (std::int32_t word = 0; word < added_; ++word) {
        if (root(word) == word) place(word, slot++);
    }
    for (std::int32_t word = 0; word < added_; ++word) {
        const auto own = at(slot_of_[at(root(word))]);
        if (root(word) != word) {
            left_[own] += neighbours_->left[at(word)];
            right_[own] += neighbours_->right[at(word)];
        }
        const Counts& rows = neighbours_->after;
        for (std::int64_t each = rows.offsets[at(word)]; each < rows.offsets[at(word) + 1]; ++each) {
            const std::int32_t other = rows.words[at(each)];
            if (other >= added_) break;  // they are sorted
            count(own, at(slot_of_[at(root(other))]), rows.counts[at(each)]);
        }
    }
    for_each_range(static_cast<std::int64_t>(slot), threads, [&](std::int64_t begin, std::int64_t end, int) {
        std::vector<Loss> shared(stride_);
        for (std::int64_t s = begin; s < end; ++s) {
            compute_losses(at(s), {0, slot}, shared.data());
            rescan(at(s));
        }
    });
}

// L of s and all of the range, in the row of s.
void Brown::compute_losses(std::size_t s, Range range, Loss* shared) {
    std::fill(shared + range.begin, shared + range.end, 0);
    for (std::size_t u = 0; u < slots_; ++u) {
        if (n(s, u)) add_shared(before(u), n(s, u), range, shared);
        if (n(u, s)) add_shared(after(u), n(u, s), range, shared);
    }
    for (std::size_t t = range.begin; t < range.end; ++t) {
        if (t == s || !active(t)) continue;
        losses(s)[t] = loss_apart(left_[s], right_[s], t, n(s, s), n(s, t), n(t, s)) - shared[t];
    }
}

void Brown::count(std::size_t s, std::size_t u, Count many) {
    after_[s * stride_ + u] += many;
    before_[u * stride_ + s] += many;
}

std::int32_t Brown::root(std::int32_t word) {
    while (parent_[at(word)] != word) {
        parent_[at(word)] = parent_[at(parent_[at(word)])];
        word = parent_[at(word)];
    }
    return word;
}

void Brown::place(std::int32_t word, std::size_t slot) {
    slot_of_[at(word)] = static_cast<std::int32_t>(slot);
    leader_[slot] = word;
    left_[slot] = neighbours_->left[at(word)];
    right_[slot] = neighbours_->right[at(word)];
}

Brown::Loss Brown::loss_apart(std::uint64_t left_s, std::uint64_t right_s, std::size_t t, Count ss, Count st,
                              Count ts) const {
    const auto& f = information_;
    const Count tt = n(t, t);
    const Loss within = f.of(std::uint64_t{ss} + st + ts + tt) - f.of(ss) - f.of(st) - f.of(ts) - f.of(tt);
    // The sum over u counts these among other things.
    const Loss summed = f.shared(ss, ts) + f.shared(st, tt) + f.shared(ss, st) + f.shared(ts, tt);
    return f.shared(left_s, left_[t]) + f.shared(right_s, right_[t]) + summed - within;
}

// out[t] += g(x, y[t])
void Brown::add_shared(const Count* y, Count x, Range range, Loss* out) const {
    const Loss fx = information_.of(x);
    for (std::size_t t = range.begin; t < range.end; ++t) {
        out[t] += information_.of(std::uint64_t{x} + y[t]) - fx - information_.of(y[t]);
    }
}

// out[t] += g(x + more, y[t]) − g(x, y[t])
void Brown::add_growth(const Count* y, Count x, Count more, Range range, Loss* out) const {
    const std::uint64_t grown = std::uint64_t{x} + more;
    const Loss apart = information_.of(grown) - information_.of(x);
    for (std::size_t t = range.begin; t < range.end; ++t) {
        out[t] += information_.of(grown + y[t]) - information_.of(std::uint64_t{x} + y[t]) - apart;
    }
}

// The next word gets the slot that is free, if there is one left.
void Brown::add_next() {
    new_ = none;
    for (const std::size_t slot : beside_) is_beside_[slot] = 0;
    beside_.clear();
    if (added_ >= neighbours_->size()) return;
    const auto slot = at(std::find(leader_.begin(), leader_.end(), none) - leader_.begin());
    const auto word = static_cast<std::int32_t>(added_++);
    place(word, slot);
    new_ = static_cast<std::int32_t>(slot);
    const auto each_known = [&](const Counts& rows, auto take) {
        for (std::int64_t each = rows.offsets[at(word)]; each < rows.offsets[at(word) + 1]; ++each) {
            const std::int32_t other = rows.words[at(each)];
            if (other > word) break;  // they are sorted
            take(other, at(slot_of_[at(root(other))]), rows.counts[at(each)]);
        }
    };
    const auto note = [&](std::size_t other) {
        if (!is_beside_[other]) beside_.push_back(other);
        is_beside_[other] = 1;
    };
    each_known(neighbours_->after, [&](std::int32_t, std::size_t other, Count many) {
        count(slot, other, many);
        note(other);
    });
    each_known(neighbours_->before, [&](std::int32_t other_word, std::size_t other, Count many) {
        if (other_word != word) count(other, slot, many);
        note(other);
    });
}

void Brown::losses_of_new(Range range, Loss* shared) {
    const auto slot = at(new_);
    std::fill(shared + range.begin, shared + range.end, 0);
    for (const std::size_t u : beside_) {
        if (n(slot, u)) add_shared(before(u), n(slot, u), range, shared);
        if (n(u, slot)) add_shared(after(u), n(u, slot), range, shared);
    }
    for (std::size_t t = range.begin; t < range.end; ++t) {
        if (t == slot || !active(t)) continue;
        const Loss loss = loss_apart(left_[slot], right_[slot], t, n(slot, slot), n(slot, t), n(t, slot)) - shared[t];
        losses(slot)[t] = losses(t)[slot] = loss;
        if (!is_beside_[t]) continue;
        for (const std::size_t s : beside_) {  // what both of them have beside them became more by one
            if (s == t || s == slot) continue;
            losses(t)[s] -= information_.shared(n(t, slot), n(s, slot)) + information_.shared(n(slot, t), n(slot, s));
            offer(t, s);
        }
    }
}

bool Brown::precedes(Loss loss, std::size_t slot, std::size_t other, Loss than, std::size_t slot_than,
                     std::size_t other_than) const {
    if (loss != than) return loss < than;
    const auto pair = [&](std::size_t a, std::size_t b) { return std::minmax({leader_[a], leader_[b]}); };
    return pair(slot, other) < pair(slot_than, other_than);
}

void Brown::offer(std::size_t slot, std::size_t other) {
    const std::int32_t best = best_[slot];
    const Loss* row = losses(slot);
    if (best == none || precedes(row[other], slot, other, row[at(best)], slot, at(best))) {
        best_[slot] = static_cast<std::int32_t>(other);
    }
}

void Brown::rescan(std::size_t slot) {
    const Loss* row = losses(slot);
    Loss least = never;
    for (std::size_t other = 0; other < slots_; ++other) least = std::min(least, row[other]);
    best_[slot] = none;
    if (least == never) return;
    for (std::size_t other = 0; other < slots_; ++other) {
        if (row[other] == least) offer(slot, other);
    }
}

void Brown::choose() {
    std::size_t a = slots_, b = 0;
    Loss least = never;
    const auto consider = [&](std::size_t slot, std::size_t other) {
        const Loss loss = losses(slot)[other];
        if (a == slots_ || precedes(loss, slot, other, least, a, b)) {
            a = slot, b = other, least = loss;
        }
    };
    for (std::size_t slot = 0; slot < slots_; ++slot) {
        if (!active(slot) || slot == at(new_)) continue;
        if (best_[slot] != none) consider(slot, at(best_[slot]));
        if (new_ != none) consider(slot, at(new_));
    }
    const auto width = [&](std::size_t slot) {
        std::size_t many = 0;
        for (std::size_t u = 0; u < slots_; ++u) many += (after(slot)[u] != 0) + (before(slot)[u] != 0);
        return many;
    };
    // The one with less beside it goes: less has to be changed.
    if (width(a) < width(b)) std::swap(a, b);
    kept_ = a, gone_ = b;
    merges_.emplace_back(std::minmax(leader_[a], leader_[b]));
    leader_[a] = merges_.back().first;
    for (const std::size_t slot : beside_) is_beside_[slot] = 0;
    beside_.clear();
    for (std::size_t u = 0; u < slots_; ++u) {
        if (u == a || u == b || (after(b)[u] == 0 && before(b)[u] == 0)) continue;
        beside_.push_back(u);
        is_beside_[u] = 1;
    }
}

void Brown::merge_losses(Range range, Loss* shared) {
    const auto& f = information_;
    const std::size_t a = kept_, b = gone_;
    const auto outside = [&](std::size_t t) { return t == a || t == b || !active(t); };
    // The row of the merged cluster: what it had, and what the other one adds.
    const Count aa = n(a, a), ab = n(a, b), ba = n(b, a), merged = aa + ab + ba + n(b, b);
    for (std::size_t t = range.begin; t < range.end; ++t) {
        if (outside(t)) continue;
        shared[t] = loss_apart(left_[a], right_[a], t, aa, n(a, t), n(t, a)) - losses(a)[t];
        shared[t] += f.shared(merged, std::uint64_t{n(t, a)} + n(t, b)) - f.shared(aa, n(t, a)) - f.shared(ab, n(t, b));
        shared[t] += f.shared(merged, std::uint64_t{n(a, t)} + n(b, t)) - f.shared(aa, n(a, t)) - f.shared(ba, n(b, t));
    }
    for (const std::size_t u : beside_) {
        if (n(b, u)) add_growth(before(u), n(a, u), n(b, u), range, shared);
        if (n(u, b)) add_growth(after(u), n(u, a), n(u, b), range, shared);
    }
    for (std::size_t t = range.begin; t < range.end; ++t) {
        losses(b)[t] = losses(t)[b] = never;
        if (outside(t)) continue;
        const Loss apart =
            loss_apart(left_[a] + left_[b], right_[a] + right_[b], t, merged, n(a, t) + n(b, t), n(t, a) + n(t, b));
        losses(a)[t] = losses(t)[a] = apart - shared[t];
    }
    // Other rows: only where one of both stands beside the one that goes. Entries whose row and column both do are
    // changed by the owner of each, the others on both sides of the diagonal by the owner of the one that does not.
    for (const std::size_t s : beside_) {
        std::fill(shared + range.begin, shared + range.end, 0);
        const Count sa = n(s, a), sb = n(s, b), as = n(a, s), bs = n(b, s);
        if (sb) add_growth(before(a), sa, sb, range, shared);
        if (bs) add_growth(after(a), as, bs, range, shared);
        Loss* row = losses(s);
        for (std::size_t t = range.begin; t < range.end; ++t) {
            if (outside(t) || t == s) continue;
            if (is_beside_[t]) {
                const Count ta = n(t, a), tb = n(t, b), a_t = n(a, t), b_t = n(b, t);
                row[t] -= f.shared(std::uint64_t{sa} + sb, std::uint64_t{ta} + tb) - f.shared(sa, ta) -
                          f.shared(sb, tb) + f.shared(std::uint64_t{as} + bs, std::uint64_t{a_t} + b_t) -
                          f.shared(as, a_t) - f.shared(bs, b_t);
            } else if (shared[t]) {
                row[t] -= shared[t];
                losses(t)[s] = row[t];
            }
        }
    }
}

void Brown::update_best(Range range) {
    const bool joins = new_ != none && at(new_) != kept_ && at(new_) != gone_;
    const auto changed = [&](std::size_t slot) { return slot == kept_ || slot == gone_ || is_beside_[slot]; };
    for (std::size_t slot = range.begin; slot < range.end; ++slot) {
        if (slot == gone_ || !active(slot)) continue;
        const bool is_new = joins && slot == at(new_);
        if (is_new || changed(slot) || best_[slot] == none || changed(at(best_[slot]))) {
            rescan(slot);
            continue;
        }
        offer(slot, kept_);
        if (joins) offer(slot, at(new_));
        for (const std::size_t other : beside_) offer(slot, other);
    }
}

void Brown::fold() {
    const std::size_t a = kept_, b = gone_;
    const auto move = [&](std::size_t from_s, std::size_t from_u, std::size_t to_s, std::size_t to_u) {
        const Count many = n(from_s, from_u);
        after_[from_s * stride_ + from_u] = before_[from_u * stride_ + from_s] = 0;
        count(to_s, to_u, many);
    };
    for (const std::size_t u : beside_) {
        move(b, u, a, u);
        move(u, b, u, a);
    }
    move(a, b, a, a);
    move(b, a, a, a);
    move(b, b, a, a);
    left_[a] += left_[b];
    right_[a] += right_[b];
    const auto [kept, gone] = merges_.back();
    parent_[at(gone)] = kept;
    slot_of_[at(kept)] = static_cast<std::int32_t>(a);
    leader_[b] = none;
}

void Brown::advance(std::int64_t merges, int threads) {
    threads = std::clamp(threads, 1, most_threads());
    std::vector<std::vector<Loss>> shared(at(threads), std::vector<Loss>(stride_));
    // Rare words change little: to wake other threads for them would take longer than the work.
    const auto for_all_slots = [&](auto work) {
        const std::size_t useful = std::min(beside_.size() * slots_ / worth_a_thread, at(threads));
        const auto slots = static_cast<std::int64_t>(slots_);
        for_each_range(slots, static_cast<int>(useful), [&](std::int64_t begin, std::int64_t end, int range) {
            work(Range{at(begin), at(end)}, shared[at(range)].data());
        });
    };
    merges = std::min(merges, merges_in_all() - static_cast<std::int64_t>(merges_.size()));
    for (; merges > 0; --merges) {
        add_next();
        if (new_ != none) for_all_slots([&](Range range, Loss* room) { losses_of_new(range, room); });
        choose();
        for_all_slots([&](Range range, Loss* room) { merge_losses(range, room); });
        for_all_slots([&](Range range, Loss*) { update_best(range); });
        fold();
    }
}

}  // namespace dualstruct::clusters
