// Which algorithm serves projective trees, and which all trees.
#pragma once

#include <memory>

#include "inference/trees/chu_liu_edmonds.hpp"
#include "inference/trees/eisner.hpp"
#include "inference/trees/inside_outside.hpp"
#include "inference/trees/matrix_tree.hpp"

namespace dualstruct::trees {

inline std::unique_ptr<TreeDecoder> make_decoder(bool projective) {
    if (projective) return std::make_unique<Eisner>();
    return std::make_unique<ChuLiuEdmonds>();
}

inline std::unique_ptr<TreeSums> make_sums(bool projective) {
    if (projective) return std::make_unique<InsideOutside>();
    return std::make_unique<MatrixTree>();
}

}  // namespace dualstruct::trees
