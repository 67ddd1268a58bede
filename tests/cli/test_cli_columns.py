"""Every command reads a column file as training read its own, and prints it with all its lines."""

from __future__ import annotations

import json

import pytest

from command_line import called
from dualstruct import InputError, SequenceTagger, read_columns
from dualstruct.data.arrays import read_arrays, write_arrays
from dualstruct.data.layout import ColumnLayout
from dualstruct.datasets import load_english

TREES = load_english("test")


def rows(*order):
    """The corpus with these columns: w(ord), t(ag), n(umber), l(abel)."""
    lines = []
    for sentence in TREES:
        for t, (word, tag) in enumerate(zip(sentence.forms, sentence.upos, strict=True), 1):
            cells = {"w": word, "t": tag, "n": str(t), "l": sentence.entities[t - 1], "_": "_"}
            lines.append("\t".join(cells[name] for name in order))
        lines.append("")
    return "\n".join(lines) + "\n"


def commented(text):
    """A comment of as many cells as tokens have before each sentence, and a document's mark."""
    width = text.split("\n")[0].count("\t") + 1
    blocks = text.rstrip("\n").split("\n\n")
    comment = " ".join(["#", *["x"] * (width - 1)])
    start = "-DOCSTART-" + "\t-X-" * (width - 1) + "\n\n"
    return start + "\n\n".join(f"{comment}\n{block}" for block in blocks) + "\n\n"


def conllu(text):
    """Words, labels as UPOS, and two words that are written as one."""
    assert text
    blocks = []
    for sentence in TREES:
        lines = [f"# sent_id = {sentence.sent_id}", "#newpar", "1-2\tab" + "\t_" * 8]
        for t, (word, label) in enumerate(zip(sentence.forms, sentence.entities, strict=True), 1):
            lines.append(f"{t}\t{word}\t_\t{label}" + "\t_" * 6)
        blocks.append("\n".join([*lines, f"{len(sentence.forms)}.1\tno" + "\t_" * 8, "", ""]))
    return "".join(blocks)


#: A file, and the options that train on its words.
FILES = {
    "words": (rows("w", "l"), []),
    "the first of four columns": (rows("w", "t", "_", "l"), ["--columns", 0]),
    "words and tags": (rows("w", "t", "l"), []),
    "numbers first": (rows("n", "w", "l"), ["--columns", 1]),
    "labels first": (rows("l", "w"), ["--label-column", 0]),
    "labels in the middle": (rows("w", "l", "t"), ["--label-column", 1]),
    "tags before words": (rows("t", "w", "l"), ["--columns", "1,0"]),
    "comments": (commented(rows("w", "t", "l")), ["--columns", 0]),
    "blanks": (rows("w", "t", "l").replace("\t", " "), ["--columns", 0]),
    "CoNLL-U": (conllu("x"), ["--columns", 1, "--label-column", 3]),
}


@pytest.fixture(scope="module", params=FILES)
def trained(request, tmp_path_factory):
    """A file, a model of it, and a calibrated one."""
    text, options = FILES[request.param]
    folder = tmp_path_factory.mktemp("columns")
    (folder / "file.txt").write_text(text)
    called(
        "train", folder / "file.txt", "--dev", folder / "file.txt", *options, "--passes", 5,
        "--features", "word[0]\nword[-1]\n", "--model", folder / "m.dstruct", "-C", 1,
    )  # fmt: skip
    return folder, options


def test_predict_prints_the_file_with_other_labels(trained):
    folder, options = trained
    told = called("predict", folder / "m.dstruct", folder / "file.txt")
    before = (folder / "file.txt").read_text()
    label = dict(zip(options[::2], options[1::2], strict=True)).get("--label-column", -1)
    tagger = SequenceTagger.load(folder / "m.dstruct")
    words = [[t if isinstance(t, str) else t[0] for t in s] for s in _words(tagger, folder)]
    assert words == [list(s.forms) for s in TREES]
    predicted = iter(label for row in tagger.predict(_words(tagger, folder)) for label in row)
    tokens = set(_token_lines(folder))
    lines = before.split("\n")
    assert len(lines) == len(told.split("\n"))
    for number, (old, new) in enumerate(zip(lines, told.split("\n"), strict=True), 1):
        if number in tokens:
            cells = old.split()
            cells[label] = next(predicted)
            assert new.split("\t") == cells
        else:
            assert new == old
    # What was printed can be read as the file was.
    (folder / "out.txt").write_text(told)
    assert called("predict", folder / "m.dstruct", folder / "out.txt") == told
    same = called("evaluate", folder / "m.dstruct", folder / "out.txt", "--json")
    assert json.loads(same)["accuracy"] == 1


def _words(tagger, folder):
    layout = tagger.layout_
    file = read_columns(folder / "file.txt", label_column=None, comments=layout.comments or None)
    return file.choose(layout.columns, layout.label).tokens


def _token_lines(folder):
    file = read_columns(folder / "file.txt", label_column=None)
    return file._format.token_lines((folder / "file.txt").read_bytes()).tolist()


@pytest.mark.parametrize("more", [["--k-best", 2], ["--marginals"], ["--confidence"], ["--json"]])
def test_predict_takes_the_file_in_every_way(trained, more):
    folder, _ = trained
    told = called("predict", folder / "m.dstruct", folder / "file.txt", *more)
    if more != ["--json"]:
        for line in (folder / "file.txt").read_text().split("\n")[:2]:
            assert line in told or "\t".join(line.split()) in told
        return
    sentences = json.loads(told)["sentences"]
    assert len(sentences) == len(TREES)
    file = read_columns(folder / "file.txt", label_column=None)
    for i, sentence in enumerate(sentences):
        lines = [line for line in file.other_lines.get((i, 0), []) if line]
        assert sentence.get("metadata", []) == lines


def test_all_commands_read_the_file_as_training_did(trained):
    folder, options = trained
    model, file = folder / "m.dstruct", folder / "file.txt"
    report = json.loads(called("evaluate", model, file, "--json"))
    assert report["tokens"] == sum(len(s.forms) for s in TREES)
    assert report["f1"] > 0.9
    again = json.loads(called("evaluate", model, file, *options, "--json"))
    assert {**again, "seconds": 0, "tokens_per_second": 0} == {
        **report, "seconds": 0, "tokens_per_second": 0,
    }  # fmt: skip
    found = json.loads(called("suspects", model, file, "--format", "json", "--top", 3))
    assert len(found["suspects"]) == 3
    assert called("calibrate", model, file).startswith("temperature ")
    explained = json.loads(called("explain", model, file, "--format", "json", "--most", 1))
    [sentence] = explained["sentences"]
    assert [token["form"] for token in sentence["tokens"]] == list(TREES[0].forms)


def test_tokens_alone_are_taken_and_files_that_leave_a_choice_refused(trained):
    folder, _ = trained
    tagger = SequenceTagger.load(folder / "m.dstruct")
    own = tagger.n_columns_
    cells = ["word", "tag"][:own]
    alone = "\t".join(cells) + "\n"
    if tagger.layout_.columns == (1, 0):  # in which order?
        with pytest.raises(InputError, match="has 2 columns"):
            called("predict", folder / "m.dstruct", stdin=alone)
    else:
        told = called("predict", folder / "m.dstruct", stdin=alone)
        assert told.split("\t")[:-1] == cells
    wide = "\t".join(["cell"] * 20) + "\n"
    with pytest.raises(InputError, match=r"standard input has 20 columns, .*--columns"):
        called("predict", folder / "m.dstruct", stdin=wide)
    told = called("predict", folder / "m.dstruct", "--columns", ",".join("23"[:own]), stdin=wide)
    assert told.split("\t")[:-1] == ["cell"] * 20


def test_a_layout_leaves_no_choice_open():
    layout = ColumnLayout((1,), 2, 3)  # number, word, label
    assert layout.unlabelled(3) == ((1,), 2)
    assert layout.unlabelled(1) == ((0,), None)
    assert layout.unlabelled(2) is None  # number and word, or word and label
    assert layout.labelled(2) == ((0,), 1)
    assert layout.labelled(4) == ((1,), 3)
    assert ColumnLayout((0,), 1, 2).labelled(1) is None
    assert ColumnLayout((1,), 0, 2).unlabelled(1) == ((0,), None)
    assert ColumnLayout((0, 1), None, 2).labelled(2) is None
    for wrong in (((2,), 0, 2), ((0,), 5, 2), ((), 0, 2)):
        with pytest.raises(InputError):
            ColumnLayout(*wrong)


@pytest.fixture
def old(tmp_path):
    """A model file from before layouts were kept, of words and tags."""
    data = tmp_path / "file.txt"
    data.write_text(rows("w", "t", "l"))
    file = read_columns(data)
    tagger = SequenceTagger("word[0]\n", passes=2).fit(file.tokens, file.labels)
    tagger.save(tmp_path / "new.dstruct")
    metadata, arrays = read_arrays(tmp_path / "new.dstruct", tagger.model_format)
    for record in ("format", "version", "layout"):
        metadata.pop(record)
    write_arrays(tmp_path / "old.dstruct", tagger.model_format, metadata, arrays)
    return tmp_path


def test_old_models_read_tokens_with_a_label_behind_them_or_not(old):
    tagger = SequenceTagger.load(old / "old.dstruct")
    assert tagger.layout_ == ColumnLayout((0, 1), 2, 3)
    for command in (["predict"], ["evaluate", "--json"]):
        told = [
            called(command[0], old / name, old / "file.txt", *command[1:])
            for name in ("old.dstruct", "new.dstruct")
        ]
        if command == ["predict"]:
            assert told[0] == told[1]
        else:
            assert json.loads(told[0])["f1"] == json.loads(told[1])["f1"]
    assert called("predict", old / "old.dstruct", stdin="a\tDET\n").startswith("a\tDET\t")
    with pytest.raises(InputError, match="has 1 column,"):
        called("predict", old / "old.dstruct", stdin="a\n")


def test_a_layout_that_does_not_fit_its_model_is_refused(old):
    metadata, arrays = read_arrays(old / "new.dstruct", SequenceTagger.model_format)
    metadata["layout"]["columns"] = [0]
    for record in ("format", "version"):
        metadata.pop(record)
    write_arrays(old / "bad.dstruct", SequenceTagger.model_format, metadata, arrays)
    with pytest.raises(InputError, match=r"bad.dstruct is damaged: .*layout"):
        SequenceTagger.load(old / "bad.dstruct")


def test_labels_of_two_files_are_compared(tmp_path, trained):
    folder, options = trained
    out = tmp_path / "out.txt"
    out.write_text(called("predict", folder / "m.dstruct", folder / "file.txt"))
    told = json.loads(called("evaluate", folder / "m.dstruct", folder / "file.txt", "--json"))
    files = json.loads(called("evaluate", folder / "file.txt", out, *options, "--json"))
    assert files == {name: told[name] for name in files}
    table = called("evaluate", folder / "m.dstruct", folder / "file.txt")
    assert table.startswith(called("evaluate", folder / "file.txt", out, *options))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("Ada B\n\nBo B\n", "gold.txt has 1 sentence, but pred.txt has 2; scores need the same"),
        ("Ada B\n", "gold.txt, line 1: the sentence has 2 words, but 1 in pred.txt, line 1"),
        (
            "Ada B\nhums O\n",
            "gold.txt, line 2: the word is 'sings', but 'hums' in pred.txt, line 2",
        ),
    ],
)
def test_files_of_other_words_cannot_be_compared(other, message, tmp_path):
    (tmp_path / "gold.txt").write_text("Ada B\nsings O\n")
    (tmp_path / "pred.txt").write_text(other)
    with pytest.raises(InputError, match=message):
        called("evaluate", tmp_path / "gold.txt", tmp_path / "pred.txt")
    with pytest.raises(InputError, match="confidence is that of a model"):
        called("evaluate", tmp_path / "gold.txt", tmp_path / "pred.txt", "--confidence")


@pytest.mark.parametrize("command", ["predict", "evaluate", "suspects", "calibrate"])
def test_the_columns_of_conllu_are_not_guessed(command, tmp_path):
    """A model of two columns does not take the numbers for words, and the last cell for a label."""
    (tmp_path / "train.txt").write_text(rows("w", "l"))
    (tmp_path / "trees.conllu").write_text(conllu("x"))
    model = tmp_path / "m.dstruct"
    called("train", tmp_path / "train.txt", "--passes", 1, "--model", model)
    with pytest.raises(InputError, match=r"has 10 columns, but the model .*--columns"):
        called(command, model, tmp_path / "trees.conllu")
    if command == "evaluate":
        named = ["--columns", 1, "--label-column", 3]
        assert json.loads(called(command, model, tmp_path / "trees.conllu", *named, "--json"))["f1"]


COMMANDS = ["predict", "explain", "suspects", "calibrate", "inspect"]


@pytest.mark.parametrize("command", COMMANDS)
def test_text_and_models_of_crfsuite_are_no_models(command, tmp_path):
    data = tmp_path / "file.txt"
    data.write_text("Ada B\n")
    (tmp_path / "theirs.crfsuite").write_bytes(b"lCRF and so on")
    more = [] if command == "inspect" else [data]
    with pytest.raises(InputError, match=r"file.txt is a text file, not a model"):
        called(command, data, *more)
    with pytest.raises(InputError, match=r"theirs.crfsuite is a model of CRFsuite; .*convert"):
        called(command, tmp_path / "theirs.crfsuite", *more)


@pytest.mark.parametrize("command", ["predict", "evaluate", "explain", "suspects", "calibrate"])
def test_json_without_texts_is_refused(command, old):
    (old / "a.jsonl").write_text('{"words": 3}\n')
    with pytest.raises(InputError, match=r"a.jsonl, line 1: there is no text"):
        called(command, old / "new.dstruct", old / "a.jsonl")
    if command in ("predict", "explain"):
        with pytest.raises(InputError, match=r"a.jsonl, line 1: this is JSON"):
            called(command, old / "new.dstruct", old / "a.jsonl", "--text")
