// The best projective tree: Eisner's algorithm, O(n³) time and O(n²) memory.
#pragma once

#include <vector>

#include "base/memory.hpp"
#include "inference/trees/decoder.hpp"

namespace dualstruct::trees {

class Eisner final : public TreeDecoder {
public:
    bool decode(const float* scores, int words, bool single_root, std::int32_t* heads) override;

private:
    struct Span {
        std::int32_t from, to;
        enum Kind : std::uint8_t { halves, complete_right, complete_left } kind;
    };

    FloatScratch buffer_;
    std::vector<Span> pending_;
};

}  // namespace dualstruct::trees
