// Indices are signed numbers here, and unsigned ones in the standard library.
#pragma once

#include <concepts>
#include <cstddef>

namespace dualstruct {

// An index or a size, at least 0, as the standard library takes it.
constexpr std::size_t at(std::integral auto index) { return static_cast<std::size_t>(index); }

}  // namespace dualstruct
