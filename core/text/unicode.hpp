// The little of Unicode that features need. Properties of characters come from whoever embeds the core: from
// CPython's own tables (python/unicode.cpp), so that a word has the same shape here and in Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dualstruct {

char32_t to_lower(char32_t c);  // one code point to one code point
bool is_upper(char32_t c);      // upper or title case
bool is_lower(char32_t c);
bool is_digit(char32_t c);  // decimal digits of any script
bool is_letter(char32_t c);
bool is_space(char32_t c);
bool is_mark(char32_t c);  // combining marks, of one version of Unicode (marks.cpp)

bool is_valid_utf8(std::string_view s);

// Reads the code point at `at` of valid UTF-8 and moves `at` behind it.
inline char32_t next_code_point(std::string_view s, std::size_t& at) {
    const auto byte = [&] { return static_cast<unsigned char>(s[at++]); };
    const char32_t first = byte();
    if (first < 0x80) return first;
    const int more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    char32_t c = first & (0x3Fu >> more);
    for (int i = 0; i < more; ++i) c = c << 6 | (byte() & 0x3Fu);
    return c;
}

void append_utf8(std::string& out, char32_t c);

// How many bytes the first (last) n code points take; npos if there are not more than n.
std::size_t prefix_bytes(std::string_view s, int n);
std::size_t suffix_bytes(std::string_view s, int n);

}  // namespace dualstruct
