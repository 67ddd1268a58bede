"""Word vectors from files, and what files say of the data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import refusal, run
from dualstruct import SequenceTagger
from dualstruct.errors import InputError
from dualstruct.features import WordVectorExtractor, from_state
from dualstruct.features.word_vectors import read_vectors
from dualstruct.tasks.tagging.learning import LowCoverageWarning

WORDS = ["Turin", "rome", "lives", "naïve"]
MATRIX = np.array([[1, 0, 0.5], [0.9, 0.1, 0.4], [-1, 0, 2], [0, 3, -4]], np.float32)
X = [["Turin", "lives"], ["Rome", "Ada", "naïve"], []]


def write(folder, form):
    """The same vectors in each of the forms."""
    numbers = [" ".join(map(str, row)) for row in MATRIX.tolist()]
    lines = [f"{word} {row}\n" for word, row in zip(WORDS, numbers, strict=True)]
    path = folder / {"npy": "v.npy", "binary": "v.bin"}.get(form, "v.txt")
    if form == "npy":
        np.save(path, MATRIX)
        (folder / "v.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    elif form == "binary":
        cells = zip(WORDS, MATRIX, strict=True)
        rows = [word.encode() + b" " + row.tobytes() + b"\n" for word, row in cells]
        path.write_bytes(b"4 3\n" + b"".join(rows))
    else:
        path.write_text(("4 3\n" if form == "word2vec" else "") + "".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", ["glove", "word2vec", "binary", "npy"])
def test_all_forms_hold_the_same_vectors(tmp_path, form):
    found = read_vectors(write(tmp_path, form))
    assert found.words == WORDS
    assert np.array_equal(found.matrix, MATRIX)


@given(st.lists(st.lists(st.sampled_from([*WORDS, "Rome", "x", ""]), max_size=4), max_size=4))
def test_tokens_have_the_vectors_of_their_word_and_its_neighbours(tmp_path_factory, sentences):
    extractor = WordVectorExtractor(write(tmp_path_factory.mktemp("v"), "glove"))
    scale = 1 / np.sqrt((MATRIX**2).sum(axis=1)).mean()
    rows = extractor.fit(sentences)
    dense = rows.matrix().toarray() if rows.n_tokens else np.zeros((0, 9))
    expected = []
    for sentence in sentences:
        for at in range(len(sentence)):
            row = np.zeros((3, 3))
            for column, place in enumerate((at - 1, at, at + 1)):
                word = sentence[place] if 0 <= place < len(sentence) else None
                word = word if word in WORDS or word is None else word.lower()
                if word in WORDS:
                    row[column] = scale * MATRIX[WORDS.index(word)]
            expected.append(row.reshape(-1))
    np.testing.assert_allclose(dense, np.reshape(expected, (-1, 9)), rtol=1e-5)
    assert extractor.names([0, 4]) == ["vector(word[-1])[0]", "vector(word[0])[1]"]
    keep = np.arange(9) % 2 == 0
    again = from_state(*extractor.state())
    again.select(keep)
    assert again.find("vector(word[0])[1]") == 2
    if rows.n_tokens:
        kept = from_state(*again.state()).transform(sentences).matrix().toarray()
        np.testing.assert_allclose(kept, dense[:, keep], rtol=1e-6)


@pytest.mark.parametrize("keep", ["inside", "beside"])
def test_vectors_are_kept_in_the_model_or_beside_it(tmp_path, keep):
    path = write(tmp_path, "glove")
    X, y = [["Turin", "lives"], ["Ada", "lives"]], [["L", "O"], ["P", "O"]]
    tagger = SequenceTagger("word[0]\n", vectors=path, keep_vectors=keep, C=10).fit(X, y)
    assert tagger.coverage_ == {"vectors v.txt": 0.75}
    assert tagger.predict([["rome", "lives"]]) == [["L", "O"]]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    model = elsewhere / "m.dstruct"
    tagger.save(model)
    text = path.read_text()
    path.unlink()
    if keep == "inside":
        assert SequenceTagger.load(model).predict([["rome", "lives"]]) == [["L", "O"]]
        return
    with pytest.raises(InputError, match=r"vectors are in v\.txt, which is not beside the model"):
        SequenceTagger.load(model).predict([["rome"]])
    (elsewhere / "v.txt").write_text(text)
    going_on = SequenceTagger.load(model).partial_fit([["Bo", "lives"]], [["P", "O"]])
    assert going_on.coverage_ == {"vectors v.txt": 0.5}
    assert SequenceTagger.load(model).predict([["rome", "lives"]]) == [["L", "O"]]
    (elsewhere / "v.txt").write_text(text.replace("3", "4"))
    with pytest.raises(InputError, match="has other vectors than those of the model"):
        SequenceTagger.load(model).predict([["rome"]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 2\nb 1\n", "v.txt, line 2: a word and 2 numbers are expected, not 2 cells"),
        ("a 1 2\nb 1 2 3\n", "v.txt, line 2: 3 numbers; those before have 2"),
        ("a 1 2\nb 1 x\n", "v.txt, line 2: the last 2 cells have to be numbers"),
        ("a 1 2\nb nan 1\n", "v.txt, line 2: a number is infinite or NaN"),
        ("2 2\na 1 2\nb 1 inf\n", "v.txt, line 3: a number is infinite or NaN"),
        ("3 2\na 1 2\nb 1 2\n", "v.txt, line 1 promises 3 words, and 2 follow"),
        ("a\n", "v.txt, line 1: a word and 1 to 10,000 numbers are expected"),
        ("", "v.txt: there must be words"),
        ("1 99999999\n", "v.txt, line 1: vectors of 99999999 numbers"),
    ],
)
def test_bad_text_is_refused_with_file_and_line(tmp_path, text, message):
    path = tmp_path / "v.txt"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        read_vectors(path)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-3], "should have 4 words, and ends after 3"),
        (lambda data: data + b"more", "there is more after its 4 words of 3 numbers"),
        (lambda data: data[:-5] + b"\x00\x00\xc0\x7f\n", "word 4 ('naïve'): a number is infinite"),
    ],
)
def test_bad_binary_files_are_refused(tmp_path, change, message):
    path = write(tmp_path, "binary")
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError) as raised:
        read_vectors(path)
    assert message in str(raised.value)


def test_bad_arrays_are_refused(tmp_path):
    path = write(tmp_path, "npy")
    (tmp_path / "v.txt").write_text("one\ntwo\n")
    with pytest.raises(InputError, match=r"v\.npy: 2 words, but the vectors are 4×3 numbers"):
        read_vectors(path)
    (tmp_path / "v.txt").unlink()
    with pytest.raises(InputError, match=r"needs its words, a word per line, in v\.txt"):
        read_vectors(path)
    np.save(path, np.array(["x"], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="is not an array written by numpy"):
        read_vectors(path)


def test_what_cannot_have_vectors_is_refused(tmp_path):
    path, y = write(tmp_path, "glove"), [["A", "B"]]
    for settings, tokens, message in [
        ({"hash_bits": 10}, ["a", "b"], "cannot be combined with hash_bits"),
        ({"keep_vectors": "no"}, ["a", "b"], "neither inside nor beside"),
        ({"features": "attributes"}, [{"a": 1}, {"b": 1}], "want sentences of words"),
    ]:
        tagger = SequenceTagger(**{"features": "word[0]\n", "vectors": path, **settings})
        with pytest.raises(InputError, match=message):
            tagger.fit([tokens], y)
    divided = SequenceTagger("word[0]\n", vectors=path, engine="local", workers=2)
    with pytest.raises(InputError, match="for one machine"):
        divided.fit([["a", "b"]] * 2, y * 2)


def test_the_share_of_tokens_that_files_know_is_told(tmp_path):
    (tmp_path / "paths.txt").write_text("01\tturin\t3\n10\tlives\t2\n")
    (tmp_path / "cities.txt").write_text("Turin\n")
    (tmp_path / "t.txt").write_text(
        "clusters paths.txt\ngazetteer cities cities.txt\ngazetteer none t.txt\n"
        "word[0]\ncluster(lower(word[-1]),1)\nin(cities,word[0])\nin(none,word[0])\n"
    )
    X, y = [["Turin", "lives"], ["Ada", "Turin"]], [["L", "O"], ["P", "L"]]
    with pytest.warns(LowCoverageWarning, match=r"gazetteer none covers 0\.0 % of the tokens"):
        tagger = SequenceTagger(tmp_path / "t.txt").fit(X, y)
    assert tagger.coverage_ == {
        "clusters paths.txt": 0.75,
        "gazetteer cities": 0.5,
        "gazetteer none": 0.0,
    }
    with pytest.warns(LowCoverageWarning, match="another language, case or tokenisation"):
        SequenceTagger("word[0]\n", vectors=write(tmp_path, "glove")).fit([["x", "y"]], y[:1])


def test_the_command_takes_vectors_and_prints_what_they_know(tmp_path):
    vectors = write(tmp_path, "glove")
    data = tmp_path / "train.txt"
    data.write_text("Turin\tL\nlives\tO\n\nAda\tP\nlives\tO\n")
    model = tmp_path / "m.dstruct"
    told = run("train", data, "--vectors", vectors, "--features", "pos", "--model", model)
    assert "vectors v.txt: 75.0 % of the tokens" in told
    vectors.write_text("a 1 2\nb 1\n")
    said = refusal("train", data, "--vectors", vectors, "--model", model)
    assert "v.txt, line 2: a word and 2 numbers are expected" in said
