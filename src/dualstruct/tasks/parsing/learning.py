"""What a parser learns from trees before training: relations, the shape of trees, columns, arcs
worth a second look.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.conllu import Treebank
from dualstruct.data.sources import Share
from dualstruct.distributed.bqo import BQO
from dualstruct.distributed.training import Job
from dualstruct.errors import InputError
from dualstruct.features.clusters import read_clusters
from dualstruct.labels.names import Labels
from dualstruct.losses import find_loss
from dualstruct.metrics.counts import share as share_of
from dualstruct.printable import plural
from dualstruct.problem import Problem
from dualstruct.solvers import Solver, auto_solver
from dualstruct.structures import Tree
from dualstruct.structures.base import digest_of
from dualstruct.structures.second_order_tree import PrunedArcs, SecondOrderTree
from dualstruct.structures.tree import MAX_BETWEEN
from dualstruct.tasks.parsing.confidence import (
    QUICK,
    arc_marginals,
    marginal_temperature,
    relation_temperature,
    sentences_to_calibrate,
    tree_temperature,
)
from dualstruct.tasks.parsing.model import (
    SecondOrder,
    TreeModel,
    TreeShape,
    check_sources,
    make_tree,
    present_sources,
    type_counts,
)
from dualstruct.tasks.parsing.sentences import short_enough
from dualstruct.tasks.parsing.settings import ParserSettings
from dualstruct.threads import usable_threads
from dualstruct.training.loop import fit
from dualstruct.training.results import SummedScore, check_metric
from dualstruct.training.stopping import Stopping
from dualstruct.workers.communicator import Communicator
from dualstruct.workers.merging import agree, gather, total, union

#: The features of a cut are recomputed each time it is revisited: once between two passes.
PRUNER_SOLVER = auto_solver("squared_hinge", slow_revisits=True)
#: The share of crossing arcs from which on trees count as non-projective.
CROSSING = 0.01
#: The first-order models that prune for order 2: how they are trained, by what their scores are
#: multiplied (those of margin losses are small), and how probable an arc must be beside the best.
PRUNER_C, PRUNER_PASSES, PRUNER_FOLDS = 0.01, 3, 2
SHARPNESS, THRESHOLD = 3.0, 0.005


class SkippedSentences(UserWarning):
    """Sentences that are not trees were left out of training."""


class KnownParsing:
    """What was learned from trees, and the structure of this worker's.

    Parameters
    ----------
    settings : ParserSettings
    job : Job
    old : TreeModel, optional
        The model that training continues from.
    """

    def __init__(self, settings: ParserSettings, job: Job, old: TreeModel | None) -> None:
        self._settings, self._job = settings, job
        self._attributes: dict[str, Any] = {}
        given: Treebank = job.share.X
        root = settings.single_root is True if old is None else old.shape.single_root
        self._treebank = treebank = self._valid_trees(given, root)
        weights = _weights_of(given, treebank, job.share.weights.get("sample_weight"), root)
        found = Labels(union(job.workers, Labels.learn(treebank.relations).names))
        if old is None:
            wanted = {
                "lemma": settings.lemma,
                "fine": settings.xpos,
                "morphology": settings.morphology,
            }
            path = settings.clusters
            self._clusters = None if path is None else read_clusters(path)
            self._sources = present_sources(treebank, wanted, partial(total, job.workers))
            self._labels = found
        else:
            check_sources_of_all(job.workers, treebank, old.sources)
            self._sources, self._clusters = old.sources, old.clusters
            self._labels = old.labels.extend(found)
        started = time.perf_counter()
        self._shape = self._shape_of(treebank) if old is None else old.shape
        short_enough(treebank)
        between = self._most_frequent() if old is None else old.between
        self._agree()
        tree = self._first_order(None, between)
        self._attributes["lifted_"] = total(job.workers, tree.lifted)[0]
        self._between = tree.between
        self.structure: Tree | SecondOrderTree = tree
        self._second = old.second if old is not None else self._second_order()
        self._pruner: _core.Weights | None = None
        self.center: _core.Weights | None = None
        if old is not None:
            values, self._pruner = old.grown_weights(tree)
        if self._second is not None:
            self.structure = self._second.structure(tree, self._pruned(self._second, tree))
        self.structure.set_example_weights(weights)
        if old is not None:
            self.center = self.structure.new_weights(values)
        self._attributes["feature_seconds_"] = time.perf_counter() - started

    def _valid_trees(self, treebank: Treebank, single_root: bool) -> Treebank:
        valid, skipped = valid_trees(self._settings, self._job, treebank, single_root)
        self._attributes["skipped_"] = skipped
        return valid

    def _shape_of(self, treebank: Treebank) -> TreeShape:
        settings = self._settings
        words, crosses, many_roots = total(
            self._job.workers,
            len(treebank.heads),
            int(treebank.crossing_arcs().sum()),
            len(treebank.faults(single_root=True)),
        )
        projective, single_root = settings.projective, settings.single_root
        bits = settings.hash_bits or min(max(words.bit_length() + 4, 16), 20)
        return TreeShape(
            projective=crosses / words < CROSSING if projective == "auto" else bool(projective),
            single_root=not many_roots if single_root == "auto" else bool(single_root),
            line_bits=bits,
            label_bits=bits - 4,
            label_cost=settings.label_cost,
        )

    def _most_frequent(self) -> list[str] | None:
        """The most frequent parts of speech of all workers; None if this one has all sentences."""
        if not self._job.divided:
            return None
        counts: Counter[str] = Counter()
        for some in gather(self._job.workers, type_counts(self._treebank, self._sources)):
            counts.update(some)
        return sorted(counts, key=lambda name: (-counts[name], name))[:MAX_BETWEEN]

    def _agree(self) -> None:
        if not self._job.divided:
            return
        words = None if self._clusters is None else digest_of(self._clusters.arrays())
        shared = {"trees": asdict(self._shape), "columns": self._sources, "clusters": words}
        agree(self._job.workers, shared)

    def _first_order(self, chosen: NDArray[np.int64] | None, between: list[str] | None) -> Tree:
        """Some of the sentences, arc by arc."""
        some = self._treebank if chosen is None else self._treebank.select(chosen)
        relations = self._labels.encode(some.relations, some.sentences)
        return make_tree(
            some,
            self._sources,
            self._clusters,
            len(self._labels),
            self._shape,
            between,
            some.heads,
            relations,
        )

    def _second_order(self) -> SecondOrder | None:
        settings = self._settings
        if settings.order == 1:
            return None
        return SecondOrder(
            settings.grandparents,
            self._shape.line_bits - 2,
            settings.most_heads,
            THRESHOLD,
            SHARPNESS,
        )

    def _pruned(self, second: SecondOrder, tree: Tree) -> PrunedArcs:
        """The arcs that order 2 looks at; the true ones are among them."""
        if self._pruner is None:
            self._pruner = second.sharpened(tree, self._quick_weights(tree))
            arcs = self._jackknifed_arcs(second, tree)
        else:
            arcs = second.prune(tree, self._pruner, keep_truth=True)
        kept = round((arcs.recall or 0.0) * arcs.words)
        kept, words = total(self._job.workers, kept, arcs.words)
        self._attributes["pruning_recall_"] = kept / max(words, 1)
        return arcs

    def _quick_weights(self, tree: Tree) -> _core.Weights:
        """A first-order model that is good enough to prune."""
        workers = self._job.workers if self._job.divided else None
        solver: Solver = PRUNER_SOLVER if workers is None else BQO(PRUNER_SOLVER)
        threads, seed = self._settings.threads, self._settings.seed
        problem = Problem(tree, "squared_hinge", PRUNER_C, threads=threads, communicator=workers)
        result = fit(problem, solver, Stopping(passes=PRUNER_PASSES), seed=seed)
        if result.stopped_by == "interrupt":  # there is nothing yet that could be kept
            raise KeyboardInterrupt
        return result.w

    def _jackknifed_arcs(self, second: SecondOrder, tree: Tree) -> PrunedArcs:
        """Arcs pruned by models that have not seen the sentence, as they will be in new text."""
        everything = np.arange(len(tree))
        folds = min(PRUNER_FOLDS, *gather(self._job.workers, len(tree)))
        if folds < 2:
            w = second.sharpened(tree, self._quick_weights(tree))
            return second.prune(tree, w, keep_truth=True)
        found = []
        for fold in range(folds):
            others = self._first_order(everything[everything % folds != fold], tree.between)
            w = second.sharpened(others, self._quick_weights(others))
            mine = self._first_order(everything[everything % folds == fold], tree.between)
            found.append(second.prune(mine, w, keep_truth=True))
        return interleaved(found)

    def model(self, w: _core.Weights) -> TreeModel:
        return TreeModel(
            self._labels,
            self._sources,
            self._clusters,
            self._between,
            self._shape,
            self._second,
            self._pruner,
            w,
        )

    def judge(self, dev: Share, metric: str | None = None) -> SummedScore:
        """LAS, or UAS, of weights on development data."""
        check_metric(metric, "las", "uas")
        treebank: Treebank = dev.X
        treebank.check_trees()
        check_sources_of_all(self._job.workers, treebank, self._sources)
        model = self.model(self.structure.new_weights())
        structure = model.structure(short_enough(treebank))
        relations, _ = model.labels.encode_any(treebank.relations, treebank.sentences)
        threads = usable_threads(self._settings.threads)

        def count(w: _core.Weights) -> list[int]:
            heads, labels = structure.split(structure.decode_all(w, threads=threads))
            right = treebank.heads == heads
            if metric != "uas":
                right &= relations == labels
            return [int(np.count_nonzero(right)), len(right)]

        shown = (metric or "las").upper()
        workers = self._job.workers
        return SummedScore(workers, count, lambda n: share_of(int(n[0]), int(n[1])), shown)

    def calibrated(self, model: TreeModel, dev: Share) -> TreeModel:
        settings = self._settings
        loss = find_loss(settings.loss, settings.beta, settings.gamma)
        if model.second is not None or loss.name == "crf":
            return model
        return calibrated(model, dev.X, self._job.workers)

    def offered(self) -> dict[str, tuple[Any, ...]]:
        return {}

    def attributes(self) -> dict[str, Any]:
        return self._attributes


def valid_trees(
    settings: ParserSettings, job: Job, treebank: Treebank, single_root: bool
) -> tuple[Treebank, int]:
    """The sentences that can be trained on, and how many of all workers' were left out; those that
    cannot are refused or skipped, as the settings say."""
    faults = treebank.faults(single_root)
    messages = gather(job.workers, next(iter(faults.values()), None))
    first = next((message for message in messages if message is not None), None)
    skipped, sentences = total(job.workers, len(faults), len(treebank))
    if first is not None:
        if settings.bad_trees == "error":
            raise InputError(first)
        count = f"{skipped:,} of {sentences:,} sentences"
        job.warn(SkippedSentences(f"{count} were left out: {first}"))
    if faults:
        treebank = treebank.select([i for i in range(len(treebank)) if i not in faults])
    left = gather(job.workers, len(treebank))
    if not any(left):
        raise InputError("there are no trees to learn from")
    if not all(left):
        raise InputError(f"worker {left.index(0)} has no trees left to learn from")
    return treebank, skipped


def _weights_of(
    given: Treebank, valid: Treebank, weights: Sequence[float] | None, single_root: bool
) -> Sequence[float] | None:
    """The weights of the sentences that are trained on."""
    if weights is None:
        return None
    if len(weights) != len(given):
        raise InputError(f"{plural(len(weights), 'weight')} for {plural(len(given), 'sentence')}")
    if len(given) == len(valid):
        return weights
    faults = given.faults(single_root)
    return [weight for i, weight in enumerate(weights) if i not in faults]


def check_sources_of_all(
    workers: Communicator, treebank: Treebank, sources: tuple[str, ...]
) -> None:
    """A column that is empty in one worker's sentences may be filled in another's."""
    problem = None
    try:
        check_sources(treebank, sources)
    except InputError as error:
        problem = str(error)
    problems = [each for each, some in gather(workers, [problem, len(treebank) > 0]) if some]
    if problems and all(problems):
        raise InputError(problems[0])


def calibrated(model: TreeModel, treebank: Treebank, workers: Communicator) -> TreeModel:
    """The model with the temperatures that trees ask for."""
    chosen = sentences_to_calibrate(treebank.lengths, len(model.labels), model.second is None)
    some = treebank.select(chosen)
    structure = model.structure(short_enough(some))
    of_relations = None
    if isinstance(structure, Tree):
        temperature = tree_temperature(structure, model.w, some.heads, workers)
        relations, _ = model.labels.encode_any(some.relations, some.sentences)
        of_relations = relation_temperature(structure, model.w, some.heads, relations, workers)
    else:
        temperature = marginal_temperature(
            lambda beta: arc_marginals(structure, model.w, beta), some.heads, some.sentences, QUICK
        )
    return replace(model, temperature=temperature, relation_temperature=of_relations)


def interleaved(parts: Sequence[PrunedArcs]) -> PrunedArcs:
    """The arcs of all sentences, where part k holds sentences k, k + n, k + 2n … of n parts."""
    sentences = sum(len(part.offsets) - 1 for part in parts)
    heads, modifiers, counts = [], [], []
    for i in range(sentences):
        part = parts[i % len(parts)]
        begin, end = part.offsets[i // len(parts) : i // len(parts) + 2]
        heads.append(part.heads[begin:end])
        modifiers.append(part.modifiers[begin:end])
        counts.append(end - begin)
    words = sum(part.words for part in parts)
    found = sum((part.recall or 0.0) * part.words for part in parts)
    return PrunedArcs(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate(heads),
        np.concatenate(modifiers),
        words,
        found / max(words, 1),
    )
