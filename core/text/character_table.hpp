// Characters of texts as tokens with columns, for a chain that learns where tokens and sentences end. Blanks and other
// gaps are no tokens, but what stands behind a character is one of its columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/token_table.hpp"

namespace dualstruct {

// The columns, in this order. A chunk is what stands between gaps; of long ones a part is looked at.
enum class CharacterColumn : std::uint8_t {
    character,
    kind,    // A, a, 0, x (a letter without case) or the character
    gap,     // behind it: n (none), b (blank), l (a line end), p (a blank line, or the end of the text)
    run,     // characters of its kind (letters, digits, or others) up to it, in lower case
    before,  // the chunk up to it
    rest,    // the chunk behind it, $ at its end
    next,    // the chunk after this one, $ at the end of the text
    last,    // the chunk before this one, ^ at the beginning of the text
    rule,    // what the rules of the tokenizer say: i (inside), e (a token ends), s (a sentence ends)
};
constexpr std::size_t character_columns = 9;

struct CharacterTable {
    std::shared_ptr<TokenTable> table = std::make_shared<TokenTable>();  // a sentence is a text, or a window of one
    std::vector<std::int64_t> places;    // [characters] code points of their text
    std::vector<std::int64_t> texts{0};  // [texts + 1] first character of each

    CharacterTable() { table->columns.resize(character_columns); }

    // Adds a text in UTF-8, in windows of at least so many characters that end at gaps; 0: in one.
    void add(std::string_view text, std::int64_t window);
};

}  // namespace dualstruct
