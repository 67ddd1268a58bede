// Reads an exported model (dualstruct.exporting.wasm writes it): numbers, texts and arrays, one after the other. Each
// begins at a multiple of 8 bytes; a text and an array begin with their length.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.hpp"
#include "base/index.hpp"

namespace dualstruct {

class Reader {
public:
    explicit Reader(std::span<const char> data) : data_(data) {}

    std::int64_t number() { return *reinterpret_cast<const std::int64_t*>(take(8)); }
    int small() { return static_cast<int>(number()); }
    bool flag() { return number() != 0; }
    std::string_view text() {
        const std::span<const char> found = array<char>();
        return {found.data(), found.size()};
    }
    template <class T>
    std::span<const T> array() {
        const auto size = static_cast<std::uint64_t>(number());
        if (size > data_.size() / sizeof(T)) fail();
        return {reinterpret_cast<const T*>(take(size * sizeof(T))), static_cast<std::size_t>(size)};
    }
    template <class T>
    std::vector<T> copy() {
        const std::span<const T> found = array<T>();
        return {found.begin(), found.end()};
    }

private:
    [[noreturn]] static void fail() { throw InputError("this is no exported model, or it is damaged"); }
    const char* take(std::uint64_t bytes) {
        const std::uint64_t padded = (bytes + 7) / 8 * 8;
        if (padded > data_.size()) fail();
        const char* const found = data_.data();
        data_ = data_.subspan(static_cast<std::size_t>(padded));
        return found;
    }

    std::span<const char> data_;
};

}  // namespace dualstruct
