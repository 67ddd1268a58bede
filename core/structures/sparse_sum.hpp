// A small sparse vector under construction: weight index → value, open addressing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/index.hpp"

namespace dualstruct {

class SparseSum {
public:
    // Empties the sum; room for `entries` additions is made at once, for more as they come.
    void reset(std::size_t entries = 0) {
        for (std::size_t slot : used_) slots_[slot].key = empty;
        used_.clear();
        std::size_t wanted = 64;
        while (wanted < 2 * entries) wanted *= 2;
        if (wanted > slots_.size()) resize(wanted);
    }

    void add(std::uint64_t key, float value) {
        Slot& slot = find(key);
        if (slot.key != empty) {
            slot.value += value;
            return;
        }
        slot = {key, value};
        used_.push_back(at(&slot - slots_.data()));
        if (2 * used_.size() > slots_.size()) grow();
    }

    float get(std::uint64_t key) { return find(key).key == empty ? 0.0f : find(key).value; }

    template <class F>
    void for_each(F f) const {
        for (std::size_t slot : used_) f(slots_[slot].key, slots_[slot].value);
    }

    double squared_norm() const {
        double total = 0;
        for (std::size_t slot : used_) total += double{slots_[slot].value} * slots_[slot].value;
        return total;
    }

    double inner(SparseSum& other) const {
        double total = 0;
        for (std::size_t slot : used_) total += double{slots_[slot].value} * other.get(slots_[slot].key);
        return total;
    }

private:
    struct Slot {
        std::uint64_t key;
        float value;
    };
    static constexpr std::uint64_t empty = ~std::uint64_t{0};

    void resize(std::size_t size) {
        slots_.assign(size, Slot{empty, 0});
        shift_ = 64;
        while (size >>= 1) --shift_;
    }

    void grow() {
        std::vector<Slot> held;
        for (std::size_t slot : used_) held.push_back(slots_[slot]);
        resize(2 * slots_.size());
        used_.clear();
        for (const Slot& entry : held) {
            Slot& slot = find(entry.key);
            slot = entry;
            used_.push_back(at(&slot - slots_.data()));
        }
    }

    Slot& find(std::uint64_t key) {
        std::size_t place = at((key * 0x9E3779B97F4A7C15ull) >> shift_);
        while (slots_[place].key != empty && slots_[place].key != key) place = (place + 1) & (slots_.size() - 1);
        return slots_[place];
    }

    std::vector<Slot> slots_;
    std::vector<std::size_t> used_;
    int shift_ = 64;
};

}  // namespace dualstruct
