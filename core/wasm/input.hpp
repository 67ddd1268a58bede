// Sentences as JavaScript hands them over:
//   sentences  [n]  how many tokens each has (32 bits)
//   counts     [tokens]  how many attributes each has, and values [attributes], if tokens are attributes
//   text       all cells, token by token, or the names of attributes: a NUL behind each
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/errors.hpp"
#include "base/index.hpp"
#include "text/token_table.hpp"

namespace dualstruct {

class Input {
public:
    Input(const char* data, std::size_t sentences, std::size_t bytes)
        : sentences_(reinterpret_cast<const std::uint32_t*>(data), sentences), at_(data + 4 * sentences),
          end_(data + bytes) {}

    std::span<const std::uint32_t> sentences() const { return sentences_; }
    std::size_t tokens() const {
        std::size_t total = 0;
        for (const std::uint32_t n : sentences_) total += n;
        return total;
    }
    template <class T>
    std::span<const T> array(std::size_t size) {
        const auto* const begin = reinterpret_cast<const T*>(at_);
        at_ += size * sizeof(T);
        return {begin, size};
    }
    std::string_view cell() {
        const auto* const found = at_ < end_ ? std::memchr(at_, 0, at(end_ - at_)) : nullptr;
        if (found == nullptr) wrong();
        const char* const end = static_cast<const char*>(found);
        const std::string_view text(at_, at(end - at_));
        at_ = end + 1;
        return text;
    }
    void finish() const {
        if (at_ != end_) wrong();
    }

private:
    [[noreturn]] static void wrong() { throw InputError("a token has the character NUL, which no text has"); }

    std::span<const std::uint32_t> sentences_;
    const char* at_;
    const char* end_;
};

// The cells of tokens that have so many columns.
inline TokenTable table_of(Input& in, std::size_t columns) {
    TokenTable table;
    table.columns.resize(columns);
    for (const std::uint32_t n : in.sentences()) table.sentences.push_back(table.tokens() + n);
    for (TokenTable::Column& column : table.columns) column.ids.reserve(at(table.tokens()));
    for (std::int64_t token = 0; token < table.tokens(); ++token) {
        for (TokenTable::Column& column : table.columns) column.ids.push_back(column.types.intern(in.cell()));
    }
    in.finish();
    return table;
}

}  // namespace dualstruct
