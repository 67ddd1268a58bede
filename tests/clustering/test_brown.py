"""Brown clusters: the fast merges are those of a version that recomputes everything."""

from __future__ import annotations

import gzip
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualstruct.clustering.brown as brown
from commands import run_command
from dualstruct import InputError, SequenceTagger, WordClusters, _core, brown_clusters
from dualstruct.features.clusters import read_clusters
from naive_clusters import information, naive_merges, naive_pairs, naive_words

NOTHING = np.zeros((0, 2), np.int32)


def drawn_text(seed: int, n_words: int, n_sentences: int) -> list[list[str]]:
    """Words that follow each other in kinds, few of them frequent."""
    draw = random.Random(seed)
    text = []
    for _ in range(n_sentences):
        kind, sentence = draw.randrange(4), []
        for _ in range(draw.randint(1, 9)):
            kind = (kind + (draw.random() < 0.8)) % 4
            sentence.append(f"w{min(int(draw.expovariate(0.15)), n_words // 4 - 1) * 4 + kind}")
        text.append(sentence)
    return text


def counted(text: list[list[str]], threads: int = 1) -> _core.Neighbours:
    raw = _core.RawText()
    raw.add("".join(" ".join(sentence) + "\n" for sentence in text).encode())
    return raw.neighbours(threads=threads)


def merges(text: list[list[str]], n_clusters: int, threads: int = 1) -> list[tuple[int, int]]:
    found = _core.Brown(counted(text, threads), n_clusters, NOTHING, threads)
    found.advance(10**6, threads)
    return [(a, b) for a, b in found.merges().tolist()]


sentences = st.lists(
    st.lists(st.sampled_from([f"w{i}" for i in (0, 0, 0, 1, 1, 2, 3, 4, 5, 6)]), max_size=8),
    min_size=1,
    max_size=25,
)


@given(sentences, st.integers(2, 7), st.integers(1, 2))
def test_merges_are_those_that_lose_the_least_information(text, n_clusters, threads):
    words = naive_words(text)
    if len(words) < n_clusters:
        return
    pairs = naive_pairs(text, words)
    assert counted(text).words() == words
    assert merges(text, n_clusters, threads) == naive_merges(pairs, len(words), n_clusters)


def test_mutual_information_is_that_of_the_clusters():
    text = drawn_text(3, 12, 60)
    words = naive_words(text)
    pairs = naive_pairs(text, words)
    found = brown_clusters(text, 4)
    clusters = [
        {words.index(w) for w, p in zip(found.words, found.paths, strict=True) if p == path}
        for path in set(found.paths)
    ]
    expected = information(pairs, clusters) / 2**24 / sum(pairs.values())
    assert len(clusters) == 4
    assert found.mutual_information == pytest.approx(expected, rel=1e-12)
    assert 0 < expected < counted(text).mutual_information(np.arange(len(words), dtype=np.int32))


def test_words_of_a_kind_are_clustered_together():
    found = brown_clusters(drawn_text(0, 60, 3000), 4)
    by_path: dict[str, set[int]] = {}
    for word, path, count in zip(found.words, found.paths, found.counts, strict=True):
        if count > 20:
            by_path.setdefault(path, set()).add(int(word[1:]) % 4)
    assert sorted(map(tuple, by_path.values())) == [(0,), (1,), (2,), (3,)]


def test_clusters_are_the_same_on_any_number_of_threads_and_in_any_pieces():
    draw = random.Random(1)  # words that stand beside all others, which is work for several threads
    text = [[f"w{int(600 * draw.random() ** 2)}" for _ in range(60)] for _ in range(900)]
    alone = merges(text, 500)
    assert merges(text, 500, threads=3) == alone
    cut = _core.Brown(counted(text), 500, NOTHING, 1)
    cut.advance(37, 2)
    goes_on = _core.Brown(counted(text), 500, cut.merges(), 2)
    goes_on.advance(len(alone) - 37 - 30, 1)
    last = _core.Brown(counted(text), 500, goes_on.merges(), 1)
    last.advance(10**6, 2)
    assert [(a, b) for a, b in last.merges().tolist()] == alone


def test_counts_beyond_the_table_are_as_exact():
    text = [["a", "b"] * 100_000, ["a", "c"] * 70_000, ["b", "d", "c"]]
    words = naive_words(text)
    assert merges(text, 3) == naive_merges(naive_pairs(text, words), len(words), 3)


def test_rare_words_and_those_not_asked_for_are_left_out():
    text = [["a", "b", "c", "a", "b", "d"], ["a", "B"]]
    assert list(brown_clusters(text, 2, min_count=2).words) == ["a", "b"]
    assert list(brown_clusters(text, 2, restrict=[["d", "b", "a"]]).words) == ["a", "b", "d"]
    assert list(brown_clusters(text, 2, lowercase=True, min_count=3).words) == ["a", "b"]
    # A word that is left out separates its neighbours.
    assert counted([["a", "b"]]).pairs == 1
    raw = _core.RawText()
    raw.add(b"a x b\na b\na b\n")
    assert raw.neighbours(2).pairs == 2


def test_the_file_is_read_by_templates(tmp_path):
    text = tmp_path / "raw.txt.gz"
    text.write_bytes(gzip.compress("\n".join(" ".join(s) for s in drawn_text(0, 40, 300)).encode()))
    found = brown_clusters([text], 8)
    found.save(tmp_path / "paths")
    lines = (tmp_path / "paths").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == sorted(found.paths)
    read = read_clusters(tmp_path / "paths")
    assert [read.path(word) for word in found.words] == list(found.paths)
    assert len(set(found.paths)) == 8
    for path in found.paths:  # leaves of one tree
        assert not any(other != path and other.startswith(path) for other in found.paths)
    templates = tmp_path / "templates.txt"
    templates.write_text("clusters paths\ncluster(word[0])\n")
    tagger = SequenceTagger(features=templates).fit([["w0", "w1"]], [["A", "B"]])
    assert any("cluster" in tagger.model_.extractor.name(i) for i in range(tagger.n_features_))


def test_it_goes_on_after_an_interruption(tmp_path, monkeypatch):
    text, place = drawn_text(2, 200, 1500), tmp_path / "checkpoint"
    whole = brown_clusters(text, 30)
    told = []

    def stop(line: str) -> None:
        told.append(line)
        if "merge" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        brown_clusters(text, 30, checkpoint=place, watch=stop)
    assert "words" in told[0]
    first = len(brown._read(place, counted(text), 30))
    assert 0 < first < len(counted(text)) - 1
    assert brown_clusters(text, 30, checkpoint=place, resume=True) == whole
    assert brown_clusters(text, 30, checkpoint=place, resume=True) == whole  # nothing is left to do
    with pytest.raises(InputError, match="another number of clusters"):
        brown_clusters(text, 31, checkpoint=place, resume=True)
    with pytest.raises(InputError, match="another text or other settings"):
        brown_clusters([*text, ["new"]], 30, checkpoint=place, resume=True)


def test_merges_of_other_words_are_refused():
    neighbours = counted([["a", "b", "c", "d"]])
    for wrong in ([[0, 9]], [[-1, 1]], [[1, 1]], [[0, 1], [0, 1]], [[0, 1], [1, 2]]):
        with pytest.raises(InputError, match="other words"):
            _core.Brown(neighbours, 2, np.array(wrong, np.int32))
    with pytest.raises(InputError, match="no such cluster"):
        neighbours.mutual_information(np.array([0, 1, 2, 4], np.int32))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "there are no words in the text"),
        (b"  \n\t\n", "there are no words in the text"),
        (b"a b\na b\n", "the text has 2 words to cluster, fewer than the 3 clusters"),
        (b"a\nb\nc\nd\n", "no two words are next to each other"),
        (b"a b\nc \0 d\n", "raw.txt, line 2: there is a NUL byte in it"),
        (b"a b\n\nc \xff d\n", "raw.txt, line 3: this is not UTF-8 text"),
    ],
)
def test_text_that_cannot_be_clustered_is_refused_in_a_sentence(tmp_path, data, message):
    (tmp_path / "raw.txt").write_bytes(data)
    with pytest.raises(InputError, match=message):
        brown_clusters(tmp_path / "raw.txt", 3)
    done = run_command("clusters", tmp_path / "raw.txt", "--clusters", 3, "--out", tmp_path / "o")
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "o").exists()


def test_the_line_of_a_problem_is_counted_over_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(brown, "PIECE", 7)
    (tmp_path / "raw.txt").write_bytes(b"a b c\n" * 50 + b"a \xff\n")
    with pytest.raises(InputError, match=r"raw.txt, line 51"):
        brown_clusters(tmp_path / "raw.txt", 2)


def test_settings_that_make_no_sense_are_refused():
    for wrong in (1, 2.0, True):
        with pytest.raises(InputError, match="number of clusters"):
            brown_clusters([["a", "b"]], wrong)
    with pytest.raises(InputError, match="min_count"):
        brown_clusters([["a", "b"]], 2, min_count=0)
    with pytest.raises(InputError, match="sentence 2: 'a b' is not a word"):
        brown_clusters([["a", "b"], ["a b"]], 2)
    with pytest.raises(InputError, match=r"fewer than the 2 clusters"):
        brown_clusters([["a", "b"]], 2, min_count=2)


def test_the_command_writes_clusters_and_says_what_they_are_worth(tmp_path):
    text = drawn_text(5, 40, 200)
    (tmp_path / "raw.txt").write_text("\n".join(" ".join(s) for s in text))
    expected = brown_clusters(text, 6)
    out = tmp_path / "paths.txt"
    arguments = ("clusters", tmp_path / "raw.txt", "--clusters", 6, "--out", out, "--threads", 2)
    for _ in range(2):  # clusters may be written over
        done = run_command(*arguments, "--checkpoint", tmp_path / "c", "--resume")
        assert done.returncode == 0, done.stderr
        assert f"{expected.mutual_information:.4f} bits" in done.stdout
        assert out.read_text() == expected.text()
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")
    for other, message in (
        (notes, "is not a file of clusters"),
        (tmp_path / "raw.txt", "is read by this command"),
        (tmp_path / "no" / "where", "there is no folder"),
        (tmp_path, "is a folder"),
    ):
        done = run_command("clusters", tmp_path / "raw.txt", "--clusters", 6, "--out", other)
        assert done.returncode == 1
        assert message in done.stderr
    assert notes.read_text() == "mine"
    done = run_command("clusters", tmp_path / "raw.txt", "--out", out, "--resume")
    assert "--resume needs --checkpoint" in done.stderr


def test_clusters_know_how_many_they_are():
    assert WordClusters(["a", "b", "c"], ["0", "1", "0"], [1, 1, 1]).n_clusters == 2
