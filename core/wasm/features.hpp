// The features of an exported tagger: from sentences to rows of weights.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "text/templates.hpp"
#include "wasm/input.hpp"
#include "wasm/reader.hpp"

namespace dualstruct {

// Features of all tokens by rows of the weights; rows whose weights are all 0 are left out.
struct SparseRows {
    std::vector<std::int64_t> offsets{0};  // [tokens + 1]
    std::vector<std::int32_t> ids;
    std::vector<float> values;  // empty: all 1
};

struct Sentences {
    std::vector<std::int64_t> bounds{0};  // [sentences + 1]
    SparseRows rows, pairs;
};

class WasmFeatures {
public:
    virtual ~WasmFeatures() = default;
    // `columns`: that each token has.
    virtual Sentences read(Input& in, std::size_t columns) const = 0;
};

// Templates, with all that they look at.
std::unique_ptr<WasmFeatures> read_templates(Reader& in);
// Attributes that tokens state themselves.
std::unique_ptr<WasmFeatures> read_attributes(Reader& in);

}  // namespace dualstruct
