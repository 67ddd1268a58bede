// Features that tokens state themselves, by name and value, as rows of numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.hpp"
#include "text/string_table.hpp"

namespace dualstruct {

struct AttributeRows {
    std::vector<std::int64_t> sentences{0};  // [sentences + 1]
    std::vector<std::int64_t> offsets{0};    // [tokens + 1]
    std::vector<std::int32_t> ids;
    std::vector<double> values;  // as many as ids, or none when all are 1
};

// The attributes of the tokens of one sentence by name, those of value 0 included.
class Items {
public:
    void add(std::string_view name, double value) {
        names_.push_back(name);
        values_.push_back(value);
    }
    void end_token() { offsets_.push_back(static_cast<std::int64_t>(values_.size())); }
    void end_sentence() {}

    std::size_t tokens() const { return offsets_.size() - 1; }
    // Calls visit(name, value) for each attribute of a token.
    template <class Visit>
    void walk(std::size_t token, Visit visit) const {
        for (auto place = at(offsets_[token]); place < at(offsets_[token + 1]); ++place) {
            visit(names_[place], values_[place]);
        }
    }

private:
    Strings names_;
    std::vector<double> values_;
    std::vector<std::int64_t> offsets_{0};  // [tokens + 1]
};

// The number of an attribute, −1 if it has none.
using Number = std::function<std::int32_t(std::string_view)>;

// Collects the rows of the attributes that `number` knows and that are not 0.
class RowSink {
public:
    RowSink(AttributeRows& rows, const Number& number) : rows_(rows), number_(number) {}

    void add(std::string_view name, double weight) {
        if (weight == 0) return;  // it says nothing
        const std::int32_t id = number_(name);
        if (id < 0) return;
        if (weight != 1.0 && rows_.values.empty()) rows_.values.assign(rows_.ids.size(), 1.0);
        rows_.ids.push_back(id);
        if (weight != 1.0 || !rows_.values.empty()) rows_.values.push_back(weight);
    }
    void end_token() { rows_.offsets.push_back(static_cast<std::int64_t>(rows_.ids.size())); }
    void end_sentence() { rows_.sentences.push_back(static_cast<std::int64_t>(rows_.offsets.size()) - 1); }

private:
    AttributeRows& rows_;
    const Number& number_;
};

AttributeRows number_items(const Items& items, const Number& number);

class AttributeFeatures {
public:
    explicit AttributeFeatures(int hash_bits);

    // Reads attributes from wherever they are and numbers them.
    using Read = std::function<AttributeRows(const Number&)>;

    AttributeRows fit(const Read& read, std::int64_t min_count);
    // Like fit, for many calls with a little each: new names stay even if an error follows them.
    AttributeRows extend(const Read& read);
    AttributeRows transform(const Read& read) const;

    std::int64_t dimension() const;
    std::int32_t find(std::string_view name) const;  // -1 if there is none
    std::string name(std::int32_t id) const;
    const Strings& all_names() const;
    void restore(const Strings& names);
    // Without names: attributes are known by the low bits of their hashes, and no others can be added.
    void restore_fingerprints(std::span<const std::uint64_t> fingerprints, int bits);
    std::vector<std::uint64_t> hashes() const { return known_by_.fingerprints(table_.hashes()); }  // [id]
    bool has_names() const { return known_by_.whole(); }
    void select(const std::vector<std::uint8_t>& keep);

private:
    int hash_bits_;
    StringTable table_;
    KnownBy known_by_;
};

}  // namespace dualstruct
