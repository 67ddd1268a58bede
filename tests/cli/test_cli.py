"""The command line as a user meets it: real processes, real files, exit codes."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import dualstruct, refusal, run
from dualstruct import SequenceTagger, read_columns, read_conllu, read_texts, write_columns
from dualstruct.cli.boundary import explain
from dualstruct.datasets import load_english
from dualstruct.losses import LOSSES
from dualstruct.printable import plural
from patience import HANGS

TRAIN, TEST = load_english("train"), load_english("test")


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    for name, part in (("train", TRAIN), ("test", TEST)):
        write_columns(folder / f"{name}.txt", [s.forms for s in part], [s.entities for s in part])
        rows = [list(zip(s.forms, s.upos, strict=True)) for s in part]
        write_columns(folder / f"{name}-pos.txt", rows, [s.entities for s in part], separator=" ")
    run("train", folder / "train.txt", "--model", folder / "ner.dstruct", "-C", 0.5)
    return folder


def test_train_reports_everything_as_one_json_object(files, tmp_path):
    model = tmp_path / "m.dstruct"
    out = run(
        "train", files / "train.txt", "--dev", files / "test.txt", "--model", model, "-C", 0.5,
        "--features", "ner", "--solver", "dcd", "--loss", "squared-hinge", "--json",
    )  # fmt: skip
    report = json.loads(out)
    assert out.count("\n") == 1
    assert report["stopped_by"] == "dev"
    assert 0 <= report["gap"] < 1
    assert report["primal"] >= report["dual"] > 0
    assert report["inference_calls"] == report["passes"] * report["sentences"]
    assert report["cuts"] > 0
    assert report["seconds"] > 0
    assert report["cpu_seconds"] > 0
    assert report["peak_memory_mb"] > 10
    assert set(report["seconds_split"]) == {"read", "features", "train"}
    assert report["dev_score"] > 0.8
    assert SequenceTagger.load(model).result_.passes == report["passes"]


def test_train_stops_as_it_is_told(files, tmp_path):
    def report(*options):
        model = tmp_path / "m.dstruct"
        return json.loads(run("train", files / "train.txt", "--model", model, "--json", *options))

    assert report("--passes", 2)["passes"] == 2
    by_gap = report("--gap", 0.05)
    assert by_gap["stopped_by"] == "gap"
    assert by_gap["gap"] <= 0.05
    endless = ["--loss", "hinge", "--solver", "pegasos"]
    assert report("--seconds", 0.05, *endless)["stopped_by"] == "seconds"
    assert report("--solver", "cpd", "--passes", 2)["stopped_by"] == "passes"
    assert report("--solver", "dcd-light", "--passes", 2, "--hash-bits", 12)["features"] == 4096


def test_the_same_seed_gives_the_same_model_whatever_the_process(files, tmp_path):
    """Processes of their own: each has other hashes of strings, and one is forked."""
    train = ["train", str(files / "train.txt"), "--passes", "3"]
    run(*train, "--seed", 1, "--model", tmp_path / "forked")
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        command = [sys.executable, "-m", "dualstruct", *train, "--seed", str(seed)]
        hashes = {**os.environ, "PYTHONHASHSEED": str(ord(name))}
        command += ["--model", str(tmp_path / name)]
        subprocess.run(command, env=hashes, check=True, capture_output=True, timeout=HANGS)
    models = {
        name: SequenceTagger.load(tmp_path / name).result_.w.array.tobytes()
        for name in ("forked", "a", "b", "c")
    }
    assert models["forked"] == models["a"] == models["b"] != models["c"]


def test_training_says_in_words_what_it_did(files, tmp_path):
    out = run("train", files / "train.txt", "--model", tmp_path / "m", "--passes", 3)
    assert "passes 3" in out
    assert "stopped by passes" in out
    assert "model written to" in out


def test_evaluate_prints_conllevals_lines_or_json(files):
    report = json.loads(run("evaluate", files / "ner.dstruct", files / "test.txt", "--json"))
    assert report["f1"] > 0.8
    assert report["accuracy"] > 0.95
    assert report["tokens_per_second"] > 0
    assert set(report["per_type"]) == {"PER", "LOC", "ORG", "DATE", "QTY"}
    assert report["tokens"] == sum(len(s.forms) for s in TEST)
    table = run("evaluate", files / "ner.dstruct", files / "test.txt")
    assert f"FB1:  {100 * report['f1']:.2f}" in table


def test_predict_adds_a_column_and_reads_standard_input(files):
    text = "Ada\nlives\nin\nLisbon\n\nHello\n"
    out = run("predict", files / "ner.dstruct", stdin=text)
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[0] for row in rows] == ["Ada", "lives", "in", "Lisbon", "", "Hello", ""]
    assert rows[3][1] == "B-LOC"
    assert out == run(
        "predict", files / "ner.dstruct", "--text", stdin="Ada lives in Lisbon\nHello\n"
    )


def test_predict_ignores_a_label_column_that_is_there(files):
    out = run("predict", files / "ner.dstruct", files / "test.txt")
    words = [word for s in TEST for word in [*s.forms, ""]]
    assert [line.split("\t")[0] for line in out.splitlines()] == words
    assert all(line.count("\t") == 1 for line in out.splitlines() if line)


def test_predict_gives_k_best_and_marginals(files):
    text = "Ada lives in Lisbon\n"
    out = run("predict", files / "ner.dstruct", "--text", "--k-best", 3, "--marginals", stdin=text)
    blocks = out.strip().split("\n\n")
    assert [block.splitlines()[0].split()[:2] for block in blocks] == [
        ["#", str(k)] for k in (1, 2, 3)
    ]
    scores = [float(block.splitlines()[0].split()[2]) for block in blocks]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= float(line.split("\t")[2]) <= 1 for line in blocks[0].splitlines()[1:])
    [row] = json.loads(
        run(
            "predict",
            files / "ner.dstruct",
            "--text",
            "--k-best",
            3,
            "--marginals",
            "--json",
            stdin=text,
        )
    )["sentences"]
    assert row["tokens"] == text.split()
    assert row["k_best"][0]["labels"] == row["labels"]
    assert len(row["marginals"]) == 4


def test_columns_beside_the_word_can_be_used(files, tmp_path):
    templates = tmp_path / "mine.txt"
    templates.write_text("columns word tag\nbias\nword[-1..1]\ntag[-1..1]\ntag[-1] & tag[0]\n")
    model = tmp_path / "m.dstruct"
    run("train", files / "train-pos.txt", "--features", templates, "--model", model, "-C", 0.5)
    assert json.loads(run("evaluate", model, files / "test-pos.txt", "--json"))["f1"] > 0.5
    out = run("predict", model, files / "test-pos.txt")
    assert all(line.count("\t") == 2 for line in out.splitlines() if line)
    message = refusal("predict", model, stdin="one\ncolumn\n")
    assert (
        "standard input has 1 column, but the model was trained with columns 0, 1 of 3" in message
    )


def test_another_label_column_can_be_chosen(files, tmp_path):
    model = tmp_path / "m.dstruct"
    run(
        "train", files / "train-pos.txt", "--label-column", 1, "--model", model, "--features", "pos"
    )
    report = run("evaluate", model, files / "test-pos.txt", "--label-column", 1, "--json")
    assert json.loads(report)["accuracy"] > 0.85


def test_compressed_files_are_read_as_they_are(files, tmp_path):
    plain = (files / "train.txt").read_bytes()
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress(plain))
    (tmp_path / "train.txt.xz").write_bytes(lzma.compress(plain))
    arrays = []
    for name in ("train.txt.gz", "train.txt.xz"):
        run("train", tmp_path / name, "--model", tmp_path / "m", "--passes", 1)
        arrays.append(SequenceTagger.load(tmp_path / "m").result_.w.array.tobytes())
    assert arrays[0] == arrays[1]


def test_bilou_learning_comes_back_as_iob2(files, tmp_path):
    model = tmp_path / "m.dstruct"
    run("train", files / "train.txt", "--model", model, "--scheme", "bilou", "-C", 0.5)
    out = run("predict", model, files / "test.txt")
    assert {line.split("\t")[1][:2] for line in out.splitlines() if line} == {"O", "B-", "I-"}
    assert json.loads(run("evaluate", model, files / "test.txt", "--json"))["f1"] > 0.8


def test_inspect_names_the_strongest_weights(files):
    report = json.loads(run("inspect", files / "ner.dstruct", "--top", 4, "--json"))
    assert len(report["weights"]) == len(report["transitions"]) == 4
    sizes = [abs(row["weight"]) for row in report["weights"]]
    assert sizes == sorted(sizes, reverse=True)
    out = run("inspect", files / "ner.dstruct", "--top", 4, "--label", "B-LOC")
    assert "B-LOC" in out


def test_demo_learns_scores_and_tags():
    out = run("demo")
    assert "Learning curve" in out
    assert "FB1" in out
    assert "Lisbon" in out


def test_demo_writes_files_to_practise_on_and_overwrites_none(tmp_path):
    run("demo", "--files", tmp_path)
    texts = read_texts(tmp_path / "test.jsonl")
    columns = read_columns(tmp_path / "test.txt")
    assert len(texts.tokens) == len(columns.tokens) == len(read_conllu(tmp_path / "test.conllu"))
    assert "already exists" in refusal("demo", "--files", tmp_path)


def test_help_is_there_for_every_command():
    for command in ("train", "predict", "evaluate", "inspect", "demo"):
        assert "Usage" in run(command, "--help")


def test_ctrl_c_writes_the_model_learned_so_far(files, tmp_path):
    model = tmp_path / "m.dstruct"
    large, state = tmp_path / "large.txt", tmp_path / "state"
    large.write_text(30 * (files / "train.txt").read_text(encoding="utf-8"), encoding="utf-8")
    command = [
        sys.executable, "-m", "dualstruct", "train", str(large),
        "--model", str(model), "--passes", "1000000", "--json", "--checkpoint", str(state),
        "--loss", "hinge", "--solver", "pegasos",  # which never finds that it is done
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + HANGS
    while not state.exists() and time.monotonic() < deadline:  # written once training is on
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=HANGS)
    assert process.returncode == 0, error
    assert json.loads(out)["stopped_by"] == "interrupt"
    assert SequenceTagger.load(model).predict([["Ada"]])


def test_a_killed_run_resumes_to_the_same_model(files, tmp_path):
    common = ["train", files / "train.txt", "--passes", 30, "--solver", "dcd"]
    run(*common, "--model", tmp_path / "whole")
    saved = ["--checkpoint", tmp_path / "state", "--model", tmp_path / "parts"]
    run(*["train", files / "train.txt", "--passes", 13, "--solver", "dcd"], *saved)
    run(*common, *saved, "--resume")
    whole, parts = (SequenceTagger.load(tmp_path / name) for name in ("whole", "parts"))
    assert whole.result_.w.array.tobytes() == parts.result_.w.array.tobytes()


BAD_FILES = {
    "ragged": (b"a X O\nb O\n", "bad.txt, line 2"),
    "ragged later": (b"a O\n\nb O\nc\n", "bad.txt, line 4"),
    "empty": (b"", "bad.txt"),
    "only blank lines": (b"\n\n\n", "bad.txt"),
    "not UTF-8": (b"a O\n\xff\xfe O\n", "bad.txt, line 2"),
    "one column": (b"a\nb\n", "bad.txt"),
    "empty label": (b"a\tO\nb\t\n", "bad.txt, line 2: column 2 is empty"),
    "empty word": (b"a\tO\n\tO\n", "bad.txt, line 2: column 1 is empty"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused_with_its_place(name, files, tmp_path):
    content, place = BAD_FILES[name]
    bad = tmp_path / "bad.txt"
    bad.write_bytes(content)
    keep = tmp_path / "keep.dstruct"
    keep.write_bytes((files / "ner.dstruct").read_bytes())
    before = keep.read_bytes()
    assert place in refusal("train", bad, "--model", keep)
    assert place in refusal("train", files / "train.txt", "--dev", bad, "--model", keep)
    assert place in refusal("evaluate", keep, bad)
    assert keep.read_bytes() == before


def test_a_label_never_seen_is_named_with_its_line(files, tmp_path):
    test = tmp_path / "test.txt"
    test.write_text("Ada B-PER\n\nbarked O\nRex B-DOG\n")
    done = dualstruct("evaluate", files / "ner.dstruct", test, "--json")
    assert done.returncode == 0
    assert "test.txt, line 4: the label 'B-DOG' was never seen in training" in done.stderr
    assert json.loads(done.stdout)["per_type"]["DOG"]["support"] == 1
    message = refusal("evaluate", files / "ner.dstruct", test, "--unseen-labels", "error")
    assert message == "test.txt, line 4: the label 'B-DOG' was never seen in training"


def test_contradictory_constraints_name_sentence_and_token(files, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_text("a O\nb I-PER\n")
    message = refusal("train", bad, "--model", tmp_path / "m", "--constraints", "iob2")
    assert "sentence 1, token 2" in message
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-C", "-1"], "C is -1.0"),
        (["--loss", "hinges"], "hinges"),
        (["--solver", "adam"], "unknown solver 'adam'"),
        (["--passes", "0"], "passes is 0"),
        (["--gap", "-1"], "gap is -1.0; it must be between 0 and 1"),
        (["--gap", "1"], "gap is 1.0; it must be between 0 and 1"),
        (["--hash-bits", "99"], "hash_bits"),
        (["--features", "missing.tpl"], "missing.tpl"),
        (["--constraints", "iob7"], "iob7"),
        (["--scheme", "iob7"], "iob7"),
        (["--label-column", "7"], "no column 7"),
        (["--dev", "missing.txt"], "missing.txt"),
    ],
)
def test_impossible_options_are_refused_in_one_sentence(options, message, files, tmp_path):
    assert message in refusal("train", files / "train.txt", "--model", tmp_path / "m", *options)
    assert os.listdir(tmp_path) == []


def test_a_template_with_an_error_names_line_and_column(files, tmp_path):
    templates = tmp_path / "mine.txt"
    templates.write_text("bias\nword[0] & shape(word[0]\n")
    message = refusal(
        "train", files / "train.txt", "--features", templates, "--model", tmp_path / "m"
    )
    assert "mine.txt, line 2, column" in message


def test_models_that_cannot_be_read_or_written_are_explained(files, tmp_path):
    good = (files / "ner.dstruct").read_bytes()
    for content, message in (
        (b"\0no model", "not a dualstruct model file"),
        (good[: len(good) // 3], "damaged"),
        (b"", "damaged"),
    ):
        (tmp_path / "m").write_bytes(content)
        for command in (["predict"], ["inspect"], ["evaluate"]):
            rest = [files / "test.txt"] if command == ["evaluate"] else []
            said = refusal(*command, tmp_path / "m", *rest, stdin="a\n")
            assert message in said
            assert "m" in said
    assert "does not exist" in refusal("inspect", tmp_path / "nothing")
    assert "no folder" in refusal("train", files / "train.txt", "--model", tmp_path / "no" / "m")
    assert "is a folder" in refusal("train", files / "train.txt", "--model", tmp_path)
    assert "no such file" in refusal("train", tmp_path / "nothing.txt", "--model", tmp_path / "x")


def test_input_data_and_foreign_files_are_never_overwritten(files, tmp_path):
    data = tmp_path / "data.txt"
    data.write_bytes((files / "train.txt").read_bytes())
    before = data.read_bytes()
    for option in ("--model", "--checkpoint"):
        model = [] if option == "--model" else ["--model", tmp_path / "m"]
        message = refusal("train", data, option, data, *model)
        assert "not a file written by dualstruct" in message
    assert data.read_bytes() == before
    assert "is not a regular file" in refusal("train", data, "--model", "/dev/null")
    run("train", data, "--model", tmp_path / "m", "--passes", 1)
    run("train", data, "--model", tmp_path / "m", "--passes", 1)  # our own may be replaced


def test_a_model_goes_on_from_another_one(files, tmp_path):
    more = tmp_path / "more.txt"
    more.write_text("zorkan\tB-DRAGON\nslept\tO\n\nwe\tO\nsaw\tO\nzorkan\tB-DRAGON\n")
    run("train", more, "--start", files / "ner.dstruct", "--model", tmp_path / "m", "-C", 1)
    out = run("predict", tmp_path / "m", "--text", stdin="we saw zorkan in Lisbon")
    assert "zorkan\tB-DRAGON" in out
    assert "Lisbon\tB-LOC" in out


def test_mistaken_files_are_recognised(files, tmp_path):
    from dualstruct.datasets import english_path

    assert "looks like CoNLL-U" in refusal("train", english_path(), "--model", tmp_path / "m")
    plain = tmp_path / "plain.txt"
    lines = english_path().read_text(encoding="utf-8").splitlines()
    plain.write_text("\n".join(line for line in lines if not line.startswith("#")))
    assert "looks like CoNLL-U" in refusal("train", plain, "--model", tmp_path / "m")
    run("train", plain, "--columns", 1, "--label-column", 3, "--model", tmp_path / "m")
    model = files / "ner.dstruct"
    assert "is a dualstruct model" in refusal("train", model, "--model", tmp_path / "m")
    assert "is a dualstruct model" in refusal("predict", model, model)
    assert "is a text file, not a model" in refusal("inspect", files / "train.txt")


def test_a_flipped_bit_in_a_model_is_noticed(files, tmp_path):
    content = bytearray((files / "ner.dstruct").read_bytes())
    content[len(content) // 2] ^= 4
    (tmp_path / "m").write_bytes(content)
    assert "checksum does not match" in refusal("inspect", tmp_path / "m")


def test_the_version_is_told():
    assert run("--version").startswith("dualstruct 0.")


def test_options_that_would_do_nothing_are_refused(files, tmp_path):
    train = ["train", files / "train.txt", "--model", tmp_path / "m"]
    assert "--resume needs --checkpoint" in refusal(*train, "--resume")
    assert "no feature is left" in refusal(*train, "--min-count", 100000)
    words = ["train", files / "train-pos.txt", "--columns", 0, "--label-column", 1]
    assert "mark no spans" in refusal(*words, "--model", tmp_path / "m", "--scheme", "bilou")


def test_a_reader_that_stops_early_is_no_error(files):
    predict = f"{sys.executable} -m dualstruct predict"
    command = f"{predict} {files / 'ner.dstruct'} {files / 'train.txt'} | head -2"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 2


def test_train_takes_template_files_of_other_programs(files, tmp_path):
    template, model = tmp_path / "template", tmp_path / "model"
    template.write_text("# words\nU00:%x[-1,0]\nU01:%x[0,0]\n\nB01:%x[0,1]\nB\n")
    arguments = ("train", files / "train-pos.txt", "--features", template, "--model", model)
    assert json.loads(run(*arguments, "--json"))["features"] > 0
    assert json.loads(run("inspect", model, "--json"))["pairs"][0]["feature"].startswith("B01:")
    assert "B01:NOUN" in run("inspect", model, "--top", 100)
    assert "_B-1" in str(run("inspect", model, "--top", 10**6))
    run(*arguments, "--dialect", "wapiti")
    assert "u00:_x-1" in run("inspect", model, "--top", 10**6)
    template.write_text("U00:%x[-1,0]\nU01:%x[0;0]\n")
    assert refusal(*arguments) == 'template, line 2, column 9: "," is expected, not ";"'
    assert "not one of auto, dualstruct" in refusal(*arguments, "--dialect", "crfpp")


def test_a_label_that_is_not_there_is_answered_by_those_that_are(files):
    message = refusal("inspect", files / "ner.dstruct", "--label", "B-XYZ")
    assert "no label 'B-XYZ'" in message
    assert all(label in message for label in SequenceTagger.load(files / "ner.dstruct").classes_)


@pytest.mark.parametrize("spelling", ["squared_hinge", "squared-hinge"])
def test_both_spellings_of_a_loss_are_taken(files, tmp_path, spelling):
    run("train", files / "train.txt", "--model", tmp_path / "m", "--passes", 1, "--loss", spelling)


def test_help_and_errors_spell_losses_alike(files, tmp_path):
    message = refusal("train", files / "train.txt", "--model", tmp_path / "m", "--loss", "zero")
    told = run("train", "--help")
    for name in LOSSES:
        assert name in message
        assert name in told
    assert not [name for name in LOSSES if "_" in name and name.replace("_", "-") in told]


def test_a_column_of_words_taken_for_labels_is_warned_of(files, tmp_path):
    text = "".join(f"O\tword{k}\n" for k in range(40))
    (tmp_path / "words.txt").write_text(text)
    done = dualstruct("train", tmp_path / "words.txt", "--model", tmp_path / "m", "--passes", 1)
    assert done.returncode == 0
    assert "40 labels for 40 tokens" in done.stderr
    assert "label_column" in done.stderr


def test_a_mistake_of_ours_names_its_kind_and_line():
    try:
        plural(object(), "sentence")
    except TypeError as problem:
        code, sentence = explain(problem)
    assert code == 70
    place = r"\(printable\.py, line \d+\)"
    assert re.match(rf"a mistake of dualstruct's own, TypeError: .+ {place};", sentence)
    _, sentence = explain(AssertionError())
    assert sentence.startswith(
        "a mistake of dualstruct's own, AssertionError (outside of the package);"
    )
