// Lists of phrases, found in sentences word by word, whatever their case or not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/hash_index.hpp"
#include "text/token_table.hpp"

namespace dualstruct {

class Gazetteer {
public:
    enum Mark : std::int32_t { outside = 0, first = 1, inside = 2 };

    explicit Gazetteer(bool fold_case) : fold_case_(fold_case) {}
    // From the arrays of a model file.
    Gazetteer(std::span<const std::uint64_t> prefixes, std::span<const std::uint8_t> is_phrase, bool fold_case);

    void add(std::span<const std::string_view> words);

    // Marks the longest phrase that starts at each token, from left to right; the next search
    // starts behind it. One mark per token of the table.
    std::vector<std::int32_t> marks(const TokenTable::Column& column, std::span<const std::int64_t> sentences) const;

    const std::vector<std::uint64_t>& prefixes() const { return prefixes_.hashes(); }  // [prefix]
    const std::vector<std::uint8_t>& is_phrase() const { return is_phrase_; }          // [prefix]

private:
    std::uint64_t hash_of(std::string_view word) const;

    bool fold_case_;
    // Every beginning of a phrase, by the hash of its words, lower-cased if case is folded.
    HashIndex prefixes_;
    std::vector<std::uint8_t> is_phrase_;
};

}  // namespace dualstruct
