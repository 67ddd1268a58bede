// What the core throws that Python knows by name (dualstruct.errors); the rest arrives as ValueError and the like.
#pragma once

#include <stdexcept>

namespace dualstruct {

// Something that the user gave is wrong.
struct InputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The steps of a solver grow beyond all bounds.
struct DivergedError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The system refuses what the work needs.
struct ResourceError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace dualstruct
