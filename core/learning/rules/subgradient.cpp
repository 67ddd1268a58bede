#include "learning/rules/subgradient.hpp"

#include "learning/online_loop.hpp"

namespace dualstruct {

template struct OnlinePass<SubgradientStep>;
template struct OnlinePass<ExpectedGradientStep>;
template struct OnlinePass<RiskBoundStep>;
template struct OnlinePass<PegasosStep>;

}  // namespace dualstruct
