#include "text/sentence_ends.hpp"

#include <string_view>
#include <unordered_set>

#include "text/unicode.hpp"

namespace dualstruct {

namespace {

using WordList = std::unordered_set<std::u32string>;

// The words of a list, separated by blanks.
WordList word_list(std::u32string_view words) {
    WordList found;
    while (!words.empty()) {
        const std::size_t end = words.find(' ');
        found.emplace(words.substr(0, end));
        words.remove_prefix(end == words.npos ? words.size() : end + 1);
    }
    return found;
}

// No sentence ends behind them: a name follows.
const WordList& titles() {
    static const WordList words = word_list(
        U"mr mrs ms dr prof st gen col lt capt cpt sgt maj cmdr rev hon pres gov sen rep supt messrs mme mlle sra srta "
        U"hr fr dhr mevr dott sig ing");
    return words;
}

const WordList& abbreviations() {
    static const WordList words = word_list(
        U"etc vs cf al approx dept est inc ltd co corp bros jr sr esq ph.d ed eds jan feb apr aug sept oct nov dec ave "
        U"blvd rd mt ft usw bzw ca str geb bspw evtl ggf inkl zzgl f.eks bl.a kl bv enz resp tel ext misc orig");
    return words;
}

const WordList& before_numbers() {
    static const WordList words = word_list(U"no nos nr art sec ch p pp pg par fig figs vol vols eq tab mar jun jul");
    return words;
}

// Words that begin a sentence when they have a capital letter after an abbreviation.
const WordList& starters() {
    static const WordList words = word_list(
        U"the a an this that these those he she it we they i you his her its our their my your there here what who why "
        U"how where which when while after before since although though however but and or so if in on at for from "
        U"with as then now yes no not all some many most both each every one two");
    return words;
}

bool is_closer(char32_t c) {
    return std::u32string_view(U")]}\"'”’»›」』）】》〉").find(c) != std::u32string_view::npos;
}

// Ends of sentences in scripts without blanks, and in those with them.
bool is_full_stop(char32_t c) { return std::u32string_view(U"。！？｡").find(c) != std::u32string_view::npos; }
bool is_stop(char32_t c) { return std::u32string_view(U".!?…‽؟۔।॥։።៕").find(c) != std::u32string_view::npos; }

// The word in small letters, if it is no longer than any that is known.
std::u32string small_word(const Characters& text, TokenPlace token) {
    std::u32string word;
    if (token.end - token.begin > longest_abbreviation + 1) return word;
    for (std::size_t i = token.begin; i < token.end; ++i) word += to_lower(text[i]);
    return word;
}

bool has_period(const Characters& text, TokenPlace token) {
    return text[token.end - 1] == '.' && text.in_word(token.begin);
}

}  // namespace

int line_ends(const Characters& text, std::size_t begin, std::size_t end) {
    int found = 0;
    for (std::size_t i = begin; i < end && found < 2; ++i) {
        if (text[i] == '\r' && text[i + 1] == '\n') continue;
        if (is_line_end(text[i])) found += text[i] == '\f' || text[i] == 0x2029 ? 2 : 1;
    }
    return found;
}

bool is_line_end(char32_t c) { return (c >= '\n' && c <= '\r') || c == 0x85 || c == 0x2028 || c == 0x2029; }

bool is_abbreviation(const std::u32string& word) { return titles().contains(word) || abbreviations().contains(word); }

bool stands_before_numbers(const std::u32string& word) { return before_numbers().contains(word); }

bool ends_sentence(const Characters& text, const std::vector<TokenPlace>& tokens, std::size_t first, std::size_t k,
                   TokenizerSettings::Sentences rule) {
    if (rule == TokenizerSettings::Sentences::whole) return false;
    const TokenPlace token = tokens[k], next = tokens[k + 1];
    const int lines = line_ends(text, token.end, next.begin);
    if (rule == TokenizerSettings::Sentences::lines) return lines > 0;
    if (lines > 1) return true;
    const bool apart = token.end < next.begin;
    if (!apart && is_closer(text[next.begin])) return false;
    std::size_t last = k;  // but for brackets and quotes that close
    while (last > first && is_closer(text[tokens[last].begin]) && tokens[last - 1].end == tokens[last].begin) --last;
    if (is_full_stop(text[tokens[last].begin])) return true;
    if (!apart || is_lower(text[next.begin])) return false;
    if (lines > 0 || is_stop(text[tokens[last].begin])) return true;
    if (!has_period(text, token)) return false;
    std::u32string word = small_word(text, token);
    if (!word.empty()) word.pop_back();
    return !titles().contains(word) && is_upper(text[next.begin]) && starters().contains(small_word(text, next));
}

}  // namespace dualstruct
