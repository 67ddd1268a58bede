"""Corpora: described, checked in a folder, downloaded from where they are (a loopback server)."""

from __future__ import annotations

import contextlib
import functools
import gzip
import http.server
import io
import lzma
import threading
import zipfile

import pytest

from command_line import called
from corpora_here import corpus_here
from dualstruct.datasets import corpora
from dualstruct.datasets.corpora import CORPORA, Corpus, Part, brown_parts, check, download
from dualstruct.errors import InputError

TRAIN = b"Ada PROPN\nsings VERB\n\nBo PROPN\nlistens VERB\n. PUNCT\n"
TEST = b"Cy\tPROPN\nleft\tVERB\n"


def part(data: bytes, **more) -> Part:
    return Part(*corpora.fingerprint(data), **more)


@contextlib.contextmanager
def served(folder):
    """The address of a server of the files in a folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def known(monkeypatch):
    """Corpora of two sentences and one."""
    monkeypatch.setattr(corpora, "CORPORA", {})

    def add(name, parts, **more):
        corpora.CORPORA[name] = Corpus("words", "free", "ask us", parts, **more)

    return add


def test_every_corpus_is_described_with_counts_and_hashes():
    for name, corpus in CORPORA.items():
        assert corpus.how, name
        assert corpus.licence, name
        assert {"train", "test"} <= corpus.parts.keys()
        for wanted in corpus.parts.values():
            assert wanted.tokens > wanted.sentences > 0
            assert len(wanted.sha256) == 64
            assert wanted.address is None or wanted.address.startswith("https://")
    assert CORPORA["conll2000"].parts["train"].sentences == 8936


def test_compression_separators_and_comments_do_not_change_the_hash():
    tabbed = TRAIN.replace(b" ", b"\t")
    assert corpora.fingerprint(TRAIN) == corpora.fingerprint(tabbed + b"\n\n")
    words = b"1\tAda\tAda\tPROPN\t_\t_\t2\tnsubj\t%s\n2\tsings\tsing\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    plain = corpora.fingerprint(words % b"_\t_")
    assert plain == corpora.fingerprint(b"# text = Ada sings\n" + words % b"2:nsubj\tGloss=x")
    assert plain[:2] == (1, 2)
    assert plain != corpora.fingerprint(words.replace(b"nsubj", b"obj") % b"_\t_")


def test_a_folder_is_checked_part_by_part(known, tmp_path):
    known("toy", {"train": part(TRAIN), "dev": part(TEST), "test": part(TEST)})
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy/train.txt.xz").write_bytes(lzma.compress(TRAIN))
    (tmp_path / "toy/test.txt.gz").write_bytes(gzip.compress(TEST.replace(b"left", b"stayed")))
    found = check("toy", tmp_path)
    assert found["train"].same
    assert found["dev"].path is None
    assert (found["test"].sentences, found["test"].same) == (1, False)
    said = called("datasets", "toy", "--data", tmp_path)
    assert "train: 2 sentences, 5 tokens, as it should be" in said
    assert "dev: missing (toy/dev.txt" in said
    assert "get it from: ask us" in said
    assert "test: 1 sentence, 2 tokens, but other words or labels" in said


def test_a_part_that_is_cut_short_is_noticed(known, tmp_path):
    known("toy", {"train": part(TRAIN)})
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy/train.txt").write_bytes(TRAIN[:20])
    said = called("datasets", "--data", tmp_path)
    assert "1 sentence, 2 tokens, where 2 sentences, 5 tokens are expected" in said


def test_files_and_members_of_archives_are_downloaded(known, tmp_path):
    pytest.importorskip("pooch", reason="missing: pip install pooch")
    site, data = tmp_path / "site", tmp_path / "data"
    site.mkdir()
    (site / "a.conll").write_bytes(TRAIN)
    with zipfile.ZipFile(site / "b.zip", "w") as archive:
        archive.writestr("b/test.txt", TEST)
    with served(site) as address:
        known(
            "toy",
            {
                "train": part(TRAIN, address=f"{address}/a.conll"),
                "test": part(TEST, address=f"{address}/b.zip", member="b/test.txt"),
            },
        )
        said = called("datasets", "toy", "--download", "--data", data)
    assert said.count("as it should be") == 2
    assert (data / "toy/train.txt").read_bytes() == TRAIN
    assert corpora.find_part(data, "toy", "test") == data / "toy/test.txt"


def test_a_download_that_fails_says_which_and_leaves_nothing(known, tmp_path):
    pytest.importorskip("pooch", reason="missing: pip install pooch")
    (tmp_path / "site").mkdir()
    with served(tmp_path / "site") as address:
        known("toy", {"train": part(TRAIN, address=f"{address}/gone.conll")})
        with pytest.raises(InputError, match=r"gone\.conll could not be downloaded"):
            download("toy", tmp_path / "data")
    assert not list((tmp_path / "data/toy").iterdir())


def test_what_no_program_may_download_is_refused_with_the_way_to_get_it(known, tmp_path):
    known("toy", {"train": part(TRAIN)})
    with pytest.raises(InputError, match="cannot be downloaded by a program: ask us"):
        download("toy", tmp_path)


def test_the_files_of_brown_are_split_nine_and_ten():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(1, 21):
            line = f"\n\n\tword{number:02}/nn-tl of/in 1/2/cd ./.\n"
            archive.writestr(f"brown/ca{number:02}", line)
        archive.writestr("brown/README", "no/nn text/nn")
    parts = brown_parts(zipfile.ZipFile(packed))
    assert corpora.fingerprint(parts["train"])[:2] == (16, 64)
    assert parts["dev"].split(b"\n")[:4] == [b"word09\tNN-TL", b"of\tIN", b"1/2\tCD", b".\t."]
    assert b"word20" in parts["test"]


def test_the_corpora_of_this_machine_are_the_published_ones():
    for name in ("wnut17", "usaddress"):
        for where, found in check(name, corpus_here(name).parent).items():
            assert found.same, (name, where)


def test_an_unknown_corpus_lists_those_that_there_are():
    with pytest.raises(InputError, match="no corpus 'conll2001'; choose one of conll2000, "):
        called("datasets", "conll2001")
    assert "dualstruct datasets wnut17 --download --data FOLDER" in called("datasets")
