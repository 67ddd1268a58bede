// A tagger as it was exported: features, weights, a chain, and how texts are split.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/memory.hpp"
#include "structures/chain/chain.hpp"
#include "text/tokenizer.hpp"
#include "wasm/features.hpp"
#include "wasm/reader.hpp"

namespace dualstruct {

class WasmTagger {
public:
    explicit WasmTagger(Reader& in);

    // The labels of all tokens.
    const std::vector<std::int32_t>& label(Input& in, std::size_t columns);
    // How many numbers a row of scores has.
    int stride() const { return Chain::stride_for(labels_); }
    // Of one sentence: emissions [tokens, stride], transitions [labels + 2, stride], steps [tokens, labels, stride].
    const std::vector<float>& scores(Input& in, std::size_t columns);
    // How many sentences and tokens there are, then how many tokens each sentence has, then where tokens begin and
    // end in UTF-16.
    const std::vector<std::int32_t>& split(std::string_view text);

private:
    ChainData data(const Sentences& sentences) const;
    void read_weights(Reader& in);

    int labels_;
    std::vector<float> no_cost_;         // [labels, labels]
    std::vector<std::uint8_t> allowed_;  // [labels + 1, labels + 1], or empty
    std::unique_ptr<WasmFeatures> features_;
    bool has_pairs_ = false;
    std::int64_t rows_ = 0, pair_rows_ = 0;
    FloatBuffer w_;
    std::unique_ptr<Scratch> scratch_;
    std::optional<Tokenizer> tokenizer_;

    std::vector<std::int32_t> found_;
    std::vector<float> scores_;
};

}  // namespace dualstruct
