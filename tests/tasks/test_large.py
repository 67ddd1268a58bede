"""More data than memory holds: blocks of files, features on disk, iterators."""

from __future__ import annotations

import io
import json
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run_command
from dualstruct import InputError, SequenceTagger, read_columns, write_columns
from dualstruct.data.blocks import read_blocks
from dualstruct.datasets import load_english
from random_cases import cases

TREES = load_english()
X = [list(TREES[i].forms) for i in range(120)]
Y = [list(TREES[i].upos) for i in range(120)]


@cases(100)
@given(
    st.lists(st.lists(st.sampled_from(["a b", "c d", "e\tf"]), min_size=1, max_size=4), min_size=1),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 60),
    st.integers(1, 3),
)
def test_blocks_hold_the_sentences_of_the_file(sentences, newline, size, blanks):
    text = (newline * (1 + blanks)).join(newline.join(lines) for lines in sentences)
    whole = read_columns(io.BytesIO(text.encode()), separator=" ")
    blocks = list(read_blocks(io.BytesIO(text.encode()), separator=" ", block_bytes=size))
    assert [s for block in blocks for s in block.tokens] == list(whole.tokens)
    assert [s for block in blocks for s in block.labels] == list(whole.labels)


def test_a_broken_line_is_named_by_its_place_in_the_file(tmp_path):
    path = tmp_path / "broken.txt"
    path.write_text("a X\n\n" * 50 + "b X\nonly\n\n" + "c X\n")
    with pytest.raises(InputError, match=r"broken.txt, line 102\b"):
        list(read_blocks(path, block_bytes=40))


@pytest.mark.parametrize("loss", ["squared_hinge", "crf"])
def test_training_from_disk_gives_the_model_of_training_from_memory(loss, tmp_path):
    chosen = {"features": "pos", "hash_bits": 14, "loss": loss, "passes": 4}
    memory = SequenceTagger(**chosen).fit(X, Y)
    pairs = zip(iter(X), iter(Y), strict=True)
    streamed = SequenceTagger(**chosen).fit_large(pairs, tmp_path / "new")
    assert streamed.model_.w.array.tobytes() == memory.model_.w.array.tobytes()
    assert streamed.classes_.tolist() == memory.classes_.tolist()
    assert streamed.result_.gap == memory.result_.gap
    assert not list((tmp_path / "new").iterdir())  # nothing is left behind


def test_a_file_in_small_blocks_gives_the_same_model(tmp_path, monkeypatch):
    write_columns(tmp_path / "train.txt", X, Y)
    monkeypatch.setattr(
        read_blocks, "__kwdefaults__", {**read_blocks.__kwdefaults__, "block_bytes": 2000}
    )
    chosen = {"features": "pos", "hash_bits": 14, "passes": 3}
    streamed = SequenceTagger(**chosen).fit_large(tmp_path / "train.txt", tmp_path, dev=(X, Y))
    memory = SequenceTagger(**chosen).fit(X, Y, dev=(X, Y))
    assert streamed.model_.w.array.tobytes() == memory.model_.w.array.tobytes()
    assert streamed.read_ == (120, sum(map(len, X)))
    streamed.save(tmp_path / "m.dstruct")
    assert SequenceTagger.load(tmp_path / "m.dstruct").predict(X[:5]) == memory.predict(X[:5])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"min_count": 2}, "min_count"),
        ({"stages": 2}, "need all data in memory"),
    ],
)
def test_what_needs_all_data_is_refused(how, message, tmp_path):
    with pytest.raises(InputError, match=message):
        SequenceTagger("pos", **how).fit_large(zip(X, Y, strict=True), tmp_path)


def test_no_sentences_and_a_folder_that_cannot_be_are_refused(tmp_path):
    with pytest.raises(InputError, match="no sentences"):
        SequenceTagger("pos").fit_large(iter([]), tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        SequenceTagger("pos").fit_large(zip(X, Y, strict=True), tmp_path / "file" / "sub")


def test_an_iterator_is_labelled_as_it_goes():
    tagger = SequenceTagger("pos", passes=3).fit(X, Y)
    taken = []

    def sentences():
        for sentence in X:
            taken.append(sentence)
            yield sentence

    found = tagger.predict_iter(sentences(), block=10)
    assert next(found) == tagger.predict(X[:1])[0]
    assert len(taken) == 10
    assert [tagger.predict(X[:1])[0], *found] == tagger.predict(X)


def test_threads_predict_at_the_same_time_and_agree():
    tagger = SequenceTagger("pos", passes=3).fit(X, Y)
    expected = tagger.predict(X)
    answers: list = [None] * 8

    def work(k: int) -> None:
        answers[k] = [tagger.predict(X) for _ in range(3)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(answer == [expected] * 3 for answer in answers)


def test_the_command_trains_from_disk_and_labels_a_stream(tmp_path):
    write_columns(tmp_path / "train.txt", X, Y)
    model = str(tmp_path / "m.dstruct")
    options = ["--features", "pos", "--passes", "3", "--hash-bits", "14", "--json"]
    core = ["--out-of-core", str(tmp_path / "disk")]
    trained = run_command("train", str(tmp_path / "train.txt"), "--model", model, *options, *core)
    assert trained.returncode == 0, trained.stderr
    report = json.loads(trained.stdout)
    assert (report["sentences"], report["features"]) == (120, 2**14)
    tagger = SequenceTagger("pos", passes=3, hash_bits=14).fit(X, Y)
    lines = "\n\n".join("\n".join(sentence) for sentence in X) + "\n"
    told = run_command("predict", model, input=lines)
    found = read_columns(io.StringIO(told.stdout))
    assert [list(y) for y in found.labels] == tagger.predict(X)
    text = (tmp_path / "train.txt").read_text(encoding="utf-8")
    piped = run_command("train", "-", "--model", model, *options, *core, input=text)
    assert json.loads(piped.stdout)["primal"] == report["primal"]
    texts = "".join(json.dumps({"text": "Ada sings.", "spans": [[0, 3, "PER"]]}) + "\n" for _ in X)
    piped = run_command("train", "-", "--model", model, *options, *core, input=texts)
    assert json.loads(piped.stdout)["sentences"] == len(X), piped.stderr
    bad = run_command("train", "a.txt", "--model", model, "--start", model, *core)
    assert "leave out --start" in bad.stderr
    assert np.isfinite(report["primal"])
