// The names in CRFsuite's model files: a CQDB, which maps names to numbers and back on the disk.
//
// "CQDB", size, flag 0, a mark of the byte order, count, where the way back begins; 256 hash tables (place
// and number of buckets); records (number, length, name, NUL); the buckets (hash, place of the record);
// the places of the records by number. Numbers are little-endian words of 32 bits; places count from the
// beginning. Names are hashed, NUL included, by Bob Jenkins's lookup3: the last byte of the hash chooses
// the table, the rest the bucket; a full bucket sends on to the next.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/hash.hpp"

namespace dualstruct::crfsuite {

// Bytes of a file from a stranger: nothing is read that was not found to lie inside.
class Bytes {
public:
    Bytes(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

    std::size_t size() const { return bytes_.size(); }
    const std::string& name() const { return name_; }  // of the file
    bool has(std::uint64_t begin, std::uint64_t count) const {
        return begin <= bytes_.size() && count <= bytes_.size() - begin;
    }
    // These believe that it was asked whether the bytes are there.
    std::uint32_t word(std::uint64_t begin) const { return load_word<std::uint32_t>(bytes_.data() + begin); }
    double number(std::uint64_t begin) const {
        return std::bit_cast<double>(load_word<std::uint64_t>(bytes_.data() + begin));
    }
    std::string_view text(std::uint64_t begin, std::uint64_t count) const { return bytes_.substr(begin, count); }

    [[noreturn]] void damaged(const std::string& what) const;

private:
    std::string_view bytes_;
    std::string name_;
};

class NameTable {
public:
    // The table that begins here and should have so many names; `what` says of what, in messages.
    NameTable(const Bytes& file, std::uint64_t begin, std::uint32_t count, std::string what);

    std::uint32_t size() const { return count_; }
    std::string_view operator[](std::uint32_t number) const;
    // The number of a name, −1 if there is none. Reads no more than the buckets and records on its way.
    std::int64_t find(std::string_view name) const;
    // Every name must be there, and be found where it is looked up.
    void check() const;

private:
    std::int64_t find(std::string_view name, std::uint64_t& steps) const;  // in so many steps at most
    std::string_view record(std::uint64_t place, std::uint32_t& number) const;

    const Bytes& file_;
    std::uint64_t begin_, size_ = 0, places_ = 0;
    std::uint32_t count_;
    std::string what_;
};

// The table of these names, which have no NUL and are all different. Throws InputError if they have or are not.
std::string write_names(const std::vector<std::string_view>& names, const std::string& what);

// Bob Jenkins's hash of a name and the NUL behind it (hashlittle with the initial value 0).
std::uint32_t lookup3(std::string_view name);

}  // namespace dualstruct::crfsuite
