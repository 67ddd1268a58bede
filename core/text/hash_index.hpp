// From 64-bit hashes to dense ids 0, 1, 2 ... in order of first insertion.
//
// Open addressing with one 8-byte word per slot: the id in the low bits (as many as the
// table has address bits), the rest of the hash above it, so that a lookup touches one cache
// line. The bits that gave the slot's address are not compared again; two hashes are
// confused only if all others agree, which for a million entries is about as unlikely
// as two equal 64-bit hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/prefetch.hpp"

namespace dualstruct {

class HashIndex {
public:
    static constexpr std::int32_t absent = -1;

    HashIndex() : slots_(16, 0), mask_(15) {}

    std::int32_t find(std::uint64_t hash) const {
        for (std::uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
            const std::uint64_t slot = slots_[at];
            if (slot == 0) return absent;
            if (((slot ^ hash) & ~mask_) == 0) return static_cast<std::int32_t>(slot & mask_) - 1;
        }
    }

    // The id of the hash, a new one if it was not there: then it equals the size before.
    std::int32_t insert(std::uint64_t hash) {
        for (std::uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
            const std::uint64_t slot = slots_[at];
            if (slot == 0) return append(hash, at);
            if (((slot ^ hash) & ~mask_) == 0) return static_cast<std::int32_t>(slot & mask_) - 1;
        }
    }

    void prefetch(std::uint64_t hash) const { dualstruct::prefetch(&slots_[hash & mask_]); }

    std::size_t size() const { return hashes_.size(); }
    const std::vector<std::uint64_t>& hashes() const { return hashes_; }  // [id]

    void reserve(std::size_t entries) {
        hashes_.reserve(entries);
        std::size_t slots = slots_.size();
        while (entries > most(slots)) slots *= 2;
        if (slots != slots_.size()) rebuild(slots);
    }

private:
    static std::size_t most(std::size_t slots) { return slots / 8 * 5; }

    std::int32_t append(std::uint64_t hash, std::uint64_t at) {
        const std::size_t id = hashes_.size();
        if (id >= std::numeric_limits<std::int32_t>::max()) {
            throw std::length_error("more than 2147483647 distinct entries");
        }
        hashes_.push_back(hash);
        if (id < most(slots_.size())) {
            slots_[at] = (hash & ~mask_) | (id + 1);
        } else {
            rebuild(slots_.size() * 2);
        }
        return static_cast<std::int32_t>(id);
    }

    void rebuild(std::size_t slots) {
        slots_.assign(slots, 0);
        mask_ = slots - 1;
        for (std::size_t id = 0; id < hashes_.size(); ++id) {
            std::uint64_t at = hashes_[id] & mask_;
            while (slots_[at] != 0) at = (at + 1) & mask_;
            slots_[at] = (hashes_[id] & ~mask_) | (id + 1);
        }
    }

    std::vector<std::uint64_t> slots_;
    std::uint64_t mask_;
    std::vector<std::uint64_t> hashes_;
};

}  // namespace dualstruct
