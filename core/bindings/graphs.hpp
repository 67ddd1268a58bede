// What the binding files of factor graphs share.
#pragma once

#include "bindings/bindings.hpp"
#include "graphs/inference.hpp"

namespace dualstruct {

// Literals as rows of (variable, state, negated).
using LiteralRows = Input<std::int32_t, nb::shape<-1, 3>>;

std::vector<graphs::Literal> literals_of(const graphs::Graph& graph, const LiteralRows& rows);

}  // namespace dualstruct
