#include "learning/rules/passive_aggressive.hpp"

#include "learning/online_loop.hpp"

namespace dualstruct {

template struct OnlinePass<PassiveAggressiveStep>;
template struct OnlinePass<ExpectedPassiveAggressiveStep>;

}  // namespace dualstruct
