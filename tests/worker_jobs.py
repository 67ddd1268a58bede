"""A program that trains estimators on an engine, for tests that start real processes.

python worker_jobs.py ENGINE FOLDER
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from dualstruct import (
    DependencyParser,
    InputError,
    Multiclass,
    ParsingPipeline,
    SequenceTagger,
    StructuredSVM,
    read_columns,
    read_conllu,
)


def digest(estimator) -> str:
    """Of a model as its file would hold it: one that was sent lacks features that weigh nothing."""
    metadata, arrays = estimator.model_.state()
    known = hashlib.sha256(json.dumps(metadata).encode())
    for name in sorted(arrays):
        known.update(arrays[name].tobytes())
    return known.hexdigest()


def train(engine: str, folder: Path) -> dict:
    """What models come to, from files and from memory, on two workers."""
    file = folder / "train.txt"
    run = {"engine": engine, "workers": 2}
    tagger = SequenceTagger(passes=3, verbose=engine == "ray", **run).fit([file], dev=file)
    found = {"files": [tagger.result_.primal, tagger.result_.dev_score, digest(tagger)]}
    parser = DependencyParser(passes=2, hash_bits=12, **run).fit(folder / "trees.conllu")
    found["trees"] = [parser.result_.primal, parser.lifted_, digest(parser)]
    pipeline = ParsingPipeline(
        ["upos"],
        folds=2,
        tagger=SequenceTagger(passes=2, **run),
        parser=DependencyParser(passes=1, hash_bits=12, **run),
    ).fit(read_conllu(folder / "trees.conllu"))
    found["pipeline"] = [digest(pipeline.taggers_["upos"]), digest(pipeline.parser_)]
    X = [[float(i % 7), float(i % 3)] for i in range(12)]
    svm = StructuredSVM(Multiclass(), passes=3, **run).fit(X, ["ab"[i % 2] for i in range(12)])
    found["memory"] = [svm.result_.primal, svm.predict(X)]
    if engine != "ray":  # its workers take long to start
        data = read_columns(file)
        tagger = SequenceTagger(passes=3, **run)
        tagger.fit(data.tokens, data.labels, dev=(data.tokens, data.labels))
        assert digest(tagger) == found["files"][-1]
        saved = {"checkpoint": folder / f"run-{engine}", **run}
        SequenceTagger(passes=1, **saved).fit(file, dev=file)
        tagger = SequenceTagger(passes=3, resume=True, **saved).fit(file, dev=file)
        assert digest(tagger) == found["files"][-1]
        return {} if parser.rank_ else found
    import ray

    ray.shutdown()
    try:
        SequenceTagger(**run, address="127.0.0.1:1").fit(file)
    except InputError as error:
        found["unreachable"] = str(error)
    return found


if __name__ == "__main__":
    found = train(sys.argv[1], Path(sys.argv[2]))
    if found:
        print(json.dumps(found))
