// The cuts of every example: outputs that compete with the truth, with their dual variables.
// One contiguous block an example, newest cut last, so that an update reads memory in order; and no
// memory that two examples share, so that threads may work on different ones.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "base/prefetch.hpp"
#include "learning/examples.hpp"

namespace dualstruct {

// The head of a cut; its codes follow it in the block. Blocks are bytes, in which heads and codes live as the objects
// that they are; whole blocks are copied and compared as bytes.
struct Cut {
    double alpha;         // dual variable
    float cost;           // Δ_i(y)
    float norm2;          // ‖δ_i(y)‖²
    std::uint32_t count;  // codes
    float deferred;       // what the average of w has still to hear of, as a multiple of δ_i(y)

    std::span<const Code> codes() const { return {reinterpret_cast<const Code*>(this + 1), count}; }
    // What the head and its codes take, in units of a code: an even number.
    std::size_t extent() const { return sizeof(Cut) / sizeof(Code) + (std::size_t{count} + 1) / 2 * 2; }
};

class CutStore {
public:
    explicit CutStore(std::int64_t examples) : blocks_(at(examples)) {}

    std::int64_t size() const { return cuts_; }
    std::int64_t examples() const { return static_cast<std::int64_t>(blocks_.size()); }
    bool empty(std::int64_t i) const { return block(i).used == 0; }

    template <class Visit>
    void for_each(std::int64_t i, Visit visit) {
        std::byte* next = begin(i);
        for (const std::byte* end = this->end(i); next < end;) {
            Cut& cut = *reinterpret_cast<Cut*>(next);
            next += cut.extent() * sizeof(Code);
            visit(cut);
        }
    }
    template <class Visit>
    void for_each(std::int64_t i, Visit visit) const {
        const_cast<CutStore*>(this)->for_each(i, [&](const Cut& cut) { visit(cut); });
    }

    Cut* find(std::int64_t i, std::span<const Code> codes);
    Cut& add(std::int64_t i, const Difference& difference, double norm2);
    void remove_zeros(std::int64_t i);

    void prefetch_block(std::int64_t i) const { prefetch(&block(i)); }
    void prefetch_cuts(std::int64_t i) const {
        for (const std::byte* line = begin(i); line < end(i); line += 64) prefetch(line);
    }

    // All cuts in order of examples, and how many codes each example's take: for checkpoints.
    std::vector<Code> save(std::vector<std::int64_t>& codes_of_example) const;
    // Takes what save gave, if every cut is one that the structure could have made. Costs and norms are recomputed:
    // certificates rest on them, whoever wrote them down.
    void load(std::span<const Code> codes, std::span<const std::int64_t> codes_of_example, const Examples& from);

    // What save gave, as the start of a line through the duals of this moment: every α goes to
    // before + step·(α − before). Cuts that were dropped since come back where their α does.
    void interpolate(std::span<const Code> codes, std::span<const std::int64_t> codes_of_example, double step,
                     const Examples& from);
    // visit(i, codes, α before, α now) of every cut that was saved or is held, of those examples whose cuts are not
    // exactly as saved.
    using Comparison = std::function<void(std::int64_t, std::span<const Code>, double, double)>;
    void compare(std::span<const Code> codes, std::span<const std::int64_t> codes_of_example, const Examples& from,
                 const Comparison& visit) const;

private:
    struct Block {
        std::unique_ptr<std::byte[]> bytes;  // from new, aligned to 16; extents are even: so heads are aligned to 8
        std::uint32_t used = 0, capacity = 0;  // in units of a code
        void resize(std::size_t size);
    };
    bool is_as_saved(std::int64_t i, std::span<const Code> codes) const;
    Cut& append(std::int64_t i, const Cut& head, std::span<const Code> codes);
    const Block& block(std::int64_t i) const { return blocks_[at(i)]; }
    Block& block(std::int64_t i) { return blocks_[at(i)]; }
    std::byte* begin(std::int64_t i) { return block(i).bytes.get(); }
    const std::byte* begin(std::int64_t i) const { return block(i).bytes.get(); }
    const std::byte* end(std::int64_t i) const { return begin(i) + block(i).used * sizeof(Code); }

    std::vector<Block> blocks_;
    std::atomic<std::int64_t> cuts_ = 0;
};

}  // namespace dualstruct
