// What the core throws at bad input; Python sees dualstruct.errors.InputError.
#pragma once

#include <stdexcept>

namespace dualstruct {

struct InputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace dualstruct
