// Tables of characters that come with a model: those of the Python that exported it.
#pragma once

#include "wasm/reader.hpp"

namespace dualstruct {

void read_characters(Reader& in);

}  // namespace dualstruct
