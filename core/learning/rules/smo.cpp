#include "learning/rules/smo.hpp"

#include "learning/pass_loops.hpp"

namespace dualstruct {

template struct Passes<SMORule>;
template struct Passes<SMOSpreadRule>;
template struct Gathering<SMOGatherRule>;

}  // namespace dualstruct
