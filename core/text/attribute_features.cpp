#include "text/attribute_features.hpp"

#include <utility>

#include "base/errors.hpp"
#include "base/index.hpp"
#include "text/rare.hpp"

namespace dualstruct {

AttributeRows number_items(const Items& items, const Number& number) {
    AttributeRows rows;
    RowSink sink(rows, number);
    for (std::size_t t = 0; t < items.tokens(); ++t) {
        items.walk(t, [&](std::string_view name, double value) { sink.add(name, value); });
        sink.end_token();
    }
    sink.end_sentence();
    return rows;
}

AttributeFeatures::AttributeFeatures(int hash_bits) : hash_bits_(hash_bits) {
    if (hash_bits < 0 || hash_bits > 30) throw InputError("hash_bits has to be between 1 and 30");
}

AttributeRows AttributeFeatures::fit(const Read& read, std::int64_t min_count) {
    if (hash_bits_ > 0) return transform(read);
    if (!has_names()) refuse_nameless();
    // Into a copy, so that an error half-way leaves the features as they were.
    StringTable table = table_;
    const std::size_t known = table.size();
    AttributeRows rows = read([&](std::string_view name) { return table.intern(name); });
    table_ = std::move(table);
    if (min_count <= 1) return rows;

    const std::vector<std::uint8_t> keep = frequent(rows.ids, table_.size(), known, min_count);
    renumber_rows(rows.offsets, rows.ids.data(), rows.values.empty() ? nullptr : rows.values.data(), keep);
    const auto size = at(rows.offsets.back());
    rows.ids.resize(size);
    if (!rows.values.empty()) rows.values.resize(size);
    select(keep);
    return rows;
}

AttributeRows AttributeFeatures::extend(const Read& read) {
    if (hash_bits_ > 0) return transform(read);
    if (!has_names()) refuse_nameless();
    return read([this](std::string_view name) { return table_.intern(name); });
}

AttributeRows AttributeFeatures::transform(const Read& read) const {
    return read([this](std::string_view name) { return find(name); });
}

std::int64_t AttributeFeatures::dimension() const {
    return hash_bits_ > 0 ? std::int64_t{1} << hash_bits_ : static_cast<std::int64_t>(table_.size());
}

std::int32_t AttributeFeatures::find(std::string_view name) const {
    const std::uint64_t hash = hash_bytes(name);
    return hash_bits_ > 0 ? static_cast<std::int32_t>(hash >> (64 - hash_bits_)) : table_.find(known_by_(hash));
}

std::string AttributeFeatures::name(std::int32_t id) const {
    if (id < 0 || id >= dimension()) throw InputError("there is no feature " + std::to_string(id));
    if (!has_names()) refuse_nameless();
    return hash_bits_ > 0 ? number_name(id) : std::string(table_[at(id)]);
}

const Strings& AttributeFeatures::all_names() const {
    if (!has_names()) refuse_nameless();
    return table_.strings();
}

void AttributeFeatures::restore_fingerprints(std::span<const std::uint64_t> fingerprints, int bits) {
    if (hash_bits_ > 0) throw InputError("hashed features have no stored ids");
    const KnownBy known_by(bits);
    StringTable table;
    for (const std::uint64_t hash : known_by.hashes(fingerprints)) table.intern("", hash);
    if (table.size() != fingerprints.size()) throw InputError("features: a fingerprint is there twice");
    table_ = std::move(table);
    known_by_ = known_by;
}

void AttributeFeatures::restore(const Strings& names) {
    if (hash_bits_ > 0) throw InputError("hashed features have no stored ids");
    StringTable table;
    for (std::size_t id = 0; id < names.size(); ++id) table.intern(names[id]);
    if (table.size() != names.size()) throw InputError("features: a name is there twice");
    table_ = std::move(table);
}

void AttributeFeatures::select(const std::vector<std::uint8_t>& keep) {
    if (hash_bits_ > 0) throw InputError("hashed features cannot be dropped: their ids are fixed");
    if (keep.size() != table_.size()) {
        throw InputError("select: " + std::to_string(keep.size()) + " flags for " + std::to_string(table_.size()) +
                         " features");
    }
    StringTable table;
    for (std::size_t id = 0; id < keep.size(); ++id) {
        if (keep[id] != 0) table.intern(table_[id], table_.hash(id));
    }
    table_ = std::move(table);
}

}  // namespace dualstruct
