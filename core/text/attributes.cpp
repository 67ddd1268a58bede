#include "text/attributes.hpp"

#include "base/index.hpp"
#include "text/hash.hpp"
#include "text/unicode.hpp"

namespace dualstruct {

namespace {

constexpr std::size_t none = std::string_view::npos;

// Calls map(code point) for each code point and appends what it returns.
template <class Map>
void append_mapped(std::string& out, std::string_view word, Map&& map) {
    for (std::size_t at = 0; at < word.size();) append_utf8(out, map(next_code_point(word, at)));
}

char32_t shape_of(char32_t c) { return is_upper(c) ? U'X' : is_lower(c) ? U'x' : is_digit(c) ? U'd' : c; }

void append_short_shape(std::string& out, std::string_view word) {
    char32_t previous = 0xFFFFFFFF;  // no code point
    for (std::size_t at = 0; at < word.size();) {
        const char32_t c = shape_of(next_code_point(word, at));
        if (c != previous) append_utf8(out, c);
        previous = c;
    }
}

// The sort of word it is: its case if it has letters, else "number" or "symbol"; and whether
// digits stand among the letters, and hyphens anywhere.
void append_kind(std::string& out, std::string_view word) {
    int upper = 0, lower = 0;
    bool letter = false, digit = false, hyphen = false, starts_upper = false;
    for (std::size_t at = 0; at < word.size();) {
        const char32_t c = next_code_point(word, at);
        if (is_upper(c)) {
            starts_upper = starts_upper || upper + lower == 0;
            ++upper;
        } else if (is_lower(c)) {
            ++lower;
        }
        letter = letter || is_letter(c);
        digit = digit || is_digit(c);
        hyphen = hyphen || c == U'-';
    }
    if (upper > 0 && lower == 0) {
        out += "upper";
    } else if (upper == 0 && lower > 0) {
        out += "lower";
    } else if (upper == 1 && starts_upper) {
        out += "title";
    } else if (upper > 0) {
        out += "mixed";
    } else {
        out += letter ? "letter" : digit ? "number" : "symbol";
    }
    if (digit && (letter || upper + lower > 0)) out += ",digit";
    if (hyphen) out += ",hyphen";
}

}  // namespace

void append_lower(std::string& out, std::string_view word) { append_mapped(out, word, to_lower); }

bool Attribute::compute(std::string_view word, std::string& value) const {
    value.assign(word);
    std::string argument;
    for (const Function& f : functions_) {
        argument.swap(value);
        value.clear();
        switch (f.what) {
            case Function::lower: append_lower(value, argument); break;
            case Function::digits:
                append_mapped(value, argument, [](char32_t c) { return is_digit(c) ? U'0' : c; });
                break;
            case Function::prefix: {
                const std::size_t bytes = prefix_bytes(argument, f.length);
                if (bytes == none) return false;
                value.assign(argument, 0, bytes);
                break;
            }
            case Function::suffix: {
                const std::size_t bytes = suffix_bytes(argument, f.length);
                if (bytes == none) return false;
                value.assign(argument, argument.size() - bytes, bytes);
                break;
            }
            case Function::shape: append_mapped(value, argument, shape_of); break;
            case Function::short_shape: append_short_shape(value, argument); break;
            case Function::kind: append_kind(value, argument); break;
            case Function::cluster: {
                const std::string_view path = clusters_ ? clusters_->path(hash_bytes(argument)) : std::string_view();
                if (path.empty()) return false;
                value.assign(f.length > 0 ? path.substr(0, at(f.length)) : path);
                break;
            }
            case Function::match: value.assign(f.regex.search(argument).text); break;
            case Function::test: value.assign(f.regex.search(argument).found ? "true" : "false"); break;
        }
    }
    return true;
}

}  // namespace dualstruct
