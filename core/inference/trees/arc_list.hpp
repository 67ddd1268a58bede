// The arcs that a tree may have, numbered: all of them, or those that pruning left.
#pragma once

#include <cstdint>
#include <vector>

#include "base/index.hpp"

namespace dualstruct::trees {

class ArcList {
public:
    // No arcs yet between the root, 0, and the words 1 … n.
    void clear(int words) {
        words_ = words;
        head_of_.clear();
        modifier_of_.clear();
        number_.assign(at(words + 1) * at(words + 1), -1);
    }
    void add(int h, int m) {
        number_[cell(h, m)] = arcs();
        head_of_.push_back(h);
        modifier_of_.push_back(m);
    }

    int words() const { return words_; }
    int arcs() const { return static_cast<int>(head_of_.size()); }
    int head_of(int arc) const { return head_of_[at(arc)]; }
    int modifier_of(int arc) const { return modifier_of_[at(arc)]; }
    int arc(int h, int m) const { return number_[cell(h, m)]; }  // −1: there is none
    // Where the arc stands in a matrix [words + 1, words + 1].
    std::size_t cell(int h, int m) const { return at(h) * at(words_ + 1) + at(m); }
    std::size_t cells() const { return number_.size(); }

private:
    int words_ = 0;
    std::vector<std::int32_t> head_of_, modifier_of_, number_;
};

}  // namespace dualstruct::trees
