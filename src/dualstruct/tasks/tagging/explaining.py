"""Explanations of label sequences.

For token t the runner-up is the best whole labelling with another label at t. With forward maxima
f_t(k) (the best beginning that ends in k) and backward maxima b_t(k) (the best rest after k), the
best labelling with label k at t has the score f_t(k) + b_t(k); the contributions are what the two
labellings' features and transitions differ in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.explaining.results import (
    Alternative,
    Change,
    Contribution,
    Explanation,
    TokenExplanation,
    by_size,
    total,
)
from dualstruct.explaining.sentences import forms_of, wanted_tokens
from dualstruct.features import FeatureRows
from dualstruct.structures import Chain
from dualstruct.tasks.tagging.model import END, START, ChainModel

Scores = NDArray[np.float64]


class ChainScores:
    """One sentence's scores in double precision, and the best labellings under a constraint."""

    def __init__(self, chain: Chain, w: _core.Weights, i: int) -> None:
        first, last = chain.sentences[i : i + 2]
        #: [features of the token, labels] of each token: what each feature says for each label
        self.parts = _weighted(chain.rows, range(first, last), chain.emission_weights(w))
        #: [pair features of the token, labels, labels]: and for each step into it
        self.pair_parts = [np.zeros((0, chain.labels, chain.labels))] * len(self.parts)
        if chain.rows.pairs is not None:
            tokens = range(first + 1, last)
            self.pair_parts[1:] = _weighted(chain.rows.pairs, tokens, chain.pair_weights(w))
        sums = [part.sum(axis=0) for part in self.parts]
        self.emission: Scores = np.array(sums).reshape(len(sums), chain.labels)
        for t, token in enumerate(range(first, last)):
            choice = chain.allowed_at(token)
            if choice is not None:
                forbidden = np.ones(chain.labels, dtype=bool)
                forbidden[choice] = False
                self.emission[t, forbidden] = -np.inf
        self.steps: Scores = chain.transition_weights(w).astype(float)  # [labels + 1, labels + 1]
        if chain.transitions is not None:
            self.steps[chain.transitions == 0] = -np.inf
        #: [labels, labels] of each token: all that is said for a step into it
        self.into = [self.steps[:-1, :-1] + part.sum(axis=0) for part in self.pair_parts]
        self._find_maxima()

    def _find_maxima(self) -> None:
        forward, backward = np.empty_like(self.emission), np.empty_like(self.emission)
        n = len(self.emission)
        for t in range(n):
            before = (
                self.steps[-1, :-1]
                if t == 0
                else (forward[t - 1][:, None] + self.into[t]).max(axis=0)
            )
            forward[t] = before + self.emission[t]
        for t in reversed(range(n)):
            backward[t] = (
                self.steps[:-1, -1]
                if t == n - 1
                else (self.into[t + 1] + (self.emission[t + 1] + backward[t + 1])[None]).max(axis=1)
            )
        self._forward, self._backward = forward, backward

    def score(self, labels: NDArray[np.int32]) -> float:
        """Of a labelling."""
        outside = len(self.steps) - 1
        path = [outside, *labels.tolist(), outside]
        emissions = self.emission[np.arange(len(labels)), labels].sum()
        steps = sum(self.steps[a, b] for a, b in pairwise(path))
        inner = zip(self.pair_parts[1:], pairwise(labels.tolist()), strict=True)
        return float(emissions + steps + sum(part[:, a, b].sum() for part, (a, b) in inner))

    def best_without(self, t: int, label: int) -> NDArray[np.int32] | None:
        """The best labelling in which token t has another label; None if there is none."""
        here = self._forward[t] + self._backward[t]
        here[label] = -np.inf
        return self._best_at(t, here)

    def best_with(self, t: int, label: int) -> NDArray[np.int32] | None:
        """The best labelling in which token t has this label; None if there is none."""
        here = np.full(len(self.steps) - 1, -np.inf)
        if label < len(here):
            here[label] = self._forward[t, label] + self._backward[t, label]
        return self._best_at(t, here)

    def _best_at(self, t: int, here: Scores) -> NDArray[np.int32] | None:
        """The best labelling through the best label at token t, by the scores of those there."""
        if not np.isfinite(here.max()):
            return None
        found = np.empty(len(self.emission), dtype=np.int32)
        found[t] = here.argmax()
        for s in range(t, 0, -1):
            found[s - 1] = (self._forward[s - 1] + self.into[s][:, found[s]]).argmax()
        for s in range(t + 1, len(found)):
            after = self.emission[s] + self._backward[s]
            found[s] = (self.into[s][found[s - 1]] + after).argmax()
        return found


def _weighted(
    rows: FeatureRows, tokens: Iterable[int], weights: NDArray[np.float32]
) -> list[Scores]:
    """Of each token the weights of its features, times their values."""
    found = []
    for t in tokens:
        a, b = rows.offsets[t : t + 2]
        part: Scores = weights[rows.ids[a:b]].astype(float)
        if rows.values is not None:
            part *= rows.values[a:b].astype(float).reshape(-1, *[1] * (weights.ndim - 1))
        found.append(part)
    return found


def explain_sentence(
    model: ChainModel, sentence: Any, token: int | None, gold: Sequence[str] | None = None
) -> Explanation:
    """Why a sentence's tokens, or one of them, counted from 1, get their labels.

    With the true labels: why the wrong ones beat these.
    """
    chain = model.chain([sentence])
    count = chain.tokens(0)
    extractor = model.extractor
    names = extractor.names_in([sentence])
    pairs, pair_names = chain.rows.pairs, []
    if extractor.pairs is not None and pairs is not None:
        found = extractor.pairs.names_in([sentence])
        pair_names = [found[a:b] for a, b in pairwise(pairs.offsets.tolist())]
    best = chain.decode_all(model.w)
    truth = None
    if gold is not None:
        true_numbers, known = model.labels.encode_any(
            model.codec.to_inner([list(gold)]), chain.sentences
        )
        truth = [(int(k), known[k]) for k in true_numbers]
    return explain_chain(
        chain,
        model.w,
        0,
        forms=forms_of(sentence, count),
        labels=model.labels.names,
        feature_names=[names[a:b] for a, b in pairwise(chain.rows.offsets.tolist())],
        pair_names=pair_names,
        tokens=wanted_tokens(token, count),
        gold=truth,
        only_wrong=token is None,
        predicted=model.codec.to_outer(model.labels.decode(best, chain.sentences))[0],
    )


def explain_chain(
    chain: Chain,
    w: _core.Weights,
    i: int,
    *,
    forms: Sequence[str],
    labels: Sequence[str],
    feature_names: Sequence[Sequence[str]],
    tokens: Sequence[int],
    predicted: Sequence[str],
    pair_names: Sequence[Sequence[str]] = (),
    gold: Sequence[tuple[int, str]] | None = None,
    only_wrong: bool = False,
) -> Explanation:
    """Why sentence i got its labels, at some of its tokens (counted from 0).

    ``feature_names`` are those of each token's features, in their order, ``pair_names`` those of
    its pair features, if the chain has any. With ``gold``, the numbers and names of the true
    labels, a wrong label is compared with the true one; ``only_wrong`` leaves out the others.
    """
    scores = ChainScores(chain, w, i)
    chosen = chain.decode(w, i)
    found = []
    for t in tokens:
        number, right = gold[t] if gold is not None else (int(chosen[t]), "")
        if number != chosen[t]:
            other = scores.best_with(t, number)
        elif gold is not None and only_wrong:
            continue
        else:
            other, right = scores.best_without(t, int(chosen[t])), ""
        alternatives: tuple[Alternative, ...] = ()
        if other is not None:
            alternatives = (
                _compare(scores, chosen, other, t, forms, labels, feature_names, pair_names),
            )
        name = labels[chosen[t]]
        found.append(TokenExplanation(t + 1, forms[t], name, None, name, alternatives, right))
    score = scores.score(chosen) if len(chosen) else 0.0
    return Explanation("labels", tuple(forms), score, tuple(found), tuple(predicted))


def _compare(
    scores: ChainScores,
    chosen: NDArray[np.int32],
    other: NDArray[np.int32],
    t: int,
    forms: Sequence[str],
    labels: Sequence[str],
    feature_names: Sequence[Sequence[str]],
    pair_names: Sequence[Sequence[str]],
) -> Alternative:
    changed = np.flatnonzero(chosen != other).tolist()
    contributions = []
    for s in changed:
        a, b = int(chosen[s]), int(other[s])
        part = scores.parts[s]
        contributions += [
            Contribution(name, "feature", s + 1, labels[a], labels[b], for_a, for_b)
            for name, for_a, for_b in zip(
                feature_names[s], part[:, a].tolist(), part[:, b].tolist(), strict=True
            )
        ]
    contributions += _transitions(scores, chosen, other, labels, pair_names)
    ordered = by_size(contributions)
    name = labels[other[t]]
    changes = tuple(Change(s + 1, forms[s], labels[chosen[s]], labels[other[s]]) for s in changed)
    return Alternative("label", name, None, name, total(ordered), changes, ordered)


def _transitions(
    scores: ChainScores,
    chosen: NDArray[np.int32],
    other: NDArray[np.int32],
    labels: Sequence[str],
    pair_names: Sequence[Sequence[str]],
) -> list[Contribution]:
    """Those that only one of the two labellings takes at a place, and what pair features say."""
    outside = len(labels)
    before, after = [*labels, START], [*labels, END]
    ours = list(pairwise([outside, *chosen.tolist(), outside]))
    theirs = list(pairwise([outside, *other.tolist(), outside]))
    found = []
    for s, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a == b:
            continue
        token = min(s + 1, len(chosen))
        name, rival = f"{before[a[0]]} → {after[a[1]]}", f"{before[b[0]]} → {after[b[1]]}"
        found.append(Contribution(name, "transition", token, name, "", float(scores.steps[a]), 0.0))
        found.append(
            Contribution(rival, "transition", token, "", rival, 0.0, float(scores.steps[b]))
        )
        if 0 < s < len(chosen) and pair_names:
            part = scores.pair_parts[s]
            found += [
                Contribution(feature, "pair", s + 1, name, rival, for_a, for_b)
                for feature, for_a, for_b in zip(
                    pair_names[s],
                    part[:, a[0], a[1]].tolist(),
                    part[:, b[0], b[1]].tolist(),
                    strict=True,
                )
            ]
    return found
