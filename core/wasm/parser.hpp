// A parser as it was exported: weights of arcs, and of pairs of arcs if it is of order 2.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/memory.hpp"
#include "structures/tree/second_order_tree.hpp"
#include "structures/tree/tree.hpp"
#include "text/clusters.hpp"
#include "wasm/input.hpp"
#include "wasm/reader.hpp"

namespace dualstruct {

class WasmParser {
public:
    explicit WasmParser(Reader& in);

    // The heads of each sentence's words, then their relations, sentence by sentence.
    const std::vector<std::int32_t>& parse(Input& in);

private:
    struct SecondOrder {
        SecondOrderTreeOptions options;
        int bits;
        trees::Pruning pruning;
        FloatBuffer pruner;
    };

    std::shared_ptr<const Tree> tree(std::shared_ptr<const TokenTable> table) const;
    std::unique_ptr<SecondOrderTree> pruned(std::shared_ptr<const Tree> tree) const;

    std::size_t columns_;
    std::array<int, 6> places_{};
    std::optional<Clusters> clusters_;  // their paths become one more column
    std::vector<std::uint64_t> between_;
    int labels_, line_bits_, label_bits_;
    TreeOptions options_;
    std::optional<SecondOrder> second_;
    FloatBuffer w_;
    std::vector<std::int32_t> found_;
};

}  // namespace dualstruct
