#include "cuts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace dualstruct {

static_assert(sizeof(Cut) % (2 * sizeof(Word)) == 0);

void CutStore::Block::resize(std::size_t size) {
    if (size > UINT32_MAX) throw std::length_error("the cuts of one example need more than 16 GB");
    auto moved = std::make_unique_for_overwrite<Word[]>(size);
    std::copy_n(words.get(), used, moved.get());
    words = std::move(moved);
    capacity = static_cast<std::uint32_t>(size);
}

Cut* CutStore::find(std::int64_t i, std::span<const Word> words) {
    Cut* found = nullptr;
    for_each(i, [&](Cut& cut) {
        if (!found && std::ranges::equal(cut.words(), words)) found = &cut;
    });
    return found;
}

Cut& CutStore::add(std::int64_t i, const Difference& difference, double norm2) {
    const Cut head{.alpha = 0,
                   .cost = difference.cost,
                   .norm2 = static_cast<float>(norm2),
                   .count = static_cast<std::uint32_t>(difference.words.size()),
                   .unused = 0};
    return append(i, head, difference.words);
}

Cut& CutStore::append(std::int64_t i, const Cut& head, std::span<const Word> words) {
    Block& b = block(i);
    const std::size_t needed = b.used + head.extent();
    if (needed > b.capacity) b.resize((needed * 3 / 2 + 8) / 2 * 2);
    Word* at = begin(i) + b.used;
    std::memcpy(at, &head, sizeof head);
    std::ranges::copy(words, at + sizeof head / sizeof(Word));
    b.used += static_cast<std::uint32_t>(head.extent());
    cuts_.fetch_add(1, std::memory_order_relaxed);
    return *reinterpret_cast<Cut*>(at);
}

void CutStore::remove_zeros(std::int64_t i) {
    Block& b = block(i);
    Word* write = begin(i);
    const Word* end = write + b.used;
    std::int64_t removed = 0;
    for (const Word* read = write; read < end;) {
        const Cut& cut = *reinterpret_cast<const Cut*>(read);
        const std::size_t extent = cut.extent();
        if (cut.alpha > 0) {
            if (write != read) std::memmove(write, read, extent * sizeof(Word));
            write += extent;
        } else {
            ++removed;
        }
        read += extent;
    }
    cuts_.fetch_sub(removed, std::memory_order_relaxed);
    b.used = static_cast<std::uint32_t>(write - begin(i));
    if (b.used < b.capacity / 4) b.resize(b.used);
}

std::vector<Word> CutStore::save(std::vector<std::int64_t>& words_of_example) const {
    std::vector<Word> words;
    words_of_example.clear();
    for (const Block& b : blocks_) {
        words.insert(words.end(), b.words.get(), b.words.get() + b.used);
        words_of_example.push_back(b.used);
    }
    return words;
}

void CutStore::load(std::span<const Word> words, std::span<const std::int64_t> words_of_example,
                    const Structure& structure) {
    const auto check = [](bool good) {
        if (!good) throw std::invalid_argument("the saved cuts are damaged or belong to other data");
    };
    if (words_of_example.size() != blocks_.size()) {
        throw std::invalid_argument("the saved cuts belong to another number of examples");
    }
    std::vector<Block> blocks(blocks_.size());
    std::int64_t cuts = 0;
    std::size_t offset = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const std::int64_t count = words_of_example[i];
        check(count >= 0 && count % 2 == 0 && count <= std::int64_t{UINT32_MAX} &&
              static_cast<std::size_t>(count) <= words.size() - offset);
        std::size_t at = offset;
        const std::size_t end = offset + static_cast<std::size_t>(count);
        while (at < end) {
            Cut head;
            check(end - at >= sizeof head / sizeof(Word));
            std::memcpy(&head, words.data() + at, sizeof head);
            check(head.extent() <= end - at && std::isfinite(head.alpha) && head.norm2 >= 0);
            check(structure.is_valid(static_cast<std::int64_t>(i),
                                     words.subspan(at + sizeof head / sizeof(Word), head.count)));
            at += head.extent();
            ++cuts;
        }
        blocks[i].resize(static_cast<std::size_t>(count));
        blocks[i].used = static_cast<std::uint32_t>(count);
        std::copy_n(words.data() + offset, count, blocks[i].words.get());
        offset = end;
    }
    check(offset == words.size());
    blocks_ = std::move(blocks);
    cuts_ = cuts;
}

namespace {

// A cut of a saved block: arrays from outside need not be aligned as heads are.
struct SavedCut {
    Cut head;
    std::span<const Word> words;
};

std::vector<SavedCut> saved_cuts(std::span<const Word> block) {
    std::vector<SavedCut> cuts;
    while (!block.empty()) {
        Cut head;
        if (block.size() < sizeof head / sizeof(Word)) throw std::invalid_argument("the saved cuts are damaged");
        std::memcpy(&head, block.data(), sizeof head);
        if (block.size() < head.extent()) throw std::invalid_argument("the saved cuts are damaged");
        cuts.push_back({head, block.subspan(sizeof head / sizeof(Word), head.count)});
        block = block.subspan(head.extent());
    }
    return cuts;
}

std::vector<SavedCut>::iterator find_saved(std::vector<SavedCut>& cuts, const Cut& cut) {
    return std::ranges::find_if(cuts, [&](const SavedCut& saved) { return std::ranges::equal(saved.words, cut.words()); });
}

// visit(i, cuts) of every example's saved cuts.
template <class Visit>
void for_each_saved(std::span<const Word> words, std::span<const std::int64_t> words_of_example,
                    std::int64_t examples, Visit visit) {
    if (static_cast<std::int64_t>(words_of_example.size()) != examples) {
        throw std::invalid_argument("the saved cuts belong to another number of examples");
    }
    for (std::int64_t i = 0; i < examples; ++i) {
        const auto count = static_cast<std::size_t>(words_of_example[static_cast<std::size_t>(i)]);
        if (count > words.size()) throw std::invalid_argument("the saved cuts are damaged");
        visit(i, saved_cuts(words.first(count)));
        words = words.subspan(count);
    }
}

}  // namespace

void CutStore::go_along(std::span<const Word> words, std::span<const std::int64_t> words_of_example, double step) {
    for_each_saved(words, words_of_example, examples(), [&](std::int64_t i, std::vector<SavedCut> before) {
        for_each(i, [&](Cut& cut) {
            const auto same = find_saved(before, cut);
            const double from = same == before.end() ? 0 : same->head.alpha;
            cut.alpha = std::max(from + step * (cut.alpha - from), 0.0);
            if (same != before.end()) before.erase(same);
        });
        for (SavedCut& dropped : before) {
            dropped.head.alpha = std::max((1 - step) * dropped.head.alpha, 0.0);
            append(i, dropped.head, dropped.words);
        }
        remove_zeros(i);
    });
}

void CutStore::for_each_change(std::span<const Word> words, std::span<const std::int64_t> words_of_example,
                               const VisitChange& visit) const {
    for_each_saved(words, words_of_example, examples(), [&](std::int64_t i, std::vector<SavedCut> before) {
        for_each(i, [&](const Cut& cut) {
            const auto same = find_saved(before, cut);
            const double from = same == before.end() ? 0 : same->head.alpha;
            if (from != cut.alpha) visit(i, cut.words(), from, cut.alpha);
            if (same != before.end()) before.erase(same);
        });
        for (const SavedCut& dropped : before) visit(i, dropped.words, dropped.head.alpha, 0);
    });
}

double CutStore::largest_step(std::span<const Word> words, std::span<const std::int64_t> words_of_example) const {
    double largest = std::numeric_limits<double>::infinity();
    for_each_change(words, words_of_example, [&](std::int64_t, std::span<const Word>, double before, double now) {
        if (now < before) largest = std::min(largest, before / (before - now));
    });
    return largest;
}

}  // namespace dualstruct
