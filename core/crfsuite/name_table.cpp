#include "crfsuite/name_table.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/errors.hpp"

namespace dualstruct::crfsuite {

namespace {

constexpr std::uint32_t tables = 256;
constexpr std::uint64_t table_header = 24, records_begin = table_header + 8 * tables;
constexpr std::uint32_t byte_order = 0x62445371;

// The twelve bytes of a name from here on, as words; zeros behind its end.
std::array<std::uint32_t, 3> block(std::string_view name, std::size_t from) {
    char bytes[12] = {};
    if (from < name.size()) std::memcpy(bytes, name.data() + from, std::min<std::size_t>(12, name.size() - from));
    return {load_word<std::uint32_t>(bytes), load_word<std::uint32_t>(bytes + 4), load_word<std::uint32_t>(bytes + 8)};
}

void put(std::string& bytes, std::uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(word >> shift & 0xFF));
}

}  // namespace

void Bytes::damaged(const std::string& what) const { throw InputError(name_ + " is damaged: " + what); }

std::uint32_t lookup3(std::string_view name) {
    const std::size_t length = name.size() + 1;  // a zero behind the name is its NUL
    std::uint32_t a = 0xDEADBEEF + static_cast<std::uint32_t>(length), b = a, c = a;
    const auto add = [&](const std::array<std::uint32_t, 3>& words) {
        a += words[0];
        b += words[1];
        c += words[2];
    };
    std::size_t at = 0;
    for (; length - at > 12; at += 12) {
        add(block(name, at));
        for (const auto& [first, second, third] : {std::array{4, 6, 8}, std::array{16, 19, 4}}) {
            a = (a - c) ^ std::rotl(c, first);
            c += b;
            b = (b - a) ^ std::rotl(a, second);
            a += c;
            c = (c - b) ^ std::rotl(b, third);
            b += a;
        }
    }
    add(block(name, at));
    c = (c ^ b) - std::rotl(b, 14);
    a = (a ^ c) - std::rotl(c, 11);
    b = (b ^ a) - std::rotl(a, 25);
    c = (c ^ b) - std::rotl(b, 16);
    a = (a ^ c) - std::rotl(c, 4);
    b = (b ^ a) - std::rotl(a, 14);
    return (c ^ b) - std::rotl(b, 24);
}

NameTable::NameTable(const Bytes& file, std::uint64_t begin, std::uint32_t count, std::string what)
    : file_(file), begin_(begin), count_(count), what_(std::move(what)) {
    if (!file.has(begin, records_begin)) file.damaged("it ends before the " + what_ + "s");
    if (file.text(begin, 4) != "CQDB" || file.word(begin + 12) != byte_order) {
        file.damaged("there are no " + what_ + "s where they should be");
    }
    size_ = file.word(begin + 4);
    const std::uint32_t found = file.word(begin + 16);
    if (found != count || !file.has(begin, size_)) {
        file.damaged(std::to_string(found) + " " + what_ + "s in " + std::to_string(size_) + " bytes, where " +
                     std::to_string(count) + " should be");
    }
    places_ = begin + file.word(begin + 20);
    if (!file.has(places_, 4 * std::uint64_t{count})) file.damaged("it ends within the " + what_ + "s");
}

// The name in a record, and its number.
std::string_view NameTable::record(std::uint64_t place, std::uint32_t& number) const {
    if (place + 8 > size_) file_.damaged("a record of the " + what_ + "s lies beyond the others");
    number = file_.word(begin_ + place);
    const std::uint32_t length = file_.word(begin_ + place + 4);
    if (length == 0 || place + 8 + length > size_) file_.damaged(what_ + " " + std::to_string(number) + " has no name");
    return file_.text(begin_ + place + 8, length);  // with its NUL, if the file is not damaged
}

std::string_view NameTable::operator[](std::uint32_t number) const {
    std::uint32_t own = 0;
    const std::string_view name = record(file_.word(places_ + 4 * std::uint64_t{number}), own);
    if (own != number || name.find('\0') != name.size() - 1) {
        file_.damaged(what_ + " " + std::to_string(number) + " has no name");
    }
    return name.substr(0, name.size() - 1);
}

std::int64_t NameTable::find(std::string_view name) const {
    std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
    return find(name, steps);
}

std::int64_t NameTable::find(std::string_view name, std::uint64_t& steps) const {
    const std::uint32_t hash = lookup3(name);
    const std::uint64_t table = begin_ + table_header + 8 * (hash % tables);
    const std::uint64_t place = file_.word(table), size = file_.word(table + 4);
    if (size == 0) return -1;
    if (place + 8 * size > size_) file_.damaged("the hashes of the " + what_ + "s lie beyond the others");
    std::uint64_t slot = (hash >> 8) % size;
    for (std::uint64_t tried = 0; tried < size; ++tried) {
        if (steps-- == 0) file_.damaged("the hashes of the " + what_ + "s are in disorder");
        const std::uint64_t bucket = begin_ + place + 8 * slot;
        const std::uint32_t at = file_.word(bucket + 4);
        if (at == 0) return -1;
        if (file_.word(bucket) == hash) {
            std::uint32_t number = 0;
            const std::string_view found = record(at, number);
            if (found.size() == name.size() + 1 && found.back() == '\0' && found.starts_with(name)) {
                if (number >= count_ || file_.word(places_ + 4 * std::uint64_t{number}) != at) {
                    file_.damaged("the hashes of the " + what_ + "s lead to a number that is another's");
                }
                return number;
            }
        }
        slot = slot + 1 == size ? 0 : slot + 1;
    }
    return -1;
}

void NameTable::check() const {
    // Half of the buckets are empty, so that a name has few neighbours; a crafted file may have none empty.
    std::uint64_t steps = 10'000 + 20 * std::uint64_t{count_};
    for (std::uint32_t number = 0; number < count_; ++number) {
        const std::int64_t found = find((*this)[number], steps);
        if (found == number) continue;
        file_.damaged(found < 0 ? what_ + " " + std::to_string(number) + " is not among the hashes"
                                : "two " + what_ + "s have the same name");
    }
}

std::string write_names(const std::vector<std::string_view>& names, const std::string& what) {
    struct Entry {
        std::uint32_t hash, place;
        std::size_t number;
    };
    std::array<std::vector<Entry>, tables> entries;
    const auto fits = [&](std::uint64_t size) {
        if (size <= std::numeric_limits<std::uint32_t>::max()) return static_cast<std::uint32_t>(size);
        throw InputError("CRFsuite's files hold at most 4 GB; the " + what + "s alone need more");
    };
    std::string records, buckets, places;
    for (std::size_t number = 0; number < names.size(); ++number) {
        const std::string_view name = names[number];
        if (name.find('\0') != name.npos) {
            std::string shown;
            for (const char c : name) shown += c == '\0' ? std::string("\\x00") : std::string(1, c);
            throw InputError("the " + what + " '" + shown + "' has a NUL in it, which CRFsuite cannot store");
        }
        const std::uint32_t place = fits(records_begin + records.size());
        const std::uint32_t hash = lookup3(name);
        entries[hash % tables].push_back({hash, place, number});
        put(places, place);
        put(records, fits(number));
        put(records, fits(name.size() + 1));
        records.append(name);
        records.push_back('\0');
    }
    std::string directory;
    std::vector<const Entry*> slots;
    for (const auto& table : entries) {
        put(directory, table.empty() ? 0 : fits(records_begin + records.size() + buckets.size()));
        put(directory, fits(2 * table.size()));
        slots.assign(2 * table.size(), nullptr);
        for (const Entry& entry : table) {
            std::size_t slot = (entry.hash >> 8) % slots.size();
            for (; slots[slot] != nullptr; slot = slot + 1 == slots.size() ? 0 : slot + 1) {
                if (slots[slot]->hash == entry.hash && names[slots[slot]->number] == names[entry.number]) {
                    throw InputError("two " + what + "s have the same name");
                }
            }
            slots[slot] = &entry;
        }
        for (const Entry* entry : slots) {
            put(buckets, entry == nullptr ? 0 : entry->hash);
            put(buckets, entry == nullptr ? 0 : entry->place);
        }
    }
    const std::uint64_t back = records_begin + records.size() + buckets.size();
    std::string written = "CQDB";
    for (const std::uint32_t word :
         {fits(back + places.size()), 0U, byte_order, fits(names.size()), names.empty() ? 0U : fits(back)}) {
        put(written, word);
    }
    return written + directory + records + buckets + places;
}

}  // namespace dualstruct::crfsuite
