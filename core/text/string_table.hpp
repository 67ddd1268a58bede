// Distinct strings, each kept once: string -> id -> string.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.hpp"
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

// Strings in order, each as how many bytes it shares with the one before it, and the rest with a 0 behind it: what
// sorted names take the least room as. There is no 0 in them.
struct FrontCoded {
    std::vector<std::uint8_t> shared;  // [size]
    std::string rest;
};

inline FrontCoded front_coded(const Strings& strings) {
    FrontCoded coded;
    std::string_view before;
    for (std::size_t i = 0; i < strings.size(); ++i) {
        const std::string_view s = strings[i];
        std::size_t same = 0;
        while (same < std::min({before.size(), s.size(), std::size_t{255}}) && before[same] == s[same]) ++same;
        coded.shared.push_back(static_cast<std::uint8_t>(same));
        coded.rest.append(s.substr(same)).push_back('\0');
        before = s;
    }
    return coded;
}

// No more than `most` bytes of strings.
inline Strings from_front_coded(std::span<const std::uint8_t> shared, std::string_view rest, std::size_t most) {
    Strings strings;
    for (const std::uint8_t same : shared) {
        const std::size_t i = strings.size(), end = rest.find('\0');
        if (end == std::string_view::npos || (i == 0 ? same > 0 : same > strings[i - 1].size())) {
            throw InputError("features: the names are not what was written");
        }
        if (strings.bytes.size() + same + end > most) throw InputError("features: the names are longer than it says");
        const std::string whole = std::string(i == 0 ? "" : strings[i - 1].substr(0, same)).append(rest.substr(0, end));
        strings.push_back(whole);
        rest.remove_prefix(end + 1);
    }
    if (!rest.empty()) throw InputError("features: there are more names than it says");
    return strings;
}

// What features are known by in an index: their hashes, or if their names were left out the low bits of those
// (fingerprints), spread over all bits because an index does not compare those that give the address.
class KnownBy {
public:
    KnownBy() = default;
    explicit KnownBy(int bits) : factor_(0x9E3779B97F4A7C15ull) {
        if (bits < 8 || bits > 62) throw InputError("features: fingerprints of no such size");
        bits_ = (std::uint64_t{1} << bits) - 1;
    }
    bool whole() const { return factor_ == 1; }
    std::uint64_t operator()(std::uint64_t hash) const { return (hash & bits_) * factor_; }

    // [id] of [id] as they are in an index.
    std::vector<std::uint64_t> fingerprints(std::vector<std::uint64_t> hashes) const {
        if (!whole()) {
            for (std::uint64_t& hash : hashes) hash *= 0xF1DE83E19937733Dull;  // the inverse of the factor
        }
        return hashes;
    }
    std::vector<std::uint64_t> hashes(std::span<const std::uint64_t> fingerprints) const {
        std::vector<std::uint64_t> found;
        for (const std::uint64_t fingerprint : fingerprints) {
            if ((fingerprint & ~bits_) != 0) throw InputError("features: a fingerprint has too many bits");
            found.push_back((*this)(fingerprint));
        }
        return found;
    }

private:
    std::uint64_t bits_ = ~std::uint64_t{0}, factor_ = 1;
};

[[noreturn]] inline void refuse_nameless() {
    throw InputError(
        "the names of this model's features were left out when it was compressed: it predicts, but what needs names or "
        "adds features takes the model it was made of");
}

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
