#include "learning/rules/frank_wolfe.hpp"

#include "learning/pass_loops.hpp"

namespace dualstruct {

template struct Passes<FrankWolfeRule>;

}  // namespace dualstruct
