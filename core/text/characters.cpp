#include "text/characters.hpp"

#include <array>
#include <limits>

#include "base/errors.hpp"
#include "text/unicode.hpp"

namespace dualstruct {

namespace {

struct CharRange {
    char32_t first, last;
};

template <std::size_t n>
bool is_among(char32_t c, const std::array<CharRange, n>& ranges) {
    for (const auto& [first, last] : ranges) {
        if (c >= first && c <= last) return true;
    }
    return false;
}

// Controls, and characters that are not seen: marks of direction, blanks of no width, the mark of UTF-8.
constexpr auto unseen = std::to_array<CharRange>({{0x1, 0x1F},
                                                  {0x7F, 0x9F},
                                                  {0x200B, 0x200B},
                                                  {0x200E, 0x200F},
                                                  {0x202A, 0x202E},
                                                  {0x2060, 0x2064},
                                                  {0x2066, 0x2069},
                                                  {0xFEFF, 0xFEFF}});

// Thai, Lao, Myanmar, Khmer, Hiragana, Katakana and Han.
constexpr auto without_blanks = std::to_array<CharRange>({{0xE00, 0xEFF},
                                                          {0x1000, 0x109F},
                                                          {0x1780, 0x17FF},
                                                          {0x3005, 0x3007},
                                                          {0x3040, 0x30FF},
                                                          {0x31F0, 0x31FF},
                                                          {0x3400, 0x4DBF},
                                                          {0x4E00, 0x9FFF},
                                                          {0xF900, 0xFAFF},
                                                          {0xFF66, 0xFF9D},
                                                          {0x20000, 0x3FFFF}});

CharClass find_class(char32_t c) {
    if (is_space(c) || is_among(c, unseen)) return CharClass::gap;
    if (is_digit(c)) return CharClass::digit;
    if (is_letter(c)) return is_among(c, without_blanks) ? CharClass::single : CharClass::letter;
    if (c == '_') return CharClass::letter;
    // Soft hyphens and joiners are within words.
    if (is_mark(c) || c == 0xAD || c == 0x200C || c == 0x200D) return CharClass::mark;
    if ((c >= 0x1F3FB && c <= 0x1F3FF) || (c >= 0xE0020 && c <= 0xE007F)) return CharClass::tone;
    return CharClass::symbol;
}

// The classes of the characters that most texts are made of.
struct KnownClasses {
    static constexpr char32_t size = 0x3000;
    std::array<CharClass, size> classes;

    KnownClasses() {
        for (char32_t c = 0; c < size; ++c) classes[c] = find_class(c);
    }
};

}  // namespace

CharClass class_of(char32_t c) {
    static const KnownClasses known;
    return c < KnownClasses::size ? known.classes[c] : find_class(c);
}

void Characters::read(std::string_view text) {
    if (text.size() >= std::numeric_limits<std::uint32_t>::max()) throw InputError("it is longer than 4 GB");
    if (!is_valid_utf8(text)) throw InputError("it is not UTF-8 text");
    code_points.clear();
    classes.clear();
    places.clear();
    for (std::size_t place = 0; place < text.size();) {
        places.push_back(static_cast<std::uint32_t>(place));
        const char32_t c = next_code_point(text, place);
        if (c == 0)
            throw InputError("character " + std::to_string(code_points.size() + 1) + " is NUL, which no text has");
        code_points.push_back(c);
        classes.push_back(class_of(c));
    }
    places.push_back(static_cast<std::uint32_t>(text.size()));
}

}  // namespace dualstruct
