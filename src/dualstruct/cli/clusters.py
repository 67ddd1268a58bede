"""The command ``dualstruct clusters``: clusters of words, for features."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dualstruct.cli.options import Json
from dualstruct.cli.output import print_json, say, tell, watching
from dualstruct.cli.parameters import Argument, Option
from dualstruct.errors import InputError

if TYPE_CHECKING:
    from dualstruct.clustering import WordClusters

#: Told where it stands.
Watch = Callable[[str], object]


#: What clusters of vectors do without, with what it is where it is not asked for.
OF_TEXT = {"min_count": 1, "restrict": None, "lowercase": False, "threads": 1}
OF_TEXT |= {"checkpoint": None, "resume": False}


def clusters(
    out: Annotated[Path, Option("--out", help="Where to write the clusters.")],
    raw: Annotated[
        list[str] | None,
        Argument(
            metavar="RAW",
            help="Text, one sentence per line, words separated by spaces (.gz and "
            ".xz as well); - is standard input.",
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        Option(help="Cluster the words of this file of word vectors by k-means instead."),
    ] = None,
    clusters: Annotated[int, Option(min=2, help="The number of clusters.")] = 1000,
    min_count: Annotated[
        int, Option(min=1, max=2**31 - 1, help="Leave out words seen fewer times than this.")
    ] = 1,
    restrict: Annotated[
        Path | None, Option(help="Cluster only the words that occur in this text.")
    ] = None,
    lowercase: Annotated[bool, Option("--lowercase", help="Convert words to lower case.")] = False,
    threads: Annotated[
        int, Option(min=1, help="The number of threads; it does not change the result.")
    ] = 1,
    checkpoint: Annotated[
        Path | None, Option(help="Save a checkpoint to this file every 30 seconds.")
    ] = None,
    resume: Annotated[
        bool, Option("--resume", help="Resume from the checkpoint, if it exists.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Cluster words by their neighbours in raw text or by vectors.

    Brown clusters are made of raw text; vectors are clustered by k-means. The output has one line
    per word, with its path, the word and its count (the format of Liang's program). Templates and
    parsers use it. After an interruption, --checkpoint FILE --resume resumes.
    """
    of_text = {
        "min_count": min_count,
        "restrict": restrict,
        "lowercase": lowercase,
        "threads": threads,
        "checkpoint": checkpoint,
        "resume": resume,
    }
    if (vectors is None) == (not raw):
        raise InputError("there is nothing to cluster: give a text (RAW...) or --vectors FILE")
    if resume and checkpoint is None:
        raise InputError("--resume needs --checkpoint, the file to resume from")
    _check_out(out, [*(raw or ()), *filter(None, [vectors, restrict, checkpoint])])
    started, cpu_started = time.perf_counter(), time.process_time()
    with watching("clusters") as watch:
        if vectors is None:
            found = _of_text(raw or [], clusters, of_text, watch)
        else:
            found = _of_vectors(vectors, clusters, of_text, watch)
    found.save(out)
    report = {
        "clusters": found.n_clusters,
        "words": len(found.words),
        "occurrences": sum(found.counts),
        "mutual_information": found.mutual_information,
        "wall_seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu_started,
        "out": str(out),
    }
    if as_json:
        print_json(report)
        return
    seen = f", seen {report['occurrences']:,} times," if vectors is None else ""
    say(f"{report['words']:,} words{seen} in {report['clusters']:,} clusters")
    if found.mutual_information is not None:
        say(f"mutual information of neighbouring clusters: {found.mutual_information:.4f} bits")
    say(f"wall time: {report['wall_seconds']:.1f} s, CPU {report['cpu_seconds']:.1f} s")
    say(f"clusters written to {out}")


def _of_text(
    raw: list[str], clusters: int, settings: dict[str, Any], watch: Watch | None
) -> WordClusters:
    from dualstruct.clustering import brown_clusters

    checkpoint = settings["checkpoint"]
    if settings["resume"] and not checkpoint.exists():
        tell(f"there is no {checkpoint} yet; starting anew")
    return brown_clusters(raw, clusters, **settings, watch=watch)


def _of_vectors(
    vectors: Path, clusters: int, settings: dict[str, Any], watch: Watch | None
) -> WordClusters:
    from dualstruct.clustering import vector_clusters

    for name, value in settings.items():
        if value != OF_TEXT[name]:
            raise InputError(
                f"--{name.replace('_', '-')} is for clusters of text, not of --vectors"
            )
    return vector_clusters(vectors, clusters, watch=watch)


def _check_out(out: Path, read: list[str | Path]) -> None:
    """Refuse at once what would cost the whole run, or write over something else than clusters."""
    from dualstruct.features.clusters import read_clusters

    if not out.parent.is_dir():
        raise InputError(f"{out} cannot be written: there is no folder {out.parent}")
    if out.is_dir():
        raise InputError(f"{out} is a folder; a file name is expected")
    if any(out.resolve() == Path(each).resolve() for each in read):
        raise InputError(f"{out} is read by this command and cannot be written by it as well")
    if out.is_file() and out.stat().st_size:
        try:
            read_clusters(out)
        except InputError:
            raise InputError(
                f"{out} exists and is not a file of clusters; choose another name"
            ) from None
