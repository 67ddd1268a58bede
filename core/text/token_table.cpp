#include "text/token_table.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/errors.hpp"
#include "base/index.hpp"
#include "text/lines.hpp"
#include "text/unicode.hpp"

namespace dualstruct {

namespace {

[[noreturn]] void fail(std::int64_t line, const std::string& reason) {
    throw InputError("line " + std::to_string(line) + ": " + reason);
}

std::string counted_columns(std::size_t n) { return std::to_string(n) + (n == 1 ? " column" : " columns"); }

bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool is_blank_line(std::string_view line) {
    for (const char c : line) {
        if (!is_blank(c)) return false;
    }
    return true;
}

// Calls visit(column, cell) for each cell of a line; how many there are.
template <class Visit>
std::size_t for_each_cell(std::string_view line, char separator, Visit&& visit) {
    const char* p = line.data();
    const char* const end = p + line.size();
    std::size_t count = 0;
    if (separator == ' ') {
        while (true) {
            while (p != end && is_blank(*p)) ++p;
            if (p == end) return count;
            const char* const begin = p;
            while (p != end && !is_blank(*p)) ++p;
            visit(count++, std::string_view(begin, at(p - begin)));
        }
    }
    while (true) {
        const char* const begin = p;
        while (p != end && *p != separator) ++p;
        visit(count++, std::string_view(begin, at(p - begin)));
        if (p == end) return count;
        ++p;
    }
}

std::size_t count_cells(std::string_view line, char separator) {
    return for_each_cell(line, separator, [](std::size_t, std::string_view) {});
}

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// "12" in "12\t…", and what comes behind its digits.
std::pair<std::string_view, char> leading_number(std::string_view line) {
    std::size_t n = 0;
    while (n < line.size() && is_ascii_digit(line[n])) ++n;
    return {line.substr(0, n), n < line.size() ? line[n] : '\0'};
}

bool begins_document(std::string_view line) {
    constexpr std::string_view mark = "-DOCSTART-";
    return line.starts_with(mark) && (line.size() == mark.size() || is_blank(line[mark.size()]));
}

bool may_be_comment(std::string_view line) { return line.starts_with("# "); }

// Whether the first line that is no comment is a word of CoNLL-U.
bool numbers_words(std::string_view data) {
    Lines lines(data);
    std::string_view line;
    while (lines.next(line)) {
        if (is_blank_line(line) || line.starts_with('#')) continue;
        const auto [number, next] = leading_number(line);
        return !number.empty() && (next == '\t' || next == '-' || next == '.') && count_cells(line, '\t') == 10;
    }
    return false;
}

// How far the beginning of a file goes that decides its format.
constexpr std::size_t beginning = 1 << 16;

class ColumnParser {
public:
    ColumnParser(std::string_view data, const ColumnFormat& format) : lines_(data), format_(format) {
        table_->columns.resize(format.columns);
    }

    ColumnTable parse() {
        std::string_view line;
        std::int64_t begin = position();
        while (lines_.next(line)) {
            const bool inside = tokens_ != table_->sentences.back();
            if (is_blank_line(line)) {
                if (inside) end_others(begin);
                end_sentence();
            } else if (format_.is_metadata(line, !inside)) {
                if (!is_valid_utf8(line)) fail(lines_.number(), "this is not UTF-8 text");
                if (others_begin_ < 0) others_begin_ = begin;
            } else {
                end_others(begin);
                add_token(line);
            }
            begin = position();
        }
        end_others(begin);
        end_sentence();
        if (tokens_ == 0) throw InputError("it has no tokens");
        return {std::move(table_), std::move(others_)};
    }

private:
    void add_token(std::string_view line) {
        auto& columns = table_->columns;
        if (tokens_ == 0) first_line_ = lines_.number();
        const std::size_t found =
            for_each_cell(line, format_.separator, [&](std::size_t column, std::string_view cell) {
                if (cell.empty()) fail(lines_.number(), "column " + std::to_string(column + 1) + " is empty");
                if (column < columns.size()) add_cell(columns[column], cell);
            });
        if (found != columns.size()) {
            const std::string others = first_line_ == lines_.number() ? "the tokens before have "
                                                                      : "line " + std::to_string(first_line_) + " has ";
            fail(lines_.number(), counted_columns(found) + ", but " + others + std::to_string(columns.size()) +
                                      (may_be_comment(line) ? "; comments stand before a sentence, not in it" : ""));
        }
        ++tokens_;
    }

    void add_cell(TokenTable::Column& column, std::string_view cell) {
        bool added = false;
        column.ids.push_back(column.types.intern(cell, hash_bytes(cell), &added));
        // Equal bytes are equally valid, so each distinct string is checked once.
        if (added && !is_valid_utf8(cell)) fail(lines_.number(), "this is not UTF-8 text");
    }

    std::int64_t position() const { return static_cast<std::int64_t>(lines_.position()); }

    void end_others(std::int64_t end) {
        if (others_begin_ < 0) return;
        others_.push_back({table_->size(), tokens_ - table_->sentences.back(), others_begin_, end});
        others_begin_ = -1;
    }

    void end_sentence() {
        if (tokens_ != table_->sentences.back()) table_->sentences.push_back(tokens_);
    }

    Lines lines_;
    const ColumnFormat& format_;
    std::int64_t first_line_ = 0;
    std::int64_t tokens_ = 0;
    std::int64_t others_begin_ = -1;  // of lines that are no tokens, until the next one that is
    std::shared_ptr<TokenTable> table_ = std::make_shared<TokenTable>();
    std::vector<OtherLines> others_;
};

}  // namespace

ColumnFormat ColumnFormat::of(std::string_view data, char separator, std::optional<bool> comments) {
    if (data.size() > beginning) data = data.substr(0, std::max(data.rfind('\n', beginning), data.find('\n')));
    ColumnFormat format;
    format.numbered = (separator == 0 || separator == '\t') && numbers_words(data);
    std::int64_t sentences = 0, commented = 0;
    bool inside = false, has_comment = false;
    Lines lines(data);
    std::string_view line;
    while (lines.next(line)) {
        if (is_blank_line(line)) {
            inside = false;
        } else if (!inside && (may_be_comment(line) || (format.numbered && line.starts_with('#')))) {
            has_comment = true;
        } else if (!inside && !begins_document(line)) {
            if (sentences == 0) {
                format.separator = separator != 0 ? separator : line.find('\t') != std::string_view::npos ? '\t' : ' ';
                format.columns = count_cells(line, format.separator);
            }
            ++sentences;
            commented += has_comment;
            inside = true;
            has_comment = false;
        }
    }
    // One sentence with as many cells in its comment as in its tokens could begin with the token "#".
    format.comments = comments.value_or(sentences > 1 && commented == sentences);
    return format;
}

bool ColumnFormat::is_metadata(std::string_view line, bool begins) const {
    if (numbered) {
        const auto [number, next] = leading_number(line);
        if ((begins && line.starts_with('#')) || (!number.empty() && (next == '-' || next == '.'))) return true;
    }
    if (!begins) return false;
    return begins_document(line) || (may_be_comment(line) && (comments || count_cells(line, separator) != columns));
}

std::vector<std::int64_t> ColumnFormat::token_lines(std::string_view data) const {
    std::vector<std::int64_t> numbers;
    bool inside = false;
    Lines lines(data);
    std::string_view line;
    while (lines.next(line)) {
        const bool blank = is_blank_line(line);
        if (!blank && !is_metadata(line, !inside)) {
            numbers.push_back(lines.number());
            inside = true;
        } else if (blank) {
            inside = false;
        }
    }
    return numbers;
}

ColumnTable parse_columns(std::string_view data, const ColumnFormat& format) {
    return ColumnParser(data, format).parse();
}

std::shared_ptr<TokenTable> with_columns(const TokenTable& table, std::size_t keep,
                                         std::vector<TokenTable::Column> columns) {
    if (keep > table.columns.size()) throw InputError("there are not so many columns");
    auto made = std::make_shared<TokenTable>();
    made->sentences = table.sentences;
    made->columns.assign(table.columns.begin(), table.columns.begin() + static_cast<std::ptrdiff_t>(keep));
    for (TokenTable::Column& column : columns) {
        if (column.ids.size() != at(table.tokens())) throw InputError("a new column needs a cell for each token");
        for (const std::int32_t id : column.ids) {
            if (id < 0 || at(id) >= column.types.size()) throw InputError("a new column has no such string");
        }
        made->columns.push_back(std::move(column));
    }
    return made;
}

std::shared_ptr<TokenTable> select_sentences(const TokenTable& table, std::span<const std::int64_t> sentences,
                                             std::span<const std::size_t> columns) {
    auto chosen = std::make_shared<TokenTable>();
    for (const std::int64_t s : sentences) {
        const auto place = at(s);
        chosen->sentences.push_back(chosen->tokens() + table.sentences[place + 1] - table.sentences[place]);
    }
    for (const std::size_t c : columns) {
        const TokenTable::Column& from = table.columns[c];
        TokenTable::Column& to = chosen->columns.emplace_back();
        to.ids.reserve(at(chosen->tokens()));
        std::vector<std::int32_t> renamed(from.types.size(), HashIndex::absent);
        for (const std::int64_t s : sentences) {
            const auto place = at(s);
            for (std::int64_t token = table.sentences[place]; token < table.sentences[place + 1]; ++token) {
                const auto type = at(from.ids[at(token)]);
                if (renamed[type] == HashIndex::absent) {
                    renamed[type] = to.types.intern(from.types[type], from.types.hash(type));
                }
                to.ids.push_back(renamed[type]);
            }
        }
    }
    return chosen;
}

}  // namespace dualstruct
