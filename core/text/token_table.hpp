// Sentences of tokens with one or more columns; every cell is the id of an interned string.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

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
        return c.types[static_cast<std::size_t>(c.ids[static_cast<std::size_t>(token)])];
    }
};

// Reads a column file held in memory: one token a line, a blank line between sentences.
// `separator` 0 means: a tab if the first line has one, else blanks. Blanks separate in runs,
// any other separator one by one. Errors start with "line N".
std::shared_ptr<TokenTable> parse_columns(std::string_view data, char separator);

// A table of its own with the given sentences and columns, holding no other strings.
std::shared_ptr<TokenTable> select_sentences(const TokenTable& table, std::span<const std::int64_t> sentences,
                                             std::span<const std::size_t> columns);

}  // namespace dualstruct
