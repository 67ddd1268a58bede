// Reads Python lists of tokens straight into the tables of the core. Needs the GIL.
#pragma once

#include <cstdint>
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

class AttributeFeatures {
public:
    explicit AttributeFeatures(int hash_bits);

    AttributeRows fit(PyObject* sentences, std::int64_t min_count);
    // Like fit, for many calls with a little each: new names stay even if an error follows them.
    AttributeRows extend(PyObject* sentences);
    AttributeRows transform(PyObject* sentences) const;

    std::int64_t dimension() const;
    std::int32_t find(std::string_view name) const;  // -1 if there is none
    std::int32_t intern(const std::string& name) { return hash_bits_ > 0 ? find(name) : table_.intern(name); }
    std::string name(std::int32_t id) const;
    const Strings& all_names() const { return table_.strings(); }
    void restore(const Strings& names);
    void select(const std::vector<std::uint8_t>& keep);

private:
    int hash_bits_;
    StringTable table_;
};

}  // namespace dualstruct
