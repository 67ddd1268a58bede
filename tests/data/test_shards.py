"""Files elsewhere: found, read and learned from through a real S3 server on this machine."""

from __future__ import annotations

import gzip
import socket
import sys

import pytest

from dualstruct import InputError, SequenceTagger, read_columns
from dualstruct.data.opening import read_bytes
from dualstruct.data.shards import find_shards

TEXT = b"Ada B-PER\nsings O\n\nBo B-PER\nleft O\nRome B-LOC\n\n"


@pytest.fixture(scope="module")
def bucket():
    """An empty bucket of moto's server, with fsspec pointed to it."""
    pytest.importorskip("s3fs")
    server_of = pytest.importorskip("moto.server").ThreadedMotoServer
    import fsspec
    from fsspec.config import conf

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = server_of(ip_address="127.0.0.1", port=port, verbose=False)
    server.start()
    conf["s3"] = {"key": "k", "secret": "s", "endpoint_url": f"http://127.0.0.1:{port}"}
    files = fsspec.filesystem("s3")
    files.mkdir("bucket")
    yield files
    server.stop()
    conf.pop("s3")


@pytest.fixture
def parts(bucket):
    """Three parts, of which one is compressed; and something else."""
    bucket.pipe("bucket/parts/0.txt", TEXT)
    bucket.pipe("bucket/parts/1.txt.gz", gzip.compress(TEXT))
    bucket.pipe("bucket/parts/2.txt", TEXT * 50)
    bucket.pipe("bucket/other/a.txt", b"no\n")
    yield "s3://bucket/parts"
    bucket.rm("bucket/parts", recursive=True)


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


def test_folders_and_patterns_elsewhere_are_found(parts):
    names = [shard.name for shard in find_shards([parts])]
    assert names == [f"{parts}/0.txt", f"{parts}/1.txt.gz", f"{parts}/2.txt"]
    assert [shard.name for shard in find_shards([f"{parts}/*.gz"])] == [f"{parts}/1.txt.gz"]
    [shard] = find_shards([f"{parts}/0.txt"])
    assert (shard.size, bool(shard.version)) == (len(TEXT), True)


def test_files_elsewhere_are_read_and_unpacked_as_those_here(parts):
    assert read_bytes(f"{parts}/1.txt.gz") == TEXT
    assert list(read_columns(f"{parts}/0.txt").labels) == [["B-PER", "O"], ["B-PER", "O", "B-LOC"]]


@pytest.mark.parametrize("workers", [None, 2])
def test_a_tagger_learns_from_a_bucket(workers, parts, tmp_path):
    engine = {} if workers is None else {"engine": "local", "workers": workers}
    tagger = SequenceTagger("pos", hash_bits=10, passes=3, **engine).fit_large(parts, tmp_path)
    assert tagger.predict([["Bo", "left", "Rome"]]) == [["B-PER", "O", "B-LOC"]]


def test_an_object_that_changes_meanwhile_is_noticed(parts, bucket):
    [shard] = find_shards([f"{parts}/0.txt"])
    shard.check()
    bucket.pipe("bucket/parts/0.txt", TEXT.replace(b"Ada", b"Eve"))
    with pytest.raises(InputError, match=r"parts/0\.txt: the file changed while it was read"):
        shard.check()


def test_what_is_not_there_is_named(parts, bucket, tmp_path):
    with pytest.raises(InputError, match=r"s3://bucket/no\.txt: there is no such file"):
        read_bytes("s3://bucket/no.txt")
    with pytest.raises(InputError, match=r"s3://nowhere/\*: "):
        find_shards(["s3://nowhere/*"])
    with pytest.raises(InputError, match=r"nothing://a: .*"):
        find_shards(["nothing://a"])


def test_a_lost_bucket_ends_training_with_its_name(parts, bucket, tmp_path):
    tagger = SequenceTagger("pos", hash_bits=10, passes=2)
    shards = find_shards([parts])
    bucket.rm("bucket/parts/2.txt")
    from dualstruct.tasks.tagging import large

    source = large.StreamedFiles(shards, large.columns_reader(-1, None), tmp_path)
    with pytest.raises(InputError, match=r"parts/2\.txt: there is no such file"):
        tagger._fit(source, None, None, ())
    assert not list(tmp_path.iterdir())


def test_without_fsspec_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InputError, match=r"s3:// needs fsspec: pip install 'dualstruct\[remote\]'"):
        find_shards(["s3://bucket/a.txt"])
