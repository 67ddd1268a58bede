"""Why a model said what it said: which features and transitions beat the runner-up."""

from dualstruct.explaining.results import (
    Alternative,
    Change,
    Comparison,
    Contribution,
    Explanation,
    TokenExplanation,
)

__all__ = ["Alternative", "Change", "Comparison", "Contribution", "Explanation", "TokenExplanation"]
