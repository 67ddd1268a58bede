#include "learning/rules/dcd.hpp"

#include "learning/pass_loops.hpp"

namespace dualstruct {

template struct Passes<DCDRule>;
template struct Gathering<GatherRule>;

}  // namespace dualstruct
