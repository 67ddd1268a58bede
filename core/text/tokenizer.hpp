// From text to tokens and sentences by rules. A token is a piece of the text, and what lies between tokens is blank:
// text = tokens and gaps. docs/text.md has the rules in words, tests/naive_text.py in slow code.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/token_table.hpp"

namespace dualstruct {

struct TokenizerSettings {
    enum class Words { rules, blanks };           // blanks: what stands between them
    enum class Sentences { rules, lines, whole };  // whole: a text is one sentence

    Words words = Words::rules;
    Sentences sentences = Sentences::rules;
    bool split_contractions = true;  // do n't, it 's
    bool split_hyphens = true;       // London - based
    std::vector<std::string> abbreviations;  // in addition to those that are known, without their period
};

// Tokens of some texts, one text after the other.
struct TokenizedTexts {
    std::shared_ptr<TokenTable> table = std::make_shared<TokenTable>();
    std::vector<std::int64_t> begins, ends;  // [tokens] code points of their text
    std::vector<std::int64_t> texts{0};      // [texts + 1] first sentence of each
};

class Tokenizer {
public:
    explicit Tokenizer(const TokenizerSettings& settings);

    // Adds a text in UTF-8. Throws InputError at what is no text: NUL, and bytes that are not UTF-8.
    void add(std::string_view text, TokenizedTexts& found) const;

private:
    TokenizerSettings settings_;
    std::unordered_set<std::u32string> abbreviations_;
};

}  // namespace dualstruct
