"""How probable it is that what is given is a slip of the annotator, and not a miss of the model.

A model that has not seen a sentence gives what is annotated the probability p(given). Where that is
small either the model is wrong or the annotation is; which of them depends on how often annotators
slip in just this way. With rates r_g of the kinds of slips g,

    odds = Σ_g r_g a_g / p(given),     a_g = Σ_truth p(truth) q_g(given | truth)

where q_g says what a slip of kind g makes of the truth: one of the labels that it could be, as
frequent as they are. So a rare label is not suspect for being rare, and the kind of disagreement
that is mostly the model's fault (entities that it does not know) does not swamp the others.

The rates are those under which the given annotation is most probable, by expectation maximisation:

    r_g ← Σ_items r_g a_g / (p(given) + Σ_h r_h a_h)  /  chances of g

A kind that a corpus is full of (entities that its annotators mark here and leave out there) gets a
high rate, and would fill the list alone. So no kind counts with more than CREDITED.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Where rates start, where they end, and how many rounds they get.
FIRST_RATE, HIGHEST_RATE, ROUNDS = 0.01, 0.3, 15
#: The highest rate that sentences are ranked by.
CREDITED = 0.003
#: Smaller odds are as good as none.
SMALLEST = 1e-30


@dataclass(frozen=True)
class Evidence:
    """What a model says of the parts (tokens, spans, arcs) of some sentences' annotation.

    Parts of which the model is sure are left out: they are not slips.
    """

    sentence: NDArray[np.intp]  #: [parts] the sentence, from 0, that each belongs to
    given: NDArray[np.float64]  #: [parts] p(given)
    slips: NDArray[np.float64]  #: [parts, kinds] a_g
    chances: NDArray[np.float64]  #: [kinds] how often a slip of each kind could have happened


def joined(parts: Sequence[Evidence]) -> Evidence:
    """The evidence of several models on sentences of their own."""
    return Evidence(
        np.concatenate([each.sentence for each in parts]),
        np.concatenate([each.given for each in parts]),
        np.concatenate([each.slips for each in parts]),
        np.sum([each.chances for each in parts], axis=0),
    )


def slip_rates(evidence: Evidence) -> NDArray[np.float64]:
    """r of each kind."""
    rates = np.full(len(evidence.chances), FIRST_RATE)
    chances = np.maximum(evidence.chances, 1.0)
    for _ in range(ROUNDS):
        weighed = evidence.slips * rates
        mine = weighed / (weighed.sum(axis=1) + evidence.given)[:, None]
        rates = np.minimum(mine.sum(axis=0) / chances, HIGHEST_RATE)
    return rates


def slip_odds(evidence: Evidence, most: float = HIGHEST_RATE) -> NDArray[np.float64]:
    """That a part is a slip, against that it is not, with rates of at most ``most``: [parts]."""
    rates = np.minimum(slip_rates(evidence), most)
    return np.asarray(evidence.slips @ rates / evidence.given)


def sentence_log_odds(evidence: Evidence, count: int) -> NDArray[np.float64]:
    """That each sentence has a slip in it, against that it has none: [count], −∞ if all is sure.

    It is that of its most suspect part; where several are more probably slips than not they add up.
    """
    log_odds = np.log(np.maximum(slip_odds(evidence, CREDITED), SMALLEST))
    worst = np.full(count, -np.inf)
    np.maximum.at(worst, evidence.sentence, log_odds)
    several = np.bincount(evidence.sentence, np.maximum(log_odds, 0.0), count)
    return np.asarray(np.maximum(worst, np.where(several > 0, several, -np.inf)))


def random_log_odds(ratios: NDArray[np.float64]) -> NDArray[np.float64]:
    """That all labels of a sentence are drawn at random (lines shifted, files mixed up): [count].

    ``ratios`` are log p(given | at random) − log p(given) of each sentence. How many sentences are
    so is found as above.
    """
    rate = FIRST_RATE
    for _ in range(ROUNDS):
        at_random = as_probabilities(ratios + np.log(rate))
        rate = float(np.clip(at_random.mean(), SMALLEST, HIGHEST_RATE))
    return np.asarray(ratios + np.log(rate))


def as_probabilities(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """From 0 to 1.

    >>> as_probabilities(np.array([-np.inf, 0.0, np.log(3)])).round(6).tolist()
    [0.0, 0.5, 0.75]
    """
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-log_odds)))
