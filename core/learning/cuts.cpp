#include "learning/cuts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/index.hpp"

namespace dualstruct {

static_assert(sizeof(Cut) % (2 * sizeof(Code)) == 0);

void CutStore::Block::resize(std::size_t size) {
    if (size > UINT32_MAX) throw std::length_error("the cuts of one example need more than 16 GB");
    auto moved = std::make_unique_for_overwrite<std::byte[]>(size * sizeof(Code));
    std::copy_n(bytes.get(), used * sizeof(Code), moved.get());
    bytes = std::move(moved);
    capacity = static_cast<std::uint32_t>(size);
}

Cut* CutStore::find(std::int64_t i, std::span<const Code> codes) {
    Cut* found = nullptr;
    for_each(i, [&](Cut& cut) {
        if (!found && std::ranges::equal(cut.codes(), codes)) found = &cut;
    });
    return found;
}

Cut& CutStore::add(std::int64_t i, const Difference& difference, double norm2) {
    const Cut head{.alpha = 0,
                   .cost = difference.cost,
                   .norm2 = static_cast<float>(norm2),
                   .count = static_cast<std::uint32_t>(difference.codes.size()),
                   .deferred = 0};
    return append(i, head, difference.codes);
}

Cut& CutStore::append(std::int64_t i, const Cut& head, std::span<const Code> codes) {
    Block& b = block(i);
    const std::size_t needed = b.used + head.extent();
    if (needed > b.capacity) b.resize((needed * 3 / 2 + 8) / 2 * 2);
    std::byte* place = begin(i) + b.used * sizeof(Code);
    std::memcpy(place, &head, sizeof head);
    std::byte* const end = std::ranges::copy(std::as_bytes(codes), place + sizeof head).out;
    std::fill(end, place + head.extent() * sizeof(Code), std::byte{0});  // padding goes into checkpoints, too
    b.used += static_cast<std::uint32_t>(head.extent());
    cuts_.fetch_add(1, std::memory_order_relaxed);
    return *reinterpret_cast<Cut*>(place);
}

void CutStore::remove_zeros(std::int64_t i) {
    Block& b = block(i);
    std::byte* write = begin(i);
    const std::byte* end = this->end(i);
    std::int64_t removed = 0;
    for (const std::byte* read = write; read < end;) {
        const Cut& cut = *reinterpret_cast<const Cut*>(read);
        const std::size_t extent = cut.extent() * sizeof(Code);
        if (cut.alpha > 0) {
            if (write != read) std::memmove(write, read, extent);
            write += extent;
        } else {
            ++removed;
        }
        read += extent;
    }
    cuts_.fetch_sub(removed, std::memory_order_relaxed);
    b.used = static_cast<std::uint32_t>((write - begin(i)) / sizeof(Code));
    if (b.used < b.capacity / 4) b.resize(b.used);
}

std::vector<Code> CutStore::save(std::vector<std::int64_t>& codes_of_example) const {
    codes_of_example.clear();
    for (const Block& b : blocks_) codes_of_example.push_back(b.used);
    std::vector<Code> codes(at(std::accumulate(codes_of_example.begin(), codes_of_example.end(), std::int64_t{0})));
    auto to = std::as_writable_bytes(std::span(codes)).begin();
    for (const Block& b : blocks_) to = std::copy_n(b.bytes.get(), b.used * sizeof(Code), to);
    return codes;
}

namespace {

// Numbers that may have been computed by another instruction set.
bool alike(double saved, double made) { return std::abs(saved - made) <= 1e-4 * std::abs(made); }

// Whether the structure could have made a cut that comes from outside.
bool could_be(const Cut& head, std::span<const Code> codes, const Examples& from, std::int64_t i) {
    return std::isfinite(head.alpha) && head.alpha >= 0 && std::isfinite(head.cost) && std::isfinite(head.norm2) &&
           head.norm2 >= 0 && from.structure.is_valid(from[i], codes);
}

}  // namespace

void CutStore::load(std::span<const Code> codes, std::span<const std::int64_t> codes_of_example, const Examples& from) {
    const auto check = [](bool good) {
        if (!good) throw std::invalid_argument("the saved cuts are damaged or belong to other data");
    };
    if (codes_of_example.size() != blocks_.size()) {
        throw std::invalid_argument("the saved cuts belong to another number of examples");
    }
    const auto scratch = from.structure.make_scratch();
    Difference made;
    CutStore loaded(examples());
    std::size_t offset = 0;
    for (std::int64_t i = 0; i < examples(); ++i) {
        const std::int64_t count = codes_of_example[at(i)];
        check(count >= 0 && count <= std::int64_t{UINT32_MAX} && at(count) <= codes.size() - offset);
        const std::size_t end = offset + at(count);
        loaded.block(i).resize(at(count));
        while (offset < end) {
            Cut head;
            check(end - offset >= sizeof head / sizeof(Code));
            std::memcpy(&head, codes.data() + offset, sizeof head);
            check(head.extent() <= end - offset && head.alpha >= 0 && std::isfinite(head.alpha));
            check(from.structure.remake(from[i], codes.subspan(offset + sizeof head / sizeof(Code), head.count),
                                        *scratch, made));
            const double norm2 = from.structure.inner(from[i], made.codes, made.codes, *scratch);
            if (!alike(head.cost, made.cost) || !alike(head.norm2, norm2)) {
                throw std::invalid_argument("the saved cuts claim other costs or features than their outputs have");
            }
            check(std::isfinite(head.deferred));
            Cut& cut = loaded.add(i, made, norm2);
            cut.alpha = head.alpha;
            cut.deferred = head.deferred;
            offset += head.extent();
        }
    }
    check(offset == codes.size());
    blocks_ = std::move(loaded.blocks_);
    cuts_ = loaded.size();
}

namespace {

// A cut of a saved block: arrays from outside need not be aligned as heads are.
struct SavedCut {
    Cut head;
    std::span<const Code> codes;
};

// The cuts of a saved block, each taken out when its match is found. Cuts keep their order, but for those that come
// back: a match is most often the first that is left.
class SavedCuts {
public:
    void read(std::span<const Code> block, std::int64_t i, const Examples& from) {
        cuts_.clear();
        first_ = 0;
        while (!block.empty()) {
            Cut head;
            if (block.size() < sizeof head / sizeof(Code)) throw std::invalid_argument("the saved cuts are damaged");
            std::memcpy(&head, block.data(), sizeof head);
            if (block.size() < head.extent() ||
                !could_be(head, block.subspan(sizeof head / sizeof(Code), head.count), from, i)) {
                throw std::invalid_argument("the saved cuts are damaged");
            }
            cuts_.push_back({head, block.subspan(sizeof head / sizeof(Code), head.count)});
            block = block.subspan(head.extent());
        }
    }
    // The α of the same cut, 0 if there is none; the cut is taken out.
    double take(const Cut& cut) {
        for (std::size_t k = first_; k < cuts_.size(); ++k) {
            if (!std::ranges::equal(cuts_[k].codes, cut.codes())) continue;
            const double alpha = cuts_[k].head.alpha;
            std::move_backward(cuts_.begin() + static_cast<std::ptrdiff_t>(first_),
                               cuts_.begin() + static_cast<std::ptrdiff_t>(k),
                               cuts_.begin() + static_cast<std::ptrdiff_t>(k) + 1);
            ++first_;
            return alpha;
        }
        return 0;
    }
    std::span<SavedCut> left() { return std::span(cuts_).subspan(first_); }

private:
    std::vector<SavedCut> cuts_;
    std::size_t first_ = 0;  // those before were taken
};

// visit(i, codes) of every example's saved block.
template <class Visit>
void for_each_saved(std::span<const Code> codes, std::span<const std::int64_t> codes_of_example, std::int64_t examples,
                    Visit visit) {
    if (static_cast<std::int64_t>(codes_of_example.size()) != examples) {
        throw std::invalid_argument("the saved cuts belong to another number of examples");
    }
    for (std::int64_t i = 0; i < examples; ++i) {
        const auto count = at(codes_of_example[at(i)]);
        if (count > codes.size()) throw std::invalid_argument("the saved cuts are damaged");
        visit(i, codes.first(count));
        codes = codes.subspan(count);
    }
}

}  // namespace

bool CutStore::is_as_saved(std::int64_t i, std::span<const Code> codes) const {
    return std::ranges::equal(std::span(begin(i), end(i)), std::as_bytes(codes));
}

void CutStore::interpolate(std::span<const Code> codes, std::span<const std::int64_t> codes_of_example, double step,
                           const Examples& from) {
    SavedCuts before;
    for_each_saved(codes, codes_of_example, examples(), [&](std::int64_t i, std::span<const Code> saved) {
        if (is_as_saved(i, saved)) return;
        before.read(saved, i, from);
        bool zeros = false;
        for_each(i, [&](Cut& cut) {
            const double from = before.take(cut);
            cut.alpha = std::max(from + step * (cut.alpha - from), 0.0);
            zeros = zeros || cut.alpha == 0;
        });
        for (SavedCut& dropped : before.left()) {
            dropped.head.alpha = std::max((1 - step) * dropped.head.alpha, 0.0);
            dropped.head.deferred = 0;  // the average was told when it was dropped
            if (dropped.head.alpha > 0) append(i, dropped.head, dropped.codes);
        }
        if (zeros) remove_zeros(i);
    });
}

void CutStore::compare(std::span<const Code> codes, std::span<const std::int64_t> codes_of_example,
                       const Examples& from, const Comparison& visit) const {
    SavedCuts saved;
    for_each_saved(codes, codes_of_example, examples(), [&](std::int64_t i, std::span<const Code> block) {
        if (is_as_saved(i, block)) return;
        saved.read(block, i, from);
        for_each(i, [&](const Cut& cut) { visit(i, cut.codes(), saved.take(cut), cut.alpha); });
        for (const SavedCut& dropped : saved.left()) visit(i, dropped.codes, dropped.head.alpha, 0);
    });
}

}  // namespace dualstruct
