"""The command on streams that misbehave: one sentence, a proper exit code, never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dualstruct import (
    DependencyParser,
    ParsingPipeline,
    SequenceTagger,
    cli,
    write_columns,
    write_conllu,
)
from dualstruct.compat.conversion import crfsuite_from_tagger
from dualstruct.data.crfsuite import write_crfsuite
from dualstruct.datasets import load_english

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs fork and /dev/full")

PART = load_english("train")[::8]
WORDS, LABELS = [s.forms for s in PART], [s.entities for s in PART]

#: Each command with arguments for which it has something to say; {} is the folder of the files.
COMMANDS = {
    "train": ["{}/names.txt", "--model", "{}/new.dstruct", "--passes", "1"],
    "predict": ["{}/tagger.dstruct", "{}/names.txt"],
    "evaluate": ["{}/tagger.dstruct", "{}/names.txt"],
    "explain": ["{}/tagger.dstruct", "{}/names.txt", "--sentence", "1"],
    "calibrate": ["{}/calibrated.dstruct", "{}/names.txt"],
    "suspects": ["{}/tagger.dstruct", "{}/names.txt", "--folds", "0"],
    "draw": ["{}/trees.conllu", "--sentence", "1"],
    "inspect": ["{}/tagger.dstruct"],
    "convert": ["{}/model.crfsuite", "{}/converted.dstruct"],
    "serve": ["{}/tagger.dstruct", "--port", "0", "--no-browser"],
    "demo": [],
    "experiment": [],
    "datasets": [],
}
PLAIN = {name: [name, *arguments] for name, arguments in COMMANDS.items()}
#: And other ways through the same commands.
WAYS = {
    **PLAIN,
    "version": ["--version"],
    "help": ["train", "--help"],
    "train json": ["train", *COMMANDS["train"], "--json"],
    "train trees": [
        "train", "{}/trees.conllu", "--task", "parse", "--model", "{}/p", "--passes", "1",
        "--hash-bits", "12",
    ],
    "predict json": ["predict", *COMMANDS["predict"], "--json"],
    "predict k best": ["predict", *COMMANDS["predict"], "--k-best", "2"],
    "predict trees": ["predict", "{}/parser.dstruct", "{}/trees.conllu"],
    "predict trees json": ["predict", "{}/parser.dstruct", "{}/trees.conllu", "--json"],
    "predict words": ["predict", "{}/pipeline.dstruct", "{}/words.txt", "--text"],
    "evaluate json": ["evaluate", *COMMANDS["evaluate"], "--json"],
    "evaluate trees": ["evaluate", "{}/parser.dstruct", "{}/trees.conllu"],
    "evaluate two files": ["evaluate", "{}/trees.conllu", "{}/trees.conllu"],
    "explain html": ["explain", *COMMANDS["explain"], "--format", "html"],
    "explain json": ["explain", *COMMANDS["explain"], "--format", "json"],
    "explain trees": ["explain", "{}/parser.dstruct", "{}/trees.conllu", "--sentence", "1"],
    "suspects tsv": ["suspects", *COMMANDS["suspects"], "--format", "tsv"],
    "suspects json": ["suspects", *COMMANDS["suspects"], "--format", "json"],
    "inspect json": ["inspect", *COMMANDS["inspect"], "--json"],
    "inspect trees": ["inspect", "{}/parser.dstruct"],
    "svg": ["draw", "{}/trees.conllu", "--svg", "{}/tree.svg"],
}  # fmt: skip
#: Ways that read standard input.
READING = {
    "train": ["train", "-", "--model", "{}/new.dstruct"],
    "train trees": ["train", "-", "--task", "parse", "--model", "{}/new.dstruct"],
    "predict": ["predict", "{}/tagger.dstruct"],
    "predict json": ["predict", "{}/tagger.dstruct", "--json"],
    "predict text": ["predict", "{}/tagger.dstruct", "--text"],
    "predict trees": ["predict", "{}/parser.dstruct"],
    "predict words": ["predict", "{}/pipeline.dstruct"],
    "predict lines": ["predict", "{}/pipeline.dstruct", "--text"],
    "evaluate": ["evaluate", "{}/tagger.dstruct", "-"],
    "evaluate trees": ["evaluate", "{}/parser.dstruct", "-"],
    "explain": ["explain", "{}/tagger.dstruct"],
    "explain trees": ["explain", "{}/parser.dstruct"],
    "calibrate": ["calibrate", "{}/tagger.dstruct", "-"],
    "suspects": ["suspects", "{}/tagger.dstruct", "-"],
    "draw": ["draw", "-"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Models and files with letters that ASCII lacks."""
    made = tmp_path_factory.mktemp("streams")
    words = [[f"{word}é" if t == 0 else word for t, word in enumerate(s)] for s in WORDS]
    labels = [[label.replace("LOC", "ŁOC") for label in s] for s in LABELS]
    write_columns(made / "names.txt", words, labels)
    (made / "words.txt").write_text("Zoé sings .\n", encoding="utf-8")
    trees = load_english("train")[::24]
    write_conllu(
        made / "trees.conllu", trees.replace(forms=[[f"{w}é" for w in s] for s in trees.forms])
    )
    tagger = SequenceTagger(features="ner", loss="crf", passes=2).fit(words, labels)
    tagger.save(made / "tagger.dstruct")
    tagger.save(made / "calibrated.dstruct")
    by_words = SequenceTagger(features="word[0]", passes=1).fit(words, labels)
    write_crfsuite(made / "model.crfsuite", crfsuite_from_tagger(by_words))
    DependencyParser(hash_bits=12, passes=1).fit(trees).save(made / "parser.dstruct")
    quick = DependencyParser(hash_bits=12, passes=1)
    ParsingPipeline(parser=quick, folds=2).fit(trees).save(made / "pipeline.dstruct")
    return made


def outcomes(
    folder: Path, ways: dict[str, list[str]], **streams
) -> dict[str, tuple[int, str, str]]:
    """Exit code, output and messages of each way."""
    cases = [[[part.replace("{}", str(folder)) for part in way], streams] for way in ways.values()]
    (folder / "cases.json").write_text(json.dumps(cases))
    jobs = Path(__file__).with_name("stream_jobs.py")
    command = [sys.executable, str(jobs), str(folder / "cases.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    return dict(zip(ways, map(tuple, json.loads(done.stdout)), strict=True))


def without_server(ways: dict[str, list[str]]) -> dict[str, list[str]]:
    """The server goes on for ever where nothing is wrong."""
    return {name: way for name, way in ways.items() if name != "serve"}


def test_every_command_is_tried():
    assert set(COMMANDS) == {
        command.name or command.callback.__name__ for command in cli.app.registered_commands
    }


@pytest.mark.parametrize(
    ("device", "code", "sentence"),
    [
        ("/dev/full", 1, "dualstruct: standard output: No space left on device\n"),
        ("closed", 1, "dualstruct: standard output: Bad file descriptor\n"),
        ("broken", 0, ""),
    ],
)
def test_output_that_cannot_be_written_is_one_sentence(folder, device, code, sentence):
    ways = WAYS if device == "/dev/full" else PLAIN
    found = outcomes(folder, ways, stdout=device)
    assert {name: (each[0], each[2]) for name, each in found.items()} == dict.fromkeys(
        ways, (code, sentence)
    )


@pytest.mark.parametrize("device", ["/dev/full", "closed", "broken"])
def test_without_standard_error_commands_work_and_fail_as_with_it(folder, device):
    ways = without_server(PLAIN) | {"missing file": ["inspect", "{}/nosuch"], "usage": ["train"]}
    expected = {"missing file": 1, "usage": 2}
    found = outcomes(folder, ways, stderr=device)
    assert {name: each[0] for name, each in found.items()} == {
        name: expected.get(name, 0) for name in ways
    }
    assert all(each[1] for name, each in found.items() if name not in expected)


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("closed", "dualstruct: standard input is closed; name a file instead\n"),
        ("/proc/self/mem", "dualstruct: standard input: Input/output error\n"),
    ],
)
def test_input_that_cannot_be_read_is_one_sentence(folder, device, sentence):
    found = outcomes(folder, READING, stdin=device)
    assert found == dict.fromkeys(READING, (1, "", sentence))


def test_without_standard_input_commands_that_need_none_work(folder):
    ways = without_server(PLAIN)
    found = outcomes(folder, ways, stdin="closed")
    assert {name: each[0] for name, each in found.items()} == dict.fromkeys(ways, 0)


def test_with_no_streams_at_all_commands_neither_hang_nor_write_into_files(folder):
    before = (folder / "names.txt").read_bytes()
    closed = dict.fromkeys(("stdin", "stdout", "stderr"), "closed")
    found = outcomes(folder, PLAIN, **closed)
    assert {name: each[0] for name, each in found.items()} == dict.fromkeys(PLAIN, 1)
    assert (folder / "names.txt").read_bytes() == before
    assert SequenceTagger.load(folder / "new.dstruct").result_.passes == 1


def test_an_encoding_without_the_letters_gets_escapes(folder):
    ways = without_server(WAYS)
    ascii_ones, others = outcomes(folder, ways, encoding="ascii"), outcomes(folder, ways)
    assert {name: each[0] for name, each in ascii_ones.items()} == dict.fromkeys(ways, 0)
    for name, (_, output, messages) in ascii_ones.items():
        if name.startswith("predict trees") or name == "predict words":
            continue  # CoNLL-U is UTF-8 whatever the terminal takes
        assert output.isascii(), name
        if "json" in name:
            continue  # it has escapes of its own
        assert ("written as escapes" in messages) == ("\\x" in output or "\\u" in output), name
    for name in ("predict json", "evaluate json", "explain json", "suspects json", "inspect json"):
        assert _without_times(ascii_ones[name][1]) == _without_times(others[name][1]), name
    assert "é\t" in others["predict"][1]
    assert "\\xe9\t" in ascii_ones["predict"][1]


def _without_times(text: str):
    found = json.loads(text)
    for name in ("seconds", "tokens_per_second"):
        found.pop(name, None)
    return found
