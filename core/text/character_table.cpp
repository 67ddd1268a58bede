#include "text/character_table.hpp"

#include <algorithm>
#include <string>

#include "base/index.hpp"
#include "text/characters.hpp"
#include "text/sentence_ends.hpp"
#include "text/tokenizer.hpp"
#include "text/unicode.hpp"

namespace dualstruct {

namespace {

// Characters of a chunk, or of a run, that are looked at.
constexpr std::size_t longest_part = 24;

struct Chunk {
    std::size_t begin, end;  // code points
};

class Writer {
public:
    Writer(CharacterTable& found, const Characters& text, std::string_view bytes)
        : found_(found), text_(text), bytes_(bytes) {
        for (std::size_t i = 0; i < text.size();) {
            const std::size_t begin = i;
            while (i < text.size() && text.of(i) != CharClass::gap) ++i;
            if (i > begin) chunks_.push_back({begin, i});
            while (i < text.size() && text.of(i) == CharClass::gap) ++i;
        }
    }

    void write(std::int64_t window) {
        mark_rules();
        std::vector<std::int64_t>& sentences = found_.table->sentences;
        for (std::size_t k = 0; k < chunks_.size(); ++k) {
            write(k);
            const auto count = static_cast<std::int64_t>(found_.places.size());
            if (k + 1 == chunks_.size() || (window > 0 && count - sentences.back() >= window))
                sentences.push_back(count);
        }
    }

private:
    void write(std::size_t k) {
        const auto [begin, end] = chunks_[k];
        const std::string_view last = k == 0 ? "^" : head(chunks_[k - 1].begin, chunks_[k - 1].end);
        const bool is_last = k + 1 == chunks_.size();
        const std::string_view next = is_last ? "$" : head(chunks_[k + 1].begin, chunks_[k + 1].end);
        const char behind = is_last ? 'p' : gap(end, chunks_[k + 1].begin);
        std::size_t run = begin;
        for (std::size_t i = begin; i < end; ++i) {
            if (i > begin && !same_kind(i - 1, i)) run = i;
            put(CharacterColumn::character, slice(i, i + 1));
            put(CharacterColumn::kind, kind(i));
            put(CharacterColumn::gap, std::string_view(i + 1 == end ? &behind : "n", 1));
            put(CharacterColumn::run, lowered(std::max(run, tail_begin(begin, i + 1)), i + 1));
            put(CharacterColumn::before, slice(tail_begin(begin, i + 1), i + 1));
            put(CharacterColumn::rest, i + 1 == end ? "$" : head(i + 1, end));
            put(CharacterColumn::next, next);
            put(CharacterColumn::last, last);
            put(CharacterColumn::rule, std::string_view(&rules_[i], 1));
            found_.places.push_back(static_cast<std::int64_t>(i));
        }
    }

    // What the rules say of each character.
    void mark_rules() {
        rules_.assign(text_.size(), 'i');
        TokenizedTexts split;
        Tokenizer(TokenizerSettings{}).add(bytes_, split);
        for (const std::int64_t end : split.ends) rules_[at(end - 1)] = 'e';
        const auto& sentences = split.table->sentences;
        for (std::size_t k = 1; k < sentences.size(); ++k) rules_[at(split.ends[at(sentences[k] - 1)] - 1)] = 's';
    }

    void put(CharacterColumn which, std::string_view cell) {
        TokenTable::Column& column = found_.table->columns[static_cast<std::size_t>(which)];
        column.ids.push_back(column.types.intern(cell));
    }

    std::string_view slice(std::size_t begin, std::size_t end) const {
        return bytes_.substr(text_.places[begin], text_.places[end] - text_.places[begin]);
    }

    std::string_view head(std::size_t begin, std::size_t end) const {
        return slice(begin, std::min(end, begin + longest_part));
    }

    static std::size_t tail_begin(std::size_t begin, std::size_t end) {
        return end - begin > longest_part ? end - longest_part : begin;
    }

    char gap(std::size_t begin, std::size_t end) const {
        const int lines = line_ends(text_, begin, end);
        return lines == 0 ? 'b' : lines == 1 ? 'l' : 'p';
    }

    bool same_kind(std::size_t a, std::size_t b) const {
        const auto group = [&](std::size_t i) {
            const CharClass found = text_.of(i);
            return found == CharClass::mark ? CharClass::letter : found;
        };
        return group(a) == group(b);
    }

    std::string_view kind(std::size_t i) const {
        switch (text_.of(i)) {
            case CharClass::digit: return "0";
            case CharClass::letter:
            case CharClass::mark: return is_upper(text_[i]) ? "A" : is_lower(text_[i]) ? "a" : "x";
            default: return slice(i, i + 1);
        }
    }

    std::string_view lowered(std::size_t begin, std::size_t end) {
        lower_.clear();
        for (std::size_t i = begin; i < end; ++i) append_utf8(lower_, to_lower(text_[i]));
        return lower_;
    }

    CharacterTable& found_;
    const Characters& text_;
    std::string_view bytes_;
    std::vector<Chunk> chunks_;
    std::string lower_;
    std::string rules_;  // [code points]
};

}  // namespace

void CharacterTable::add(std::string_view text, std::int64_t window) {
    Characters characters;
    characters.read(text);
    Writer(*this, characters, text).write(window);
    texts.push_back(static_cast<std::int64_t>(places.size()));
}

}  // namespace dualstruct
