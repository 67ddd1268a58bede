// The lines of a text held in memory, counted from 1, without their ends (\n or \r\n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/index.hpp"

namespace dualstruct {

class Lines {
public:
    explicit Lines(std::string_view text) : begin_(text.data()), rest_(text) {
        if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    }

    // The next line; false when there is none.
    bool next(std::string_view& line) {
        if (rest_.empty()) return false;
        const auto* end = static_cast<const char*>(std::memchr(rest_.data(), '\n', rest_.size()));
        const std::size_t length = end == nullptr ? rest_.size() : at(end - rest_.data());
        line = rest_.substr(0, length);
        rest_.remove_prefix(end == nullptr ? length : length + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        ++number_;
        return true;
    }

    std::int64_t number() const { return number_; }                              // of the last line given
    std::size_t position() const { return at(rest_.data() - begin_); }  // behind it

private:
    const char* begin_;
    std::string_view rest_;
    std::int64_t number_ = 0;
};

}  // namespace dualstruct
