// Sentences of tokens with one or more columns; every cell is the id of an interned string.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/index.hpp"
#include "text/string_table.hpp"

namespace dualstruct {

struct TokenTable {
    struct Column {
        StringTable types;              // the distinct strings
        std::vector<std::int32_t> ids;  // [tokens]
    };

    std::vector<Column> columns;
    std::vector<std::int64_t> sentences{0};  // [sentences + 1] first token of each

    std::int64_t tokens() const { return sentences.back(); }
    std::int64_t size() const { return static_cast<std::int64_t>(sentences.size()) - 1; }
    std::string_view cell(std::size_t column, std::int64_t token) const {
        const Column& c = columns[column];
        return c.types[at(c.ids[at(token)])];
    }
};

// A table with the first columns of another one, and new ones behind them.
std::shared_ptr<TokenTable> with_columns(const TokenTable& table, std::size_t keep,
                                         std::vector<TokenTable::Column> columns);

// How a column file is to be read: what separates its cells, how many a token has, and which of its
// lines are no tokens (metadata):
//   - before the first token of a sentence, lines whose first cell is -DOCSTART-;
//   - before the first token of a sentence, lines that begin with "# ", if they have another number of
//     cells than tokens have, or if all sentences begin with such a line (`comments`); a token may be
//     "#", too;
//   - in files like CoNLL-U (`numbered`: ten columns, tabs, the first one a number) all lines that begin
//     with "#" before the first token, and anywhere ranges (1-2) and empty nodes (1.1).
struct ColumnFormat {
    char separator = ' ';  // blanks and tabs separate in runs, any other separator one by one
    std::size_t columns = 0;
    bool comments = false;
    bool numbered = false;

    // From the beginning of a file. `separator` 0: a tab if the first token has one, else blanks.
    static ColumnFormat of(std::string_view data, char separator, std::optional<bool> comments);
    bool is_metadata(std::string_view line, bool begins) const;  // begins: before the first token
    std::vector<std::int64_t> token_lines(std::string_view data) const;  // counted from 1
};

// Lines that are no tokens, as they stand in the file, with the blank lines between them.
struct OtherLines {
    std::int64_t sentence;  // that they stand in or, with as many tokens before them as
    std::int64_t tokens;    // this, before
    std::int64_t begin, end;  // bytes
};

struct ColumnTable {
    std::shared_ptr<TokenTable> table;
    std::vector<OtherLines> others;
};

// Reads a column file held in memory: one token per line, a blank line between sentences. Errors start
// with "line N".
ColumnTable parse_columns(std::string_view data, const ColumnFormat& format);

// A table of its own with the given sentences and columns, holding no other strings.
std::shared_ptr<TokenTable> select_sentences(const TokenTable& table, std::span<const std::int64_t> sentences,
                                             std::span<const std::size_t> columns);

}  // namespace dualstruct
