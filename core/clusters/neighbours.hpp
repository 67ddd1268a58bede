// Words of raw text, and how often each stands before which other one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/string_table.hpp"

namespace dualstruct::clusters {

// How often each word (row) stands beside others, in the order of the others.
struct Counts {
    std::vector<std::int64_t> offsets{0};  // [words + 1]
    std::vector<std::int32_t> words;
    std::vector<std::uint32_t> counts;
};

// The words that are to be clustered, numbered from the most frequent to the rarest.
struct Neighbours {
    Strings words;                            // [word]
    std::vector<std::int64_t> occurrences;    // [word]
    Counts after, before;                     // [word] what follows it, and what it follows
    std::vector<std::uint64_t> left, right;   // [word] pairs that it is the left, or right, word of
    std::uint64_t pairs = 0;
    std::uint64_t digest = 0;                 // of all of this

    std::int64_t size() const { return static_cast<std::int64_t>(words.size()); }
};

// Text with a sentence on each line, words separated by blanks; it may come in several pieces.
class RawText {
public:
    explicit RawText(bool lowercase) : lowercase_(lowercase) {}

    // Whole lines. Errors begin with "line N", counted from `first_line`.
    void add(std::string_view lines, std::int64_t first_line);
    // From now on only words of these lines are to be clustered.
    void restrict_to(std::string_view lines, std::int64_t first_line);

    std::int64_t tokens() const { return tokens_; }
    std::int64_t types() const { return static_cast<std::int64_t>(types_.size()); }

    // Words seen at least `min_count` times. A word that is left out separates its neighbours, as the end of a line
    // does: pairs are of words that stand beside each other and are both clustered.
    Neighbours neighbours(std::int64_t min_count, int threads) const;

private:
    template <class Take>
    void each_word(std::string_view lines, std::int64_t first_line, Take take);

    bool lowercase_;
    StringTable types_;
    std::vector<std::int32_t> ids_;  // of the tokens, with a line_end behind those of each line
    std::vector<std::int64_t> occurrences_;  // [type]
    std::unordered_set<std::uint64_t> wanted_;
    bool restricted_ = false;
    std::int64_t tokens_ = 0;
    std::string lowered_;
};

// Σ p(a, b) log2 p(a, b) / (p(a, ·) p(·, b)) over pairs of neighbours, with the words in these clusters.
double mutual_information(const Neighbours& neighbours, std::span<const std::int32_t> cluster_of);

}  // namespace dualstruct::clusters
