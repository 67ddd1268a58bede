#include "text/regex.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "base/errors.hpp"
#include "text/unicode.hpp"

namespace dualstruct {

namespace {

bool is_blank(char32_t c) {
    return c == U' ' || (c >= 0x09 && c <= 0x0D) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

bool is_in_class(char32_t letter, char32_t c) {
    switch (letter) {
        case U'a': return is_letter(c);
        case U'd': return is_digit(c);
        case U'l': return is_lower(c);
        case U'u': return is_upper(c);
        case U'w': return is_letter(c) || is_digit(c);
        case U's': return is_blank(c);
        default: return !is_letter(c) && !is_digit(c) && !is_blank(c) && !is_control(c);
    }
}

constexpr std::string_view classes = "adluwspADLUWSP";
constexpr char32_t anything = U'.';

}  // namespace

Regex::Regex(std::string_view text) {
    std::size_t at = 0;
    if (text.starts_with('^')) {
        at_start_ = true;
        ++at;
    }
    while (at < text.size()) {
        if (text[at] == '$' && at + 1 == text.size()) {
            at_end_ = true;
            break;
        }
        if (text[at] == '*' || text[at] == '?') {
            throw InputError("\"" + std::string(1, text[at]) + "\" has nothing to repeat in the regular expression \"" +
                             std::string(text) + "\"");
        }
        const bool escaped = text[at] == '\\' && at + 1 < text.size();
        if (escaped) ++at;
        Item item{next_code_point(text, at), false, Times::once};
        const bool names_class =
            item.character < 0x80 && classes.find(static_cast<char>(item.character)) != classes.npos;
        item.is_class = escaped ? names_class : item.character == anything;
        if (at < text.size() && (text[at] == '*' || text[at] == '?')) {
            item.times = text[at++] == '*' ? Times::any : Times::optional;
        }
        items_.push_back(item);
    }
}

bool Regex::matches(const Item& item, char32_t c) {
    if (!item.is_class) return c == item.character;
    if (item.character == anything) return true;
    const bool other = item.character < U'a';
    return is_in_class(other ? item.character + (U'a' - U'A') : item.character, c) != other;
}

Regex::Match Regex::search(std::string_view word) const {
    std::vector<char32_t> characters;
    std::vector<std::size_t> bytes{0};
    for (std::size_t at = 0; at < word.size(); bytes.push_back(at)) characters.push_back(next_code_point(word, at));
    const std::size_t n = characters.size(), count = items_.size();

    // Whether items k … match from character `at` on depends on nothing before them, so a place
    // that was tried is never tried again. Alternatives wait on a stack, the preferred one on top.
    std::vector<std::uint8_t> tried((count + 1) * (n + 1), 0);
    std::vector<std::pair<std::size_t, std::size_t>> open;
    for (std::size_t start = 0; start <= (at_start_ ? 0 : n); ++start) {
        open.assign(1, {0, start});
        while (!open.empty()) {
            const auto [k, at] = open.back();
            open.pop_back();
            if (std::exchange(tried[k * (n + 1) + at], 1)) continue;
            if (k == count) {
                if (at_end_ && at != n) continue;
                return {true, word.substr(bytes[start], bytes[at] - bytes[start])};
            }
            const Item& item = items_[k];
            const bool fits = at < n && matches(item, characters[at]);
            switch (item.times) {
                case Times::once:
                    if (fits) open.emplace_back(k + 1, at + 1);
                    break;
                case Times::optional:
                    open.emplace_back(k + 1, at);
                    if (fits) open.emplace_back(k + 1, at + 1);
                    break;
                case Times::any:
                    if (fits) open.emplace_back(k, at + 1);
                    open.emplace_back(k + 1, at);
                    break;
            }
        }
    }
    return {};
}

}  // namespace dualstruct
