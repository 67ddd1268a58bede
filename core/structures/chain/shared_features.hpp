// How many features each two tokens of a sentence share: f(t)·f(u), where features have no values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"

namespace dualstruct {

class SharedFeatures {
public:
    // sentences [n + 1] into tokens, offsets [tokens + 1] into features, as those of ChainData.
    SharedFeatures(std::span<const std::int64_t> sentences, std::span<const std::int64_t> offsets,
                   std::span<const std::int32_t> features, std::int64_t dimension);

    // [tokens, tokens] of sentence i; null: it is too long, or a count too large.
    const std::uint8_t* of(std::int64_t i) const {
        return begins_[at(i)] < 0 ? nullptr : counts_.data() + begins_[at(i)];
    }

private:
    static constexpr std::int64_t most_tokens = 128;
    std::vector<std::int64_t> begins_;
    std::vector<std::uint8_t> counts_;
};

}  // namespace dualstruct
