#include "inference/trees/pruning.hpp"

#include <algorithm>
#include <numeric>

#include "base/index.hpp"

namespace dualstruct::trees {

void prune(std::span<const float> marginals, int words, const Pruning& pruning, std::span<const std::int32_t> tree,
           std::span<const std::int32_t> truth, std::span<std::uint8_t> kept, PruningReport& report) {
    const std::size_t nodes = at(words) + 1;
    thread_local std::vector<std::size_t> heads;
    std::ranges::fill(kept, std::uint8_t{0});
    for (std::size_t m = 1; m < nodes; ++m) {
        const auto p = [&](std::size_t h) { return h == m ? 0.0f : marginals[h * nodes + m]; };
        heads.resize(nodes);
        std::iota(heads.begin(), heads.end(), std::size_t{0});
        const std::size_t most = std::min(nodes, at(std::max(pruning.most_heads, 1)));
        std::partial_sort(heads.begin(), heads.begin() + static_cast<std::ptrdiff_t>(most), heads.end(),
                          [&](std::size_t a, std::size_t b) { return p(a) != p(b) ? p(a) > p(b) : a < b; });
        const float least = pruning.threshold * p(heads[0]);
        for (std::size_t k = 0; k < most; ++k) {
            if (p(heads[k]) > 0 && p(heads[k]) >= least) kept[heads[k] * nodes + m] = 1;
        }
        kept[at(tree[m]) * nodes + m] = 1;
        if (!truth.empty()) {
            std::uint8_t& of_truth = kept[at(truth[m]) * nodes + m];
            report.true_arcs_kept += of_truth;
            of_truth = 1;
        }
    }
    report.words += words;
    report.arcs += std::accumulate(kept.begin(), kept.end(), std::int64_t{0});
}

}  // namespace dualstruct::trees
