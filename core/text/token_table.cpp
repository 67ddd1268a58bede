#include "text/token_table.hpp"

#include <string>

#include "text/input_error.hpp"
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

class ColumnParser {
public:
    ColumnParser(std::string_view data, char separator) : lines_(data), separator_(separator) {}

    std::shared_ptr<TokenTable> parse() {
        std::string_view line;
        while (lines_.next(line)) {
            if (is_blank_line(line)) {
                end_sentence();
            } else {
                if (table_->columns.empty()) first_token_line(line);
                add_token(line);
            }
        }
        end_sentence();
        if (table_->columns.empty()) throw InputError("there are no tokens in it");
        return std::move(table_);
    }

private:
    void first_token_line(std::string_view line) {
        if (separator_ == 0) separator_ = line.find('\t') != std::string_view::npos ? '\t' : ' ';
        first_line_ = lines_.number();
        table_->columns.resize(for_each_cell(line, [](std::size_t, std::string_view) {}));
    }

    void add_token(std::string_view line) {
        auto& columns = table_->columns;
        const std::size_t found = for_each_cell(line, [&](std::size_t column, std::string_view cell) {
            if (cell.empty()) fail(lines_.number(), "column " + std::to_string(column + 1) + " is empty");
            if (column < columns.size()) add_cell(columns[column], cell);
        });
        if (found != columns.size()) {
            fail(lines_.number(), counted_columns(found) + ", but line " + std::to_string(first_line_) + " has " +
                                   std::to_string(columns.size()));
        }
        ++tokens_;
    }

    void add_cell(TokenTable::Column& column, std::string_view cell) {
        bool added = false;
        column.ids.push_back(column.types.intern(cell, hash_bytes(cell), &added));
        // Equal bytes are equally valid, so each distinct string is checked once.
        if (added && !is_valid_utf8(cell)) fail(lines_.number(), "this is not UTF-8 text");
    }

    template <class Visit>
    std::size_t for_each_cell(std::string_view line, Visit&& visit) const {
        const char* p = line.data();
        const char* const end = p + line.size();
        std::size_t count = 0;
        if (separator_ == ' ') {
            while (true) {
                while (p != end && is_blank(*p)) ++p;
                if (p == end) return count;
                const char* const begin = p;
                while (p != end && !is_blank(*p)) ++p;
                visit(count++, std::string_view(begin, static_cast<std::size_t>(p - begin)));
            }
        }
        while (true) {
            const char* const begin = p;
            while (p != end && *p != separator_) ++p;
            visit(count++, std::string_view(begin, static_cast<std::size_t>(p - begin)));
            if (p == end) return count;
            ++p;
        }
    }

    void end_sentence() {
        if (tokens_ != table_->sentences.back()) table_->sentences.push_back(tokens_);
    }

    Lines lines_;
    char separator_;
    std::int64_t first_line_ = 0;
    std::int64_t tokens_ = 0;
    std::shared_ptr<TokenTable> table_ = std::make_shared<TokenTable>();
};

}  // namespace

std::shared_ptr<TokenTable> parse_columns(std::string_view data, char separator) {
    return ColumnParser(data, separator).parse();
}

std::shared_ptr<TokenTable> select_sentences(const TokenTable& table, std::span<const std::int64_t> sentences,
                                             std::span<const std::size_t> columns) {
    auto chosen = std::make_shared<TokenTable>();
    for (const std::int64_t s : sentences) {
        const auto at = static_cast<std::size_t>(s);
        chosen->sentences.push_back(chosen->tokens() + table.sentences[at + 1] - table.sentences[at]);
    }
    for (const std::size_t c : columns) {
        const TokenTable::Column& from = table.columns[c];
        TokenTable::Column& to = chosen->columns.emplace_back();
        to.ids.reserve(static_cast<std::size_t>(chosen->tokens()));
        std::vector<std::int32_t> renamed(from.types.size(), HashIndex::absent);
        for (const std::int64_t s : sentences) {
            const auto at = static_cast<std::size_t>(s);
            for (std::int64_t token = table.sentences[at]; token < table.sentences[at + 1]; ++token) {
                const auto type = static_cast<std::size_t>(from.ids[static_cast<std::size_t>(token)]);
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
