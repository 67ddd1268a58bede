// Distinct strings, each kept once: string -> id -> string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.hpp"
#include "text/hash.hpp"
#include "text/hash_index.hpp"

namespace dualstruct {

// Strings laid end to end; the form in which names go into a model file.
struct Strings {
    std::string bytes;
    std::vector<std::int64_t> offsets{0};  // [size + 1]

    std::size_t size() const { return offsets.size() - 1; }
    std::string_view operator[](std::size_t i) const {
        const auto begin = at(offsets[i]);
        return std::string_view(bytes).substr(begin, at(offsets[i + 1]) - begin);
    }
    void push_back(std::string_view s) {
        bytes.append(s);
        offsets.push_back(static_cast<std::int64_t>(bytes.size()));
    }
};

// What a feature is called when its name is not known.
inline std::string number_name(std::int32_t id) { return std::string(1, '#').append(std::to_string(id)); }

class StringTable {
public:
    // `added` (if given) says whether the string is new.
    std::int32_t intern(std::string_view s, std::uint64_t hash, bool* added = nullptr) {
        const std::int32_t id = index_.insert(hash);
        const bool is_new = at(id) == strings_.size();
        if (is_new) strings_.push_back(s);
        if (added != nullptr) *added = is_new;
        return id;
    }
    std::int32_t intern(std::string_view s) { return intern(s, hash_bytes(s)); }

    std::int32_t find(std::uint64_t hash) const { return index_.find(hash); }

    std::size_t size() const { return strings_.size(); }
    std::string_view operator[](std::size_t id) const { return strings_[id]; }
    std::uint64_t hash(std::size_t id) const { return index_.hashes()[id]; }
    const std::vector<std::uint64_t>& hashes() const { return index_.hashes(); }  // [id]
    const Strings& strings() const { return strings_; }

private:
    HashIndex index_;
    Strings strings_;
};

}  // namespace dualstruct
