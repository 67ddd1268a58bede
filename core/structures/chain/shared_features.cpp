#include "structures/chain/shared_features.hpp"

#include <algorithm>
#include <limits>

namespace dualstruct {

SharedFeatures::SharedFeatures(std::span<const std::int64_t> sentences, std::span<const std::int64_t> offsets,
                               std::span<const std::int32_t> features, std::int64_t dimension) {
    const auto features_of = [&](std::int64_t token) {
        const auto begin = at(offsets[at(token)]), end = at(offsets[at(token) + 1]);
        return features.subspan(begin, end - begin);
    };
    std::int64_t total = 0;
    for (std::size_t i = 0; i + 1 < sentences.size(); ++i) {
        const std::int64_t tokens = sentences[i + 1] - sentences[i];
        begins_.push_back(tokens <= most_tokens ? total : -1);
        total += tokens <= most_tokens ? tokens * tokens : 0;
    }
    counts_.resize(at(total));

    // The last place in `seen` that has a feature; each place knows the one before with the same feature.
    struct Seen {
        std::int32_t token, before;
    };
    std::vector<std::int32_t> last(at(dimension), -1);
    std::vector<Seen> seen;
    std::vector<std::uint32_t> counts;  // [tokens, tokens] of one sentence
    for (std::size_t i = 0; i + 1 < sentences.size(); ++i) {
        if (begins_[i] < 0) continue;
        const std::int64_t first = sentences[i], tokens = sentences[i + 1] - first;
        counts.assign(at(tokens * tokens), 0);
        seen.clear();
        for (std::int64_t t = 0; t < tokens; ++t) {
            for (const std::int32_t feature : features_of(first + t)) {
                std::int32_t& latest = last[at(feature)];
                std::uint32_t* row = counts.data() + t * tokens;
                ++row[t];
                for (std::int32_t k = latest; k >= 0; k = seen[at(k)].before) {
                    // A feature that a token has twice counts four times: (1 + 1)².
                    row[seen[at(k)].token] += seen[at(k)].token == t ? 2 : 1;
                }
                seen.push_back({static_cast<std::int32_t>(t), latest});
                latest = static_cast<std::int32_t>(seen.size()) - 1;
            }
        }
        for (std::int64_t t = 0; t < tokens; ++t) {
            for (std::int64_t u = 0; u < t; ++u) counts[at(u * tokens + t)] = counts[at(t * tokens + u)];
            for (const std::int32_t feature : features_of(first + t)) last[at(feature)] = -1;
        }
        if (std::ranges::all_of(counts,
                                [](std::uint32_t n) { return n <= std::numeric_limits<std::uint8_t>::max(); })) {
            std::ranges::transform(counts, counts_.begin() + begins_[i],
                                   [](std::uint32_t n) { return static_cast<std::uint8_t>(n); });
        } else {
            begins_[i] = -1;
        }
    }
}

}  // namespace dualstruct
