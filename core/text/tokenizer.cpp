#include "text/tokenizer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/errors.hpp"
#include "base/index.hpp"
#include "text/characters.hpp"
#include "text/sentence_ends.hpp"
#include "text/unicode.hpp"

namespace dualstruct {

namespace {

// Limits of e-mail addresses: what is longer is none, and long runs stay linear.
constexpr std::size_t longest_local_part = 64, longest_domain = 255;

bool is_one_of(char32_t c, std::u32string_view some) { return c != 0 && some.find(c) != some.npos; }

char32_t small_letter(char32_t c) { return c < 0x80 ? (c >= 'A' && c <= 'Z' ? c + 32 : c) : to_lower(c); }

bool is_apostrophe(char32_t c) { return c == '\'' || c == U'’'; }

// The rules for one text. Those named behind_… take the place where a token begins and give the place behind it, or
// the same place where they do not apply.
class Rules {
public:
    Rules(const Characters& text, const TokenizerSettings& settings,
          const std::unordered_set<std::u32string>& abbreviations)
        : text_(text), settings_(settings), abbreviations_(abbreviations) {}

    // Adds the token, or the two parts of a contraction, that begin at a place; the place behind them.
    std::size_t add(std::size_t begin, std::vector<TokenPlace>& tokens) const {
        if (std::size_t end = behind_url(begin); end != begin) return add(begin, end, tokens);
        if (text_.in_word(begin)) {
            if (std::size_t end = behind_address(begin); end != begin) return add(begin, end, tokens);
            const std::size_t end = behind_word(begin);
            const std::size_t suffix = settings_.split_contractions ? contraction(begin, end) : end;
            if (suffix != end) {
                add(begin, suffix, tokens);
                return add(suffix, end, tokens);
            }
            return add(begin, behind_period(begin, end), tokens);
        }
        if (std::size_t end = behind_tag(begin); end != begin) return add(begin, end, tokens);
        return add(begin, text_.of(begin) == CharClass::single ? behind_marks(begin + 1) : behind_symbol(begin),
                   tokens);
    }

private:
    static std::size_t add(std::size_t begin, std::size_t end, std::vector<TokenPlace>& tokens) {
        tokens.push_back({begin, end});
        return end;
    }

    // The text, without regard to case, is this (in small letters).
    bool reads(std::size_t at, std::u32string_view wanted) const {
        for (std::size_t k = 0; k < wanted.size(); ++k) {
            if (small_letter(text_[at + k]) != wanted[k]) return false;
        }
        return true;
    }

    std::size_t behind_marks(std::size_t place) const {
        while (text_.of(place) == CharClass::mark) ++place;
        return place;
    }

    std::size_t behind_url(std::size_t begin) const {
        constexpr std::array<std::u32string_view, 4> starts{U"http://", U"https://", U"ftp://", U"www."};
        if (!is_one_of(text_[begin], U"hHfFwW") || (begin > 0 && text_.in_word(begin - 1))) return begin;
        std::size_t length = 0;
        for (const auto start : starts) {
            if (reads(begin, start) && text_.in_word(begin + start.size())) length = start.size();
        }
        if (length == 0) return begin;
        constexpr std::u32string_view openers = U"([{", closers = U")]}";
        std::array<int, 3> open{};  // brackets that were opened and not closed
        std::size_t end = begin;
        while (text_.of(end) != CharClass::gap && text_.of(end) != CharClass::single &&
               !is_one_of(text_[end], U"<>\"“”„«»")) {
            if (const auto k = openers.find(text_[end]); k != openers.npos) ++open[k];
            if (const auto k = closers.find(text_[end]); k != closers.npos) --open[k];
            ++end;
        }
        for (;; --end) {
            const char32_t last = text_[end - 1];
            if (const auto k = closers.find(last); k != closers.npos && open[k] < 0) {
                ++open[k];
            } else if (!is_one_of(last, U".,;:!?'’*~…")) {
                return end;
            }
        }
    }

    std::size_t behind_address(std::size_t begin) const {
        std::size_t place = begin;
        while (text_.in_word(place) || is_one_of(text_[place], U".%+-")) {
            if (++place - begin > longest_local_part) return begin;
        }
        if (text_[place] != '@') return begin;
        const std::size_t domain = ++place;
        int parts = 0;
        while (text_.in_word(place)) {
            while (text_.in_word(place) || (text_[place] == '-' && text_.in_word(place + 1))) {
                if (++place - domain > longest_domain) return begin;
            }
            ++parts;
            if (text_[place] != '.' || !text_.in_word(place + 1)) break;
            ++place;
        }
        return parts > 1 ? place : begin;
    }

    std::size_t behind_word(std::size_t begin) const {
        std::size_t place = begin, last = begin;  // last: the last character that is no mark
        while (true) {
            if (text_.in_word(place)) {
                last = place++;
            } else if (text_.of(place) == CharClass::mark) {
                ++place;
            } else if (text_.in_word(place + 1) && joins(last, text_[place], place + 1)) {
                ++place;
            } else {
                return place;
            }
        }
    }

    // Whether a sign between two characters of words makes them one word.
    bool joins(std::size_t before, char32_t sign, std::size_t after) const {
        const bool digits = text_.of(before) == CharClass::digit && text_.of(after) == CharClass::digit;
        const bool letters = text_.of(before) == CharClass::letter && text_.of(after) == CharClass::letter;
        switch (sign) {
            case '\'':
            case U'’': return letters || digits;
            case '.': return !is_upper(text_[after]) || is_upper(text_[before]);
            case ',':
            case ':':
            case '/': return digits;
            case '-':
            case U'‐':
            case U'‑': return digits || !settings_.split_hyphens;
            case '&': return is_upper(text_[before]) && is_upper(text_[after]);
            default: return false;
        }
    }

    // Where the second part of a contraction begins; the end if the word is none.
    std::size_t contraction(std::size_t begin, std::size_t end) const {
        constexpr std::array<std::u32string_view, 6> endings{U"s", U"m", U"d", U"re", U"ve", U"ll"};
        for (const auto ending : endings) {
            const std::size_t size = ending.size() + 1;
            if (end - begin > size && is_apostrophe(text_[end - size]) && reads(end - size + 1, ending))
                return end - size;
        }
        const bool negated =
            end - begin > 3 && reads(end - 3, U"n") && is_apostrophe(text_[end - 2]) && reads(end - 1, U"t");
        return negated ? end - 3 : end;
    }

    // A period behind a word belongs to it if the word is an abbreviation.
    std::size_t behind_period(std::size_t begin, std::size_t end) const {
        if (text_[end] != '.' || text_[end + 1] == '.') return end;
        std::u32string word;
        for (std::size_t i = begin; i < end && word.size() <= longest_abbreviation; ++i) word += small_letter(text_[i]);
        bool belongs = abbreviations_.contains(word) || is_abbreviation(word) || is_acronym(begin, end);
        std::size_t next = end + 1;  // on the same line
        while (next < text_.size() && text_.of(next) == CharClass::gap && !is_line_end(text_[next])) ++next;
        if (next > end + 1) {
            belongs = belongs || (stands_before_numbers(word) && text_.of(next) == CharClass::digit);
            belongs = belongs || (end == begin + 1 && is_upper(text_[begin]) && is_upper(text_[next]));
        }
        return belongs ? end + 1 : end;
    }

    // Single letters with periods between them.
    bool is_acronym(std::size_t begin, std::size_t end) const {
        if (end - begin < 3 || (end - begin) % 2 == 0 || end - begin > longest_abbreviation) return false;
        for (std::size_t i = begin; i < end; ++i) {
            const bool fits = (i - begin) % 2 == 0 ? text_.of(i) == CharClass::letter : text_[i] == '.';
            if (!fits) return false;
        }
        return true;
    }

    // @name, #topic
    std::size_t behind_tag(std::size_t begin) const {
        const bool sign = text_[begin] == '@' || text_[begin] == '#';
        if (!sign || text_.of(begin + 1) != CharClass::letter || (begin > 0 && text_.in_word(begin - 1))) return begin;
        std::size_t end = begin + 1;
        while (text_.in_word(end) || text_.of(end) == CharClass::mark) ++end;
        return end;
    }

    std::size_t behind_symbol(std::size_t begin) const {
        constexpr char32_t joiner = 0x200D;
        std::size_t end = begin + 1;
        const auto is_flag = [](char32_t c) { return c >= 0x1F1E6 && c <= 0x1F1FF; };
        if (is_flag(text_[begin]) && is_flag(text_[end])) ++end;
        if (is_one_of(text_[begin], U".!?-*=~+")) {
            while (text_[end] == text_[begin]) ++end;
        }
        while (true) {
            const CharClass next = text_.of(end);
            const bool joined = text_[end - 1] == joiner && next == CharClass::symbol;
            if (next != CharClass::mark && next != CharClass::tone && !joined) return end;
            ++end;
        }
    }

    const Characters& text_;
    const TokenizerSettings& settings_;
    const std::unordered_set<std::u32string>& abbreviations_;
};

}  // namespace

Tokenizer::Tokenizer(const TokenizerSettings& settings) : settings_(settings) {
    for (const std::string& one : settings.abbreviations) {
        Characters read;
        read.read(one);
        std::u32string& word = read.code_points;
        if (word.ends_with('.')) word.pop_back();
        if (word.size() > longest_abbreviation) throw InputError("the abbreviation \"" + one + "\" is too long");
        std::transform(word.begin(), word.end(), word.begin(), small_letter);
        if (!word.empty()) abbreviations_.insert(word);
    }
}

void Tokenizer::add(std::string_view text, TokenizedTexts& found) const {
    Characters characters;
    characters.read(text);
    std::vector<TokenPlace> tokens;
    const Rules rules(characters, settings_, abbreviations_);
    for (std::size_t place = 0; place < characters.size();) {
        if (settings_.words == TokenizerSettings::Words::blanks) {
            const std::size_t begin = place;
            while (place < characters.size() && !is_space(characters[place])) ++place;
            if (place > begin) tokens.push_back({begin, place});
            ++place;
        } else if (characters.of(place) == CharClass::gap) {
            ++place;
        } else {
            place = rules.add(place, tokens);
        }
    }
    TokenTable& table = *found.table;
    if (table.columns.empty()) table.columns.resize(1);
    TokenTable::Column& words = table.columns.front();
    std::size_t first = 0;  // token of the sentence
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        const auto [begin, end] = tokens[k];
        found.begins.push_back(static_cast<std::int64_t>(begin));
        found.ends.push_back(static_cast<std::int64_t>(end));
        const std::size_t byte = characters.places[begin];
        words.ids.push_back(words.types.intern(text.substr(byte, characters.places[end] - byte)));
        if (k + 1 == tokens.size() || ends_sentence(characters, tokens, first, k, settings_.sentences)) {
            table.sentences.push_back(static_cast<std::int64_t>(words.ids.size()));
            first = k + 1;
        }
    }
    found.texts.push_back(table.size());
}

}  // namespace dualstruct
