// Reads Python lists of tokens straight into the tables of the core. Needs the GIL.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/string_table.hpp"
#include "text/token_table.hpp"

extern "C" {
typedef struct _object PyObject;
}

namespace dualstruct {

// Sentences of tokens that are str, or tuples or lists of str with one entry a column.
std::shared_ptr<TokenTable> read_tokens(PyObject* sentences);

// Features of tokens that say them themselves: sets or lists of str, or dicts.
struct AttributeRows {
    std::vector<std::int64_t> sentences{0};  // [sentences + 1]
    std::vector<std::int64_t> offsets{0};    // [tokens + 1]
    std::vector<std::int32_t> ids;
    std::vector<double> values;  // as many as ids, or none when all are 1
};

// The attributes of the tokens of one sentence by name, those of value 0 included.
class Items {
public:
    static Items read(PyObject* sentence);

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
        for (auto at = static_cast<std::size_t>(offsets_[token]); at < static_cast<std::size_t>(offsets_[token + 1]); ++at) {
            visit(names_[at], values_[at]);
        }
    }

private:
    Strings names_;
    std::vector<double> values_;
    std::vector<std::int64_t> offsets_{0};  // [tokens + 1]
};

// Rows of the attributes that `number` knows (it says −1 of others) and that are not 0.
using Number = std::function<std::int32_t(std::string_view)>;
AttributeRows read_attributes(PyObject* sentences, const Number& number);
AttributeRows number_items(const Items& items, const Number& number);

class AttributeFeatures {
public:
    explicit AttributeFeatures(int hash_bits);

    AttributeRows fit(PyObject* sentences, std::int64_t min_count);
    // Like fit, for many calls with a little each: new names stay even if an error follows them.
    AttributeRows extend(PyObject* sentences);
    AttributeRows extend(const Items& items);
    AttributeRows transform(PyObject* sentences) const;
    AttributeRows transform(const Items& items) const;

    std::int64_t dimension() const;
    std::int32_t find(std::string_view name) const;  // -1 if there is none
    std::string name(std::int32_t id) const;
    const Strings& all_names() const { return table_.strings(); }
    void restore(const Strings& names);
    void select(const std::vector<std::uint8_t>& keep);

private:
    int hash_bits_;
    StringTable table_;
};

}  // namespace dualstruct
