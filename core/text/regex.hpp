// Wapiti's small regular expressions.
//
//   .      any character                     ^  at the front: only at the start of the word
//   \d \a \w \l \u \p \s                     $  at the end: only at the end of the word
//          digit, letter, letter or digit,   x* any number of x, as few as the rest needs
//          lower case, upper case,           x? x or nothing, x if the rest allows it
//          punctuation, blank;
//          in upper case everything else     \x for another x: x itself
//
// Characters are code points: one regular expression means the same in every script.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace dualstruct {

class Regex {
public:
    Regex() = default;
    // Throws InputError where * or ? has nothing to repeat.
    explicit Regex(std::string_view text);

    struct Match {
        bool found = false;
        std::string_view text;  // the part of the word that matched: the leftmost one
    };
    // Takes time and space in proportion to the word and the expression.
    Match search(std::string_view word) const;

    bool operator==(const Regex&) const = default;

private:
    enum class Times : unsigned char { once, optional, any };
    struct Item {
        char32_t character;  // what it matches, or the letter of its class
        bool is_class;
        Times times;
        bool operator==(const Item&) const = default;
    };
    static bool matches(const Item& item, char32_t c);

    std::vector<Item> items_;
    bool at_start_ = false, at_end_ = false;
};

}  // namespace dualstruct
