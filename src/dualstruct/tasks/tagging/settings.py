"""The settings of a tagger."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from dualstruct.errors import InputError
from dualstruct.features.groups import parse_groups
from dualstruct.labels.given_costs import Costs, check_costs_count, parse_class_weights, read_costs
from dualstruct.labels.schemes import SCHEMES, Scheme
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
        ``ner-rich`` have more templates; ``chunking-small``), a template file or text (also of
        CRF++ and Wapiti), a function that maps a sentence to a list of strings or a dict for each
        token, a list of these (``["ner", my_function]``: the features of all), or
        ``"attributes"``. A model file stores only the name of a function; pass the function when
        you load it: ``SequenceTagger.load(path, functions=[my_function])``.
    vectors : path, optional
        A file of word vectors (GloVe, word2vec as text or binary, ``.npy`` with the words in a
        ``.txt`` in the same folder). The vectors of a word and of its neighbours become features.
    keep_vectors : {"inside", "beside"}
        Whether the model file contains the vectors, or refers to their file in the same folder.
    constraints : str or None
        ``"auto"`` excludes invalid BIO and BILOU sequences if the training labels have none;
        ``"iob1"``, ``"iob2"``, ``"bilou"``, ``"bioes"`` require a scheme; None allows all
        transitions.
    scheme : str, optional
        Convert the labels to this scheme for training (``"bilou"``, ``"iob2"`` …); predictions are
        converted back.
    cost : dict or matrix, optional
        The cost of mistakes, 1 by default: ``{"B-LOC": 2.0}`` by true label,
        ``{("B-LOC", "B-ORG"): 0.5}`` by true and predicted one, or a matrix of both in the order of
        the sorted labels.
    class_weight : dict or "balanced", optional
        Multiplies the cost of mistakes at each true label. ``"balanced"`` gives every label the
        same total weight.
    unknown_label : str, False or None
        The mark of unknown labels, for example ``"?"``. During training such tokens get the best
        label under the current model; scores skip them. With None every label is a label, with a
        warning about ``?``; with False there is no warning.
    hash_bits : int, optional
        Hash features into 2**hash_bits rows of weights, one per label, instead of keeping a
        dictionary. Features of pairs of labels (``B`` templates) get at most as many rows.
    min_count : int
        Leave out features seen fewer times.
    without : str, optional
        Groups of features to leave out: ``affixes``, ``shapes``, ``conjunctions``, ``clusters``,
        ``gazetteers``, ``vectors``, several with commas between them.
    unseen_labels : {"warn", "count", "error"}
        What to do with dev or test labels that are not in the training data: count their tokens as
        mistakes, with or without a warning, or raise an error.
    dialect : {"auto", "dualstruct", "crf++", "wapiti"}
        The language of the templates; ``auto`` detects it.
    document_features : bool
        Add features of the same word elsewhere in the document (:class:`~dualstruct.InDocuments`).
    stages : {1, 2}
        2: a second model uses the labels that a first one predicts for the token, its neighbours
        and the same word elsewhere in the document. It is trained on predictions of models that
        were trained without the sentence, which takes six more trainings.
    """

    features: Any = setting(  # the model keeps the templates themselves
        "auto",
        Option(
            "auto, a preset (chunking, pos, ner, ner-pos; richer ones end in "
            "-rich) or a template file of dualstruct, CRF++ or Wapiti.",
            metavar="PRESET|FILE",
            panel=TAGGERS,
        ),
    )
    vectors: str | os.PathLike[str] | None = setting(
        None,
        Option(
            "Word vectors: GloVe, word2vec (text or binary), or .npy with the words in a .txt.",
            metavar="FILE",
            panel=TAGGERS,
        ),
    )
    keep_vectors: str = setting(
        "inside",
        Option(
            "Store the vectors inside the model file, or only refer to their file.",
            metavar="inside|beside",
            panel=TAGGERS,
        ),
    )
    constraints: str | None = setting(
        "auto",
        Option(
            "Which label sequences are valid: auto, none, iob1, iob2, bilou or bioes.",
            choices=("auto", "none", "iob1", "iob2", "bilou", "bioes"),
            panel=TAGGERS,
            parse=lambda value: None if value == "none" else value,
        ),
        kept=True,
    )
    scheme: Scheme | None = setting(
        None,
        Option(
            "Convert the labels to this scheme for training, for example bilou.",
            metavar="SCHEME",
            choices=SCHEMES,
            panel=TAGGERS,
        ),
        kept=True,
        tried=("iob2", "bilou"),
    )
    cost: Costs | None = setting(
        None,
        Option(
            "The cost of mistakes; each line has a true label, a predicted label and a cost.",
            metavar="FILE",
            panel=TAGGERS,
            parse=read_costs,
        ),
        kept=True,
    )
    class_weight: dict[str, float] | str | None = setting(
        None,
        Option(
            "The weight of mistakes at this true label. May be repeated.",
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
            "The mark of tokens whose label is unknown, for example ?.",
            metavar="MARK",
            panel=TAGGERS,
        ),
        kept=True,
    )
    hash_bits: int | None = setting(
        None,
        Option("Hash features into 2^N rows of weights instead of using a dictionary.", int),
        kept=True,
    )
    min_count: int = setting(
        1,
        Option("Leave out features seen fewer times than this.", int, panel=TAGGERS),
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
        Option(
            "The language of the template file.",
            metavar="auto|dualstruct|crf++|wapiti",
            panel=TAGGERS,
        ),
    )

    document_features: bool = setting(
        False,
        Option("Add features of the same word elsewhere in the document.", bool, panel=TAGGERS),
        kept=True,
    )
    stages: int = setting(
        1,
        Option(
            "2: a second model uses the labels that a first one predicts.",
            int,
            metavar="1|2",
            panel=TAGGERS,
        ),
        kept=True,
    )

    def check_settings(self) -> None:
        """Raise an error for bad settings, before any work is done."""
        if type(self.stages) is not int or self.stages not in (1, 2):
            raise InputError(f"stages is {self.stages!r}; it must be 1 or 2")
        if self.unseen_labels not in ("warn", "count", "error"):
            raise InputError(f"unseen_labels is {self.unseen_labels!r}, not warn, count or error")
        parse_groups(self.without)
        loss = find_loss(self.loss, self.beta, self.gamma)
        check_costs_count(loss, cost=self.cost, class_weight=self.class_weight)
        super().check_settings()
