"""Wapiti's model files: read, written, and the same labels as its own program gives."""

from __future__ import annotations

import lzma
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import refusal, run
from corpora_here import corpus_here
from dualstruct import SequenceTagger, read_columns
from dualstruct.errors import InputError
from dualstruct.wapiti import read_wapiti, tagger_from_wapiti, wapiti_from_tagger, write_wapiti
from dualstruct.wapiti.files import parse_wapiti, wapiti_bytes

MODEL = """#mdl#2#11
#rdr#5/1/0
13:u00:%x[-1,0],
19:u01:%x[0,0]/%x[1,0],
13:*02:%X[0,1],
12:b03:%x[0,1],
1:b,
#qrk#3
7:I-<day>,
5:<day>,
9:I-<other>,
#qrk#8
8:u00:_x-1,
9:u01:a/b/c,
8:u01:c/_x+1,
5:u01:d,
5:*02:x,
5:b03:X,
1:b,
8:u00:noth,
0=0x1.8p+0
1=-0x1p+0
3=0x1.4p+1
7=0x1p-1
14=0x1p-3
15=-0x1p-2
17=-0x1.2p+0
20=0x1.99999ap-4
24=0x1p+1
33=-1.5
37=0x1.8p-1
"""
MODEL = (
    MODEL.replace("13:u00:%x[-1,0]", "12:u00:%x[-1,0]")
    .replace("8:u01:c/_x+1", "10:u01:c/_x+1")
    .replace("13:*02:%X[0,1]", "11:*02:%X[0,1]")
    .replace("12:b03:%x[0,1]", "11:b03:%x[0,1]")
)


def naive_score(model, tokens, labels):
    """The score of a labelling as Wapiti's manual defines it, observation by observation."""
    K = len(model.labels)
    dense = np.zeros(model.starts()[2])
    dense[model.places] = model.weights
    numbers = [model.labels.index(label) for label in labels]
    singles, pairs, _ = model.starts()
    total = 0.0
    for t in range(len(tokens)):

        def cell(row, column, at=t):
            place = at + row
            if place < 0:
                return f"_x-{-place}"
            return (
                f"_x+{place - len(tokens) + 1}" if place >= len(tokens) else tokens[place][column]
            )

        made = [
            f"u00:{cell(-1, 0)}",
            f"u01:{cell(0, 0)}/{cell(1, 0)}",
            f"*02:{cell(0, 1).lower()}",
            f"b03:{cell(0, 1)}",
            "b",
        ]
        for name in made:
            if name not in model.observations:
                continue
            k = model.observations.index(name)
            if singles[k] >= 0:
                total += dense[singles[k] + numbers[t]]
            if pairs[k] >= 0 and t:
                total += dense[pairs[k] + K * numbers[t - 1] + numbers[t]]
    return total


WORDS = st.tuples(st.sampled_from(["a", "b/c", "a/b", "c", "d"]), st.sampled_from(["x", "X", "y"]))


@given(tokens=st.lists(WORDS, min_size=1, max_size=4))
def test_a_model_read_scores_as_the_naive_one(tokens):
    model = parse_wapiti(MODEL.encode())
    tagger = tagger_from_wapiti(model)
    for score, labels in tagger.predict_k_best([tokens], 100)[0]:
        assert score == pytest.approx(naive_score(model, tokens, labels), abs=1e-5)


def test_what_is_read_is_written_again():
    model = parse_wapiti(MODEL.encode())
    again = parse_wapiti(wapiti_bytes(model))
    assert (again.templates, again.labels) == (model.templates, model.labels)
    assert again.observations == model.observations
    assert again.places.tolist() == model.places.tolist()
    assert again.weights.tolist() == model.weights.tolist()


X = [["1", "May", "x"], ["x", "2", "June"], ["y", "3", "May", "4"]]
Y = [
    ["I-<day>", "I-<month>", "I-<other>"],
    ["I-<other>", "I-<day>", "I-<month>"],
    ["I-<other>", "I-<day>", "I-<month>", "<month>"],
]
TEMPLATES = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nB2:%x[0,0]\nB\n"


@pytest.mark.parametrize("scheme", [None, "bilou"])
@pytest.mark.parametrize("constraints", ["auto", None])
def test_a_tagger_written_and_read_predicts_the_same(tmp_path, scheme, constraints):
    tagger = SequenceTagger(TEMPLATES, dialect="wapiti", scheme=scheme, constraints=constraints)
    tagger.fit(X, Y)
    path = tmp_path / "m.wapiti"
    write_wapiti(path, wapiti_from_tagger(tagger))
    back = tagger_from_wapiti(read_wapiti(path))
    new = [["1", "June"], ["z"], ["4", "4", "x", "May", "May"]]
    for ours, theirs in zip(
        tagger.predict_k_best(new, 1), back.predict_k_best(new, 1), strict=True
    ):
        assert ours[0][0] == pytest.approx(theirs[0][0], abs=1e-4)
    if scheme is None:
        assert back.predict(new) == tagger.predict(new)


@given(data=st.data())
def test_a_damaged_model_is_refused_or_read(data):
    text = bytearray(MODEL.encode())
    place = data.draw(st.integers(0, len(text) - 1))
    if data.draw(st.booleans()):
        text[place] = data.draw(st.integers(0, 255))
    else:
        del text[place : place + data.draw(st.integers(1, 40))]
    said = ""
    try:
        tagger_from_wapiti(parse_wapiti(bytes(text), "m.wapiti")).predict([[("a", "x")]])
    except InputError as problem:
        said = str(problem)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("#mdl#2", "#mdl#0", "only chains"),
        ("#rdr#5/1/0", "#rdr#5/1/1", "autouni"),
        ("37=", "36=", None),
        ("37=", "9999=", "at place 9,999"),
        ("37=", "3=", "at place 3"),
        ("-1.5", "nan", "a weight is expected here"),
        ("#qrk#3", "#qrk#999", "the length of a string|less in the file"),
        ("5:u01:d", "6:u01:d", "not as long"),
    ],
)
def test_mistakes_in_a_model_are_named_with_their_line(before, after, said):
    changed = MODEL.replace(before, after).encode()
    if said is None:
        parse_wapiti(changed)
        return
    with pytest.raises(InputError, match=rf"m.wapiti, line \d+: .*({said})"):
        parse_wapiti(changed, "m.wapiti")


def test_what_wapiti_does_not_know_is_refused():
    for settings, said in (
        ({"features": "pos"}, "its own templates"),
        ({"features": TEMPLATES, "dialect": "crf++"}, "its own templates"),
        ({"features": TEMPLATES, "dialect": "wapiti", "hash_bits": 10}, "hashed"),
    ):
        with pytest.raises(InputError, match=said):
            wapiti_from_tagger(SequenceTagger(**settings).fit(X, Y))
    attributes = SequenceTagger("attributes").fit([[[w] for w in x] for x in X], Y)
    with pytest.raises(InputError, match="other features"):
        wapiti_from_tagger(attributes)


def test_the_command_converts_both_ways(tmp_path):
    theirs, ours = tmp_path / "m.wapiti", tmp_path / "m.dstruct"
    theirs.write_text(MODEL)
    assert "3 labels, 8 observations; dualstruct model written" in run("convert", theirs, ours)
    assert "Wapiti model written" in run("convert", ours, tmp_path / "back.wapiti")
    back = read_wapiti(tmp_path / "back.wapiti")
    assert back.labels == ["I-<day>", "<day>", "I-<other>"]
    assert "dstruct" in refusal("convert", theirs, tmp_path / "m.crfsuite")
    assert "is a model of Wapiti; dualstruct convert" in refusal("inspect", theirs)


@pytest.fixture(params=["date", "name-citation"])
def shipped(request, tmp_path):
    """A model that GROBID ships, its data, and Wapiti's program."""
    folder = corpus_here(f"grobid/{request.param}")
    found = shutil.which("wapiti") or folder.parents[2] / "tools" / "wapiti"
    program = Path(found)
    if not program.is_file():
        pytest.skip("the program wapiti is not on this machine")
    for name in ("model.wapiti", "train.txt"):
        packed = (folder / f"{name}.xz").read_bytes()
        (tmp_path / name).write_bytes(lzma.decompress(packed))
    return program, tmp_path / "model.wapiti", tmp_path / "train.txt", folder / "template.txt"


def labelled(program: Path, model: Path, data: Path) -> list[list[str]]:
    done = subprocess.run(
        [program, "label", "-m", model, data], capture_output=True, text=True, check=True
    )
    blocks = done.stdout.strip().split("\n\n")
    return [[line.split()[-1] for line in block.split("\n") if line] for block in blocks]


def test_labels_are_those_of_wapiti_s_own_program(shipped, tmp_path):
    program, model, train, templates = shipped
    data = read_columns(train)
    read = tagger_from_wapiti(read_wapiti(model))
    assert list(read.predict(data.tokens)) == labelled(program, model, train)
    tagger = SequenceTagger(templates, dialect="wapiti").fit(data.tokens, data.labels)
    write_wapiti(tmp_path / "ours.wapiti", wapiti_from_tagger(tagger))
    assert list(tagger.predict(data.tokens)) == labelled(program, tmp_path / "ours.wapiti", train)
