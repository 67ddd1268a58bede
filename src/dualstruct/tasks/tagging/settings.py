"""The settings of a tagger."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from dualstruct.errors import InputError
from dualstruct.features.groups import parse_groups
from dualstruct.labels.costs import Costs, check_costs_count, parse_class_weights, read_costs
from dualstruct.labels.schemes import Scheme
from dualstruct.losses import find_loss
from dualstruct.training.settings import Option, Training, positional, setting

#: The heading of these options in the help of the command.
TAGGERS = "Options of taggers"


@positional("features", "loss")
@dataclass(eq=False, repr=False)
class TaggerSettings(Training):
    """What a tagger learns, besides how it is trained (:class:`~dualstruct.training.Training`).

    Parameters
    ----------
    features : str, path, function, list of them, or None
        ``"auto"`` (for BIO-like labels the preset ``ner``, or ``ner-pos`` if the tokens have a
        second column; ``pos`` for other labels; attributes for tokens that are dicts or lists), a
        preset (``chunking``, ``pos``, ``ner``, ``ner-pos``; ``chunking-rich``, ``pos-rich`` and
        ``ner-rich`` look at more; ``chunking-small``), a template file or text (also of CRF++ and
        Wapiti), a function from a sentence to a list of strings or a dict for each token, a list
        of these (``["ner", my_function]``: the features of all), or ``"attributes"``. A model file
        holds the name of a function alone: give it again,
        ``SequenceTagger.load(path, functions=[my_function])``.
    vectors : path, optional
        A file of word vectors (GloVe, word2vec as text or binary, ``.npy`` with the words in a
        ``.txt`` beside it): a token has the vectors of its word and of its neighbours as well.
    keep_vectors : {"inside", "beside"}
        Whether the model file holds the vectors, or looks for their file beside itself.
    constraints : str or None
        ``"auto"`` makes BIO and BILOU labels valid by construction when the training labels are;
        ``"iob1"``, ``"iob2"``, ``"bilou"``, ``"bioes"`` insist on it; None leaves all
        transitions open.
    scheme : str, optional
        Learn in this label scheme (``"bilou"``, ``"iob2"`` …) whatever the training labels are
        in; predictions come back in theirs.
    cost : dict or matrix, optional
        What mistakes cost, 1 for those not named: ``{"B-LOC": 2.0}`` by true label,
        ``{("B-LOC", "B-ORG"): 0.5}`` by true and predicted one, or a matrix of both in the order of
        the sorted labels.
    class_weight : dict or "balanced", optional
        Multiplies the cost of mistaking each label. ``"balanced"`` makes all labels weigh the same
        together, however rare they are.
    unknown_label : str, False or None
        The mark of unknown labels, ``"?"`` for instance: such tokens are filled in by
        the best completion under the model as it learns, and left out where scores are computed.
        None takes every label for a label, and warns of ``?``; False does not even warn.
    hash_bits : int, optional
        Hash features into 2**hash_bits rows of weights, one per label, instead of keeping a
        dictionary. Features of pairs of labels (``B`` templates) get at most as many rows.
    min_count : int
        Leave out features seen fewer times.
    without : str, optional
        Groups of features to leave out: ``affixes``, ``shapes``, ``conjunctions``, ``clusters``,
        ``gazetteers``, ``vectors``, several with commas between them.
    unseen_labels : {"warn", "count", "error"}
        What to do with labels in dev or test data that training never saw: count their tokens
        as mistakes, with or without a warning, or refuse.
    dialect : {"auto", "dualstruct", "crf++", "wapiti"}
        The language of the templates; ``auto`` looks at them.
    document_features : bool
        Features of the same word elsewhere in the document (:class:`~dualstruct.InDocuments`).
    stages : {1, 2}
        2: a second model sees the labels that a first one predicts, of the token, its neighbours
        and the same word elsewhere in the document. It learns from predictions of models that have
        not seen the sentence, which takes six more trainings.
    """

    features: Any = setting(  # the model keeps the templates themselves
        "auto",
        Option(
            "auto, a preset (chunking, pos, ner, ner-pos, and more with -rich) or a "
            "template file: ours, or one of CRF++ or Wapiti.",
            panel=TAGGERS,
        ),
    )
    vectors: str | os.PathLike[str] | None = setting(
        None,
        Option(
            "Word vectors: GloVe, word2vec (text or binary), or .npy with its words in a .txt.",
            metavar="FILE",
            panel=TAGGERS,
        ),
    )
    keep_vectors: str = setting(
        "inside",
        Option("inside or beside: where the model has its vectors.", panel=TAGGERS),
    )
    constraints: str | None = setting(
        "auto",
        Option(
            "auto, none, iob1, iob2, bilou or bioes: which labels may follow.",
            panel=TAGGERS,
            parse=lambda value: None if value == "none" else value,
        ),
        kept=True,
    )
    scheme: Scheme | None = setting(
        None,
        Option("Learn in this label scheme, for instance bilou.", panel=TAGGERS),
        kept=True,
        tried=("iob2", "bilou"),
    )
    cost: Costs | None = setting(
        None,
        Option(
            "What mistakes cost: lines of true label, predicted label, cost.",
            metavar="FILE",
            panel=TAGGERS,
            parse=read_costs,
        ),
        kept=True,
    )
    class_weight: dict[str, float] | str | None = setting(
        None,
        Option(
            "Weigh mistakes at this true label; may be repeated.",
            list[str],
            metavar="balanced|LABEL=WEIGHT",
            panel=TAGGERS,
            parse=parse_class_weights,
        ),
        kept=True,
    )
    unknown_label: str | bool | None = setting(
        None,
        Option(
            "This label, ? for instance, marks unknown labels.",
            metavar="MARK",
            panel=TAGGERS,
        ),
        kept=True,
    )
    hash_bits: int | None = setting(
        None, Option("Hash features into 2^b weights, without a dictionary.", int), kept=True
    )
    min_count: int = setting(
        1,
        Option("Leave out features seen fewer times.", int, panel=TAGGERS),
        kept=True,
        tried=(2, 3),
    )
    without: str | None = setting(
        None,
        Option(
            "Leave out groups of features: affixes, shapes, conjunctions, clusters, gazetteers.",
            metavar="GROUP,...",
            panel=TAGGERS,
        ),
        kept=True,
    )
    unseen_labels: str = setting("warn", kept=True)
    dialect: str = setting(
        "auto",
        Option("The template file's language: auto, dualstruct, crf++ or wapiti.", panel=TAGGERS),
    )

    document_features: bool = setting(
        False,
        Option("Features of the same word elsewhere in the document.", bool, panel=TAGGERS),
        kept=True,
    )
    stages: int = setting(
        1,
        Option("2: a second model sees what a first one predicts.", int, panel=TAGGERS),
        kept=True,
    )

    def check_settings(self) -> None:
        """Bad settings fail here, before any work is done."""
        if type(self.stages) is not int or self.stages not in (1, 2):
            raise InputError(f"stages is {self.stages!r}; it is 1 or 2")
        if self.unseen_labels not in ("warn", "count", "error"):
            raise InputError(f"unseen_labels is {self.unseen_labels!r}, not warn, count or error")
        parse_groups(self.without)
        loss = find_loss(self.loss, self.beta, self.gamma)
        check_costs_count(loss, cost=self.cost, class_weight=self.class_weight)
        super().check_settings()
