#include "text/conllu.hpp"

#include <algorithm>
#include <charconv>

#include "base/errors.hpp"
#include "base/index.hpp"
#include "text/lines.hpp"
#include "text/unicode.hpp"

namespace dualstruct {

namespace {

using Cells = std::array<std::string_view, conllu_columns>;

bool is_empty_line(std::string_view line) { return line.find_first_not_of(' ') == std::string_view::npos; }

std::string_view trimmed(std::string_view s) {
    const std::size_t begin = s.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return s.substr(begin, s.find_last_not_of(" \t") - begin + 1);
}

std::string quoted(std::string_view s) {
    return is_valid_utf8(s) ? std::string(1, '\'').append(s).append(1, '\'') : "not UTF-8 text";
}

bool is_range_or_empty_node(std::string_view id) { return id.find_first_of("-.") != std::string_view::npos; }

// Splits a line at tabs; how many cells it has, of which the first ten are in `cells`.
std::size_t split(std::string_view line, Cells& cells) {
    std::size_t count = 0;
    while (true) {
        const std::size_t tab = line.find('\t');
        if (count < cells.size()) cells[count] = line.substr(0, tab);
        ++count;
        if (tab == std::string_view::npos) return count;
        line.remove_prefix(tab + 1);
    }
}

bool to_number(std::string_view digits, std::int32_t& number) {
    if (digits.empty() || !std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) {
        return false;
    }
    return std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc();
}

class Parser {
public:
    Parser(std::string_view text, std::int64_t lines_before) : lines_(text), lines_before_(lines_before) {
        words_.table->columns.resize(conllu_columns - 2);
    }

    ConlluWords parse() {
        std::string_view line;
        while (lines_.next(line)) {
            if (is_empty_line(line)) {
                end_sentence();
            } else if (line.front() == '#') {
                add_comment(line);
            } else {
                add_row(line);
            }
        }
        end_sentence();
        // What follows the last sentence is part of it.
        words_.bytes.back() = words_.table->size() == 0 ? 0 : static_cast<std::int64_t>(lines_.position());
        return std::move(words_);
    }

private:
    [[noreturn]] void fail(const std::string& reason) const { fail(line_number(), reason); }

    [[noreturn]] void fail(std::int64_t line, const std::string& reason) const {
        std::string where = "line " + std::to_string(line);
        if (!sent_id_.empty()) where.append(" (sent_id ").append(sent_id_).append(")");
        throw InputError(where + ": " + reason);
    }

    std::int64_t line_number() const { return lines_before_ + lines_.number(); }
    std::int32_t words_here() const { return static_cast<std::int32_t>(heads().size() - first_); }
    const std::vector<std::int32_t>& heads() const { return words_.heads; }

    void add_comment(std::string_view line) {
        if (!is_valid_utf8(line)) fail("this is not UTF-8 text");
        if (words_here() > 0) fail("a comment between the words of a sentence; is a blank line missing before it?");
        const std::size_t equals = line.find('=');
        if (equals != std::string_view::npos && trimmed(line.substr(1, equals - 1)) == "sent_id") {
            sent_id_ = trimmed(line.substr(equals + 1));
        }
    }

    void add_row(std::string_view line) {
        Cells cells;
        const std::size_t count = split(line, cells);
        if (count != cells.size()) {
            fail(std::to_string(count) + (count == 1 ? " column" : " columns") + " where CoNLL-U has 10" +
                 (count == 1 ? " (separated by tabs)" : ""));
        }
        for (std::size_t column = 0; column < cells.size(); ++column) {
            if (cells[column].empty()) {
                fail("column " + std::to_string(column + 1) + " is empty; no value is written _");
            }
        }
        if (is_range_or_empty_node(cells[conllu_id])) {
            check_range_or_empty_node(cells[conllu_id], line);
        } else {
            add_word(cells);
        }
    }

    void check_range_or_empty_node(std::string_view id, std::string_view line) {
        if (!is_valid_utf8(line)) fail("this is not UTF-8 text");
        const std::size_t mark = id.find_first_of("-.");
        std::int32_t first = 0;
        std::int32_t second = 0;
        const bool numbers = to_number(id.substr(0, mark), first) && to_number(id.substr(mark + 1), second);
        if (id[mark] == '-') {
            if (!numbers || first != words_here() + 1 || second < first) {
                fail("the range " + quoted(id) + " does not begin with the next word, " +
                     std::to_string(words_here() + 1));
            }
            last_in_range_ = std::max(last_in_range_, second);
            range_line_ = line_number();
        } else if (!numbers || first != words_here()) {
            fail("the empty node " + quoted(id) + " does not follow word " + std::to_string(first));
        }
    }

    void add_word(const Cells& cells) {
        std::int32_t id = 0;
        if (!to_number(cells[conllu_id], id) || id != words_here() + 1) {
            fail("word " + quoted(cells[conllu_id]) + " where " + std::to_string(words_here() + 1) + " was expected");
        }
        std::int32_t head = -1;
        if (cells[conllu_head] != "_" && !to_number(cells[conllu_head], head)) {
            fail("the head is " + quoted(cells[conllu_head]) + ", not a number");
        }
        for (std::size_t column = 1, at = 0; column < cells.size(); ++column) {
            if (column == conllu_head) continue;
            add_cell(words_.table->columns[at++], cells[column]);
        }
        words_.heads.push_back(head);
        words_.lines.push_back(line_number());
    }

    void add_cell(TokenTable::Column& column, std::string_view cell) {
        bool added = false;
        column.ids.push_back(column.types.intern(cell, hash_bytes(cell), &added));
        // Equal bytes are equally valid, so each distinct string is checked once.
        if (added && !is_valid_utf8(cell)) fail("this is not UTF-8 text");
    }

    void end_sentence() {
        const std::int32_t n = words_here();
        if (n > 0) {
            for (std::size_t word = first_; word < heads().size(); ++word) {
                const std::int32_t head = heads()[word];
                const auto itself = static_cast<std::int32_t>(word - first_) + 1;
                if (head > n) {
                    fail(words_.lines[word], "the head of word " + std::to_string(itself) + " is " +
                                                 std::to_string(head) + ", but the sentence has " + std::to_string(n) +
                                                 (n == 1 ? " word" : " words"));
                }
                if (head == itself) {
                    fail(words_.lines[word], "word " + std::to_string(itself) + " is its own head");
                }
            }
            if (last_in_range_ > n) {
                fail(range_line_, "a range that ends with word " + std::to_string(last_in_range_) +
                                      ", but the sentence has " + std::to_string(n));
            }
            words_.table->sentences.push_back(static_cast<std::int64_t>(heads().size()));
            words_.bytes.push_back(static_cast<std::int64_t>(lines_.position()));
            sent_id_ = {};
        }
        first_ = heads().size();
        last_in_range_ = 0;
    }

    Lines lines_;
    std::int64_t lines_before_;
    ConlluWords words_{std::make_shared<TokenTable>(), {}, {}, {0}};
    std::size_t first_ = 0;  // word of this sentence
    std::string_view sent_id_;
    std::int32_t last_in_range_ = 0;
    std::int64_t range_line_ = 0;
};

}  // namespace

ConlluWords parse_conllu(std::string_view text, std::int64_t lines_before) {
    return Parser(text, lines_before).parse();
}

std::string rewrite_conllu(std::string_view text, const std::vector<NewCells>& changed) {
    std::string written;
    written.reserve(text.size() + text.size() / 8);
    std::array<const NewCells*, conllu_columns> in_column{};
    for (const NewCells& cells : changed) in_column[cells.column] = &cells;
    Lines lines(text);
    std::string_view line;
    std::size_t word = 0;
    std::size_t copied = 0;
    Cells cells;
    while (lines.next(line)) {
        if (is_empty_line(line) || line.front() == '#') continue;
        split(line, cells);
        if (is_range_or_empty_node(cells[conllu_id])) continue;
        for (std::size_t column = 0; column < cells.size(); ++column) {
            const NewCells* const replaced = in_column[column];
            if (replaced == nullptr) continue;
            const auto begin = at(cells[column].data() - text.data());
            written.append(text.substr(copied, begin - copied));
            written.append(replaced->strings[at(replaced->ids[word])]);
            copied = begin + cells[column].size();
        }
        ++word;
    }
    written.append(text.substr(copied));
    return written;
}

FaultyWord find_fault(std::span<const std::int32_t> heads, bool single_root) {
    const auto n = static_cast<std::int32_t>(heads.size());
    std::int32_t roots = 0;
    for (std::int32_t word = 0; word < n; ++word) {
        const std::int32_t head = heads[at(word)];
        if (head < 0) return {TreeFault::no_head, word};
        if (head == 0 && ++roots == 2 && single_root) return {TreeFault::two_roots, word};
    }
    // Walk up from each word until a word already walked over: on this walk means a cycle.
    std::vector<std::int32_t> walk(heads.size(), -1);
    for (std::int32_t start = 0; start < n; ++start) {
        std::int32_t word = start;
        while (word >= 0 && walk[at(word)] < 0) {
            walk[at(word)] = start;
            word = heads[at(word)] - 1;
        }
        if (word >= 0 && walk[at(word)] == start) return {TreeFault::cycle, word};
    }
    return {};
}

std::int64_t count_crossing(std::span<const std::int32_t> heads) {
    std::int64_t crossing = 0;
    const auto n = static_cast<std::int32_t>(heads.size());
    for (std::int32_t word = 1; word <= n; ++word) {
        const std::int32_t head = heads[at(word - 1)];
        if (head < 0) continue;
        const auto [left, right] = std::minmax(word, head);
        bool crossed = false;
        // It is crossed by an arc from a word inside it to a head outside, or the other way round.
        for (std::int32_t inner = left + 1; inner < right && !crossed; ++inner) {
            const std::int32_t other = heads[at(inner - 1)];
            crossed = other >= 0 && (other < left || other > right);
        }
        for (std::int32_t outer = 1; outer <= n && !crossed; ++outer) {
            if (outer >= left && outer <= right) continue;
            const std::int32_t other = heads[at(outer - 1)];
            crossed = other > left && other < right;
        }
        crossing += crossed ? 1 : 0;
    }
    return crossing;
}

}  // namespace dualstruct
