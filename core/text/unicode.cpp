#include "text/unicode.hpp"

namespace dualstruct {

namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

bool is_valid_utf8(std::string_view s) {
    for (std::size_t i = 0; i < s.size();) {
        const auto first = static_cast<unsigned char>(s[i]);
        if (first < 0x80) {
            ++i;
            continue;
        }
        if (first < 0xC2 || first > 0xF4) return false;
        const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
        if (s.size() - i < length) return false;
        for (std::size_t k = 1; k < length; ++k) {
            if (!is_continuation(s[i + k])) return false;
        }
        std::size_t at = i;
        const char32_t c = next_code_point(s, at);
        const bool overlong = (length == 3 && c < 0x800) || (length == 4 && c < 0x10000);
        if (overlong || (c >= 0xD800 && c <= 0xDFFF) || c > 0x10FFFF) return false;
        i += length;
    }
    return true;
}

void append_utf8(std::string& out, char32_t c) {
    const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | c >> 6);
        put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | c >> 12);
        put(0x80 | (c >> 6 & 0x3F));
        put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | c >> 18);
        put(0x80 | (c >> 12 & 0x3F));
        put(0x80 | (c >> 6 & 0x3F));
        put(0x80 | (c & 0x3F));
    }
}

std::size_t prefix_bytes(std::string_view s, int n) {
    std::size_t at = 0;
    for (; at < s.size(); ++at) {
        if (!is_continuation(s[at]) && n-- == 0) return at;
    }
    return std::string_view::npos;
}

std::size_t suffix_bytes(std::string_view s, int n) {
    std::size_t at = s.size();
    while (at > 0 && n > 0) {
        if (!is_continuation(s[--at])) --n;
    }
    return at == 0 ? std::string_view::npos : s.size() - at;
}

}  // namespace dualstruct
