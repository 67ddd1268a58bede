"""What a tagger learns from sentences before training: labels, features, what may follow what."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.examples import as_list
from dualstruct.data.in_documents import InDocuments, seen
from dualstruct.data.layout import ColumnLayout
from dualstruct.data.sources import Share, choose
from dualstruct.distributed.training import Job
from dualstruct.errors import InputError
from dualstruct.features import (
    FeatureExtractor,
    FeatureRows,
    VectorExtractor,
    WithVectors,
    WordVectorExtractor,
    make_extractor,
)
from dualstruct.features.context import DocumentExtractor
from dualstruct.features.groups import parse_groups
from dualstruct.features.joining import JoinedExtractor
from dualstruct.features.merging import fit_features
from dualstruct.features.templates import PRESETS, parse_templates
from dualstruct.labels.costs import flat_token_weights, label_costs
from dualstruct.labels.given_costs import check_costs_count
from dualstruct.labels.names import Labels, ManyLabelsWarning, UnseenLabel, UnseenLabelWarning
from dualstruct.labels.schemes import (
    SCHEMES,
    Scheme,
    allowed_transitions,
    are_span_labels,
    convert_scheme,
    detect_scheme,
    iob1_signs,
)
from dualstruct.losses import find_loss
from dualstruct.metrics import evaluate_ids, score_name
from dualstruct.metrics.counts import share as share_of
from dualstruct.structures import Chain
from dualstruct.structures.base import digest_of
from dualstruct.structures.chain import forbidden_tokens
from dualstruct.tasks.tagging.confidence import chain_temperature, sentences_to_calibrate
from dualstruct.tasks.tagging.model import (
    ChainModel,
    Codec,
    count_columns,
    first_token,
    layout_of,
    unlabelled_chain,
)
from dualstruct.tasks.tagging.partial import first_weights, has_unknown, known_labels
from dualstruct.tasks.tagging.settings import TaggerSettings
from dualstruct.tasks.tagging.stages import FirstStage, StageExtractor
from dualstruct.threads import usable_threads
from dualstruct.training.results import SummedScore, check_metric
from dualstruct.workers.communicator import Communicator
from dualstruct.workers.merging import agree, gather, total, union

#: Clusters and vectors that know so few tokens are probably for other text.
LEAST_COVERAGE = 0.3
#: From how many labels on, and from which share of the tokens, there are surprisingly many.
MANY_LABELS, MANY_LABELS_SHARE = 30, 0.2


class LowCoverageWarning(UserWarning):
    """A file of clusters, names or vectors covers almost none of the training data."""


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Sentences as training sees them."""

    extractor: FeatureExtractor
    codec: Codec
    n_columns: int | None
    rows: FeatureRows
    truth: NDArray[np.int32]  # [tokens] −1 where the label is unknown
    layout: ColumnLayout | None  #: of the file that the sentences are from
    attributes: dict[str, Any] = field(default_factory=dict)  #: what the estimator shows


def learn(
    settings: TaggerSettings, job: Job, old: ChainModel | None, first: FirstStage | None = None
) -> KnownTagging:
    """What is learned from all workers' sentences; with an old model, what is new in them; after a
    first stage, what is learned from its labels as well."""
    X, y = job.share.X, job.share.y
    if old is None:
        return KnownTagging(settings, job, _first_set(settings, job, X, y, first))
    if first is not None:
        raise InputError(
            "a model of two stages cannot be trained further: fit it again on all data"
        )
    inner_y = old.codec.to_inner(y)
    found = Labels(union(job.workers, known_labels(inner_y, settings.unknown_label).names))
    codec = replace(old.codec, labels=old.labels.extend(found))
    extractor = old.extractor.copy()  # a failure must not spoil the model
    extractor, rows, truth, seconds = _extracted(extractor, job, X, inner_y, codec.labels, settings)
    learned = TrainingSet(
        extractor,
        codec,
        count_columns(X),
        rows,
        truth,
        layout_of(X) or old.layout,
        {"feature_seconds_": seconds, "coverage_": covered(extractor, job, job.share.X)},
    )
    return KnownTagging(settings, job, learned, old.grown_weights(rows, codec.labels))


def _first_set(
    settings: TaggerSettings, job: Job, X: Any, y: Any, first: FirstStage | None
) -> TrainingSet:
    outer: Scheme | None = None
    if settings.scheme is not None:
        refuse_unknown(settings, y)
        names = union(job.workers, Labels.learn(y).names)
        outer = outer_scheme(settings, job.workers, names, iob1_signs(y))
    inner = None if outer is None else settings.scheme
    inner_y = y if inner is None else convert_scheme(y, inner, outer)
    found = known_labels(inner_y, settings.unknown_label)
    codec = Codec(Labels(union(job.workers, found.names)), inner, outer)
    chosen, extractor = new_extractor(settings, X, codec.labels, settings.hash_bits)
    if settings.document_features:
        extractor = DocumentExtractor.beside(extractor, settings.min_count)
    if first is not None:
        X = first.labelled(job.share)
    if isinstance(job.share.X, WithVectors) and "vectors" not in parse_groups(settings.without):
        extractor = VectorExtractor(extractor)
    if first is not None:
        extractor = StageExtractor.beside(extractor, settings.min_count)
    extractor, rows, truth, seconds = _extracted(extractor, job, X, inner_y, codec.labels, settings)
    attributes = {
        "features_": chosen,
        "feature_seconds_": seconds,
        "coverage_": covered(extractor, job, job.share.X),
    }
    return TrainingSet(extractor, codec, count_columns(X), rows, truth, layout_of(X), attributes)


def refuse_unknown(settings: TaggerSettings, y: Sequence[Sequence[str]]) -> None:
    """Spans whose labels are partly unknown cannot be written in another scheme."""
    if has_unknown(y, settings.unknown_label):
        raise InputError("scheme cannot be combined with unknown labels: spans would have gaps")


def outer_scheme(
    settings: TaggerSettings, workers: Communicator, labels: list[str], signs: tuple[bool, bool]
) -> Scheme:
    """The scheme that the labels of all workers are in, from what each sees of IOB1."""
    everybody = gather(workers, signs)
    speaks_for, speaks_against = (any(sign) for sign in zip(*everybody, strict=True))
    found = detect_scheme([], labels, (speaks_for, speaks_against))
    if found is None:
        raise InputError(
            f"scheme is {settings.scheme!r}, but the labels mark no spans (B-, I- …) to convert"
        )
    return found


def _extracted(
    extractor: FeatureExtractor,
    job: Job,
    X: Sequence[Any],
    y: Sequence[Sequence[str]],
    labels: Labels,
    settings: TaggerSettings,
) -> tuple[FeatureExtractor, FeatureRows, NDArray[np.int32], float]:
    """The features of all workers' sentences, this worker's rows of them and labels, and the
    seconds."""
    started = time.perf_counter()
    agree_on_features(job, extractor, X)
    X = seen(X, extractor.uses_documents)
    extractor.learn(X, lambda s: _numbers(settings, labels, y, s), labels.names)
    threads = usable_threads(settings.threads)
    extractor, rows = fit_features(job.workers, extractor, X, job.share.numbers, threads)
    seconds = time.perf_counter() - started
    return extractor, rows, _numbers(settings, labels, y, rows.sentences), seconds


def agree_on_features(job: Job, extractor: FeatureExtractor, X: Any) -> None:
    """All workers must see the same templates, and tokens with as many columns."""
    if job.divided:
        settled, arrays = extractor.state()
        files = digest_of([arrays[name] for name in sorted(arrays)])
        columns = count_columns(X)
        agree(job.workers, {"templates": [settled, files], "the number of columns": columns})


def covered(extractor: FeatureExtractor, job: Job, X: Any) -> dict[str, float]:
    """The share of the tokens that files say something of; a warning where it is low."""
    while isinstance(X, WithVectors | InDocuments):
        X = X.tokens
    shares = extractor.coverage(X)
    for name, share in shares.items():
        least = 0.0 if name.startswith("gazetteer") else LEAST_COVERAGE
        if share <= least:
            job.warn(
                LowCoverageWarning(
                    f"{name} covers {100 * share:.1f} % of the tokens: is it for another language, "
                    "case or tokenisation?"
                )
            )
    return shares


def new_extractor(
    settings: TaggerSettings, X: Sequence[Any], labels: Labels, hash_bits: int | None
) -> tuple[Any, FeatureExtractor]:
    """What turns tokens like these into features, and what ``features`` came to."""
    chosen = choose_features(settings, X, labels)
    made = make_extractor(
        chosen,
        hash_bits=hash_bits,
        min_count=settings.min_count,
        # A feature of pairs has a row for every label before.
        pair_bits=hash_bits and max(1, hash_bits - (len(labels) - 1).bit_length()),
        dialect=settings.dialect,
        without=settings.without,
    )
    if settings.vectors is not None:
        if not isinstance(first_token(X), str | tuple):
            raise InputError("vectors are of words: they want sentences of words")
        vectors = WordVectorExtractor(settings.vectors, settings.keep_vectors)
        made = JoinedExtractor([made, vectors])
    return chosen, made


def choose_features(settings: TaggerSettings, X: Sequence[Any], labels: Labels) -> Any:
    """What ``features`` comes to."""
    if not (isinstance(settings.features, str) and settings.features == "auto"):
        return settings.features
    token = first_token(X)
    if not isinstance(token, str | tuple):
        return "attributes"
    if not are_span_labels(labels.names):
        return "pos"
    # A second column is a part of speech more often than not.
    return "ner" if isinstance(token, str) or len(token) < 2 else "ner-pos"


def columns_of(templates: str) -> int:
    """How many columns templates look at."""
    found = parse_templates(templates).templates
    return 1 + max((term.column for each in found for term in each.terms), default=0)


def _numbers(
    settings: TaggerSettings,
    labels: Labels,
    y: Sequence[Sequence[str]],
    sentences: NDArray[np.int64],
) -> NDArray[np.int32]:
    """The numbers of the labels, −1 where they are unknown."""
    if not has_unknown(y, settings.unknown_label):
        return labels.encode(y, sentences)
    numbers, names = labels.encode_any(y, sentences)
    return np.where(numbers == names.index(str(settings.unknown_label)), np.int32(-1), numbers)


class KnownTagging:
    """What was learned from sentences, and the chain of this worker's."""

    def __init__(
        self,
        settings: TaggerSettings,
        job: Job,
        learned: TrainingSet,
        start: tuple[NDArray[np.float32], ...] | None = None,
    ) -> None:
        self._settings, self._job, self._learned = settings, job, learned
        rows, truth = learned.rows, learned.truth
        if not rows.dimension:
            if settings.min_count > 1:
                raise InputError(f"no feature is left: min_count is {settings.min_count}")
            raise InputError("no token has a feature: the templates or attributes make none")
        self._check_label_count(learned.codec.labels, len(truth))
        transitions = self._allowed()
        chain = self._chain(transitions)
        if chain.has_unknown_truth and settings.constraints == "auto":
            try:
                chain.best_completion(chain.new_weights())
            except InputError:  # the known labels leave no way through
                chain = self._chain(transitions := None)
        chain.set_example_weights(job.share.weights.get("sample_weight"))
        self._transitions = transitions
        self.structure = chain
        self.center = None if start is None else chain.pack(*start)
        if chain.has_unknown_truth:
            w = self.center or first_weights(chain, truth, settings.seed)
            chain.set_truth(chain.best_completion(w, usable_threads(settings.threads)))

    def _chain(self, transitions: NDArray[np.bool_] | None) -> Chain:
        settings, learned = self._settings, self._learned
        labels, truth = learned.codec.labels, learned.truth
        weights = self._job.share.weights.get("token_weight")
        loss = find_loss(settings.loss, settings.beta, settings.gamma)
        check_costs_count(loss, token_weight=weights)
        # Labels may be on disk: what is not needed of them is not copied.
        unknown = truth < 0 if isinstance(settings.unknown_label, str) else None
        counted = truth if unknown is None else truth[~unknown]
        counts = self._job.workers.allreduce(np.bincount(counted, minlength=len(labels)))
        return Chain(
            learned.rows,
            len(labels),
            truth if unknown is None else np.maximum(truth, 0),
            cost=label_costs(labels, settings.cost, settings.class_weight, counts),
            token_weights=flat_token_weights(weights, learned.rows.sentences),
            unknown=unknown,
            transitions=transitions,
        )

    def _check_label_count(self, labels: Labels, tokens: int) -> None:
        """Warn of what is probably no column of labels."""
        [tokens] = total(self._job.workers, tokens)
        if len(labels) >= MANY_LABELS and len(labels) > MANY_LABELS_SHARE * tokens:
            self._job.warn(
                ManyLabelsWarning(
                    f"there are {len(labels):,} labels for {tokens:,} tokens: are they in another "
                    "column (label_column)?"
                )
            )

    def _allowed(self) -> NDArray[np.bool_] | None:
        """Which labels may follow which; None if all may."""
        codec, rows = self._learned.codec, self._learned.rows
        names = codec.labels.names
        insisted = codec.inner_scheme if codec.converts else self._settings.constraints
        if insisted is None:
            return None
        if insisted != "auto":
            return allowed_transitions(names, insisted)  # type: ignore[arg-type]
        if not are_span_labels(names):
            return None
        for scheme in SCHEMES:
            try:
                transitions = allowed_transitions(names, scheme)
            except InputError:  # a label that this scheme does not have
                continue
            forbidden = len(forbidden_tokens(self._learned.truth, rows.sentences, transitions))
            if total(self._job.workers, forbidden) == [0]:
                return transitions
        return None  # real files break their own scheme now and then; then nothing is forbidden

    def model(self, w: _core.Weights) -> ChainModel:
        learned = self._learned
        return ChainModel(
            learned.extractor,
            learned.codec,
            self._transitions,
            w,
            learned.n_columns,
            layout=learned.layout,
        )

    def judge(self, dev: Share, metric: str | None = None) -> SummedScore:
        check_metric(metric, "f1", "accuracy")
        codec, workers = self._learned.codec, self._job.workers
        X, y = as_list(dev.X), as_list(dev.y)
        threads = usable_threads(self._settings.threads)
        chain = unlabelled_chain(
            self._learned.extractor, codec.labels, self._transitions, X, threads=threads
        )
        truth, names, unseen = true_labels(self._settings, codec, y, chain)
        if self._job.divided:
            unseen = (
                self._first_unseen(dev, unseen) if self._settings.unseen_labels != "count" else None
            )
        if unseen is not None:
            if self._settings.unseen_labels == "error":
                raise unseen.error()
            self._job.warn(UnseenLabelWarning(unseen))
        if total(workers, len(truth)) == [0]:
            raise InputError("the development data has no tokens")
        if self._job.divided:  # all must count spans, or all tokens
            names = [*names, *(set(union(workers, names)) - set(names))]
        by_f1 = (metric or score_name(names)) == "f1"
        seen = int(np.count_nonzero((truth >= 0) & (truth < len(codec.labels))))
        if total(workers, seen) == [0]:
            found = (
                ", ".join(sorted(names[len(codec.labels) :])[:3]) or self._settings.unknown_label
            )
            raise InputError(
                f"the development data has no label that training saw, only {found} …: are the "
                "labels in another column (label_column)?"
            )

        def count(w: _core.Weights) -> list[int]:
            predicted = chain.decode_all(w, threads=threads)
            if codec.converts and not by_f1:  # labels count as they were given
                said = codec.to_outer(codec.labels.decode(predicted, chain.sentences))
                right = [
                    a == b
                    for mine, other in zip(y, said, strict=True)
                    for a, b in zip(mine, other, strict=True)
                ]
                return [sum(right), len(right)]
            scores = evaluate_ids(truth, predicted, chain.sentences, names)
            if by_f1:
                return [2 * scores.correct, scores.support + scores.predicted]
            return [scores.correct_tokens, scores.tokens]

        shown = "F1" if by_f1 else "accuracy"
        return SummedScore(workers, count, lambda n: share_of(int(n[0]), int(n[1])), shown)

    def _first_unseen(self, dev: Share, found: UnseenLabel | None) -> UnseenLabel | None:
        """What any worker has found, described as everybody counts sentences."""
        own = None
        if found is not None:
            number = int(dev.numbers[found.sentence])
            own = [found.label, number, found.token, dev.where(found.sentence, found.token)]
        everybody = [each for each in gather(self._job.workers, own) if each is not None]
        return UnseenLabel(*min(everybody, key=lambda each: each[1])) if everybody else None

    def calibrated(self, model: ChainModel, dev: Share) -> ChainModel:
        settings = self._settings
        if find_loss(settings.loss, settings.beta, settings.gamma).name == "crf":
            return model
        threads = usable_threads(settings.threads)
        return calibrated(model, as_list(dev.X), as_list(dev.y), threads, self._job.workers)

    def attributes(self) -> dict[str, Any]:
        return self._learned.attributes

    def offered(self) -> dict[str, tuple[Any, ...]]:
        """Groups of features to leave out, and where none were chosen other presets."""
        found: dict[str, tuple[Any, ...]] = {"without": tuple(self._learned.extractor.groups())}
        columns, chosen = self._learned.n_columns, self._learned.attributes["features_"]
        if isinstance(self._settings.features, str) and self._settings.features == "auto":
            fitting = (name for name in PRESETS if columns_of(PRESETS[name]) <= (columns or 0))
            found["features"] = tuple(name for name in fitting if name != chosen)
        return found


def true_labels(
    settings: TaggerSettings, codec: Codec, y: Sequence[Sequence[str]], chain: Chain
) -> tuple[NDArray[np.int32], list[str], UnseenLabel | None]:
    """The numbers of labels to compare with (−1 for unknown ones), the names, those that training
    saw first, and the first label that it never saw, unless these are to be counted only."""
    labels = codec.labels
    truth, names = labels.encode_any(codec.to_inner(y), chain.sentences)
    if has_unknown(y, settings.unknown_label):
        mark = names.index(str(settings.unknown_label))
        truth[truth == mark] = -1
        truth[truth > mark] -= 1
        names.pop(mark)
    if settings.unseen_labels == "count" or len(names) == len(labels):
        return truth, names, None
    return truth, names, UnseenLabel.first(truth, names, len(labels), chain.sentences)


def calibrated(
    model: ChainModel, X: Any, y: Any, threads: int, workers: Communicator
) -> ChainModel:
    """The model with the temperature that labels ask for; as it is, if they determine none."""
    whole = model.chain(X, threads=threads)
    truth, _ = model.labels.encode_any(model.codec.to_inner(y), whole.sentences)
    lengths = np.diff(whole.sentences)
    chosen = sentences_to_calibrate(lengths, len(model.labels))
    chain = whole if len(chosen) == len(lengths) else model.chain(choose(X, chosen))
    picked = np.repeat(np.isin(np.arange(len(lengths)), chosen), lengths)
    temperature = chain_temperature(chain, model.w, truth[picked], threads, workers)
    return replace(model, temperature=temperature)
