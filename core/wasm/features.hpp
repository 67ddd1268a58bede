// The features of an exported tagger: from sentences to rows of weights.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/templates.hpp"
#include "wasm/input.hpp"
#include "wasm/reader.hpp"

namespace dualstruct {

// Features of all tokens by rows of the weights; rows whose weights are all 0 are left out.
struct SparseRows {
    Rows rows{{0}, nullptr};
    std::vector<float> values;  // empty: all 1

    std::span<const std::int32_t> ids() const { return {rows.ids.get(), at(rows.offsets.back())}; }
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
