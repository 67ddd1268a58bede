// What the tokenizer sees of a text: its code points, where each begins, and which class it is in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dualstruct {

enum class CharClass : std::uint8_t {
    gap,     // blanks, line ends, controls, marks of direction: between tokens
    letter,  // of scripts that put blanks between words; _ too
    digit,
    single,  // a letter of a script without blanks: a token of its own
    mark,    // belongs to the character before it
    tone,    // skin tones and tags: belong to a symbol before them
    symbol,  // everything else
};

CharClass class_of(char32_t c);

struct Characters {
    std::u32string code_points;
    std::vector<CharClass> classes;     // [code points]
    std::vector<std::uint32_t> places;  // [code points + 1] bytes

    std::size_t size() const { return code_points.size(); }
    char32_t operator[](std::size_t i) const { return i < size() ? code_points[i] : U'\0'; }
    CharClass of(std::size_t i) const { return i < size() ? classes[i] : CharClass::gap; }
    bool in_word(std::size_t i) const { return of(i) == CharClass::letter || of(i) == CharClass::digit; }

    // Throws InputError at NUL, and at bytes that are not UTF-8.
    void read(std::string_view text);
};

}  // namespace dualstruct
