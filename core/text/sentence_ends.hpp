// Where sentences end, and which words have a period of their own: the part of the tokenizer that knows languages.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "text/characters.hpp"
#include "text/tokenizer.hpp"

namespace dualstruct {

struct TokenPlace {
    std::size_t begin, end;  // code points
};

constexpr std::size_t longest_abbreviation = 20;

bool is_line_end(char32_t c);
int line_ends(const Characters& text, std::size_t begin, std::size_t end);  // between: 0, 1, or 2 for a blank line

// Of a word in small letters, without its last period.
bool is_abbreviation(const std::u32string& word);
bool stands_before_numbers(const std::u32string& word);  // an abbreviation there: No. 5

// Whether a sentence ends behind token k, which is not the last one; `first` is its first token.
bool ends_sentence(const Characters& text, const std::vector<TokenPlace>& tokens, std::size_t first, std::size_t k,
                   TokenizerSettings::Sentences rule);

}  // namespace dualstruct
