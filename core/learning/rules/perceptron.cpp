#include "learning/rules/perceptron.hpp"

#include "learning/online_loop.hpp"

namespace dualstruct {

template struct OnlinePass<PerceptronStep>;

}  // namespace dualstruct
