"""Runs the code and the commands of pages of Markdown, and compares what they print.

A block runs if its language is one of ``RUN``; blocks of a page share a folder, and blocks of
Python their names. What a block of Python or JavaScript prints is in the block of ``text`` behind
it. A block of ``console`` has commands behind ``$`` and what they print, a block of ``sh`` commands
alone. ``...`` stands for what differs from run to run.

``pip install`` and ``make`` are not run: their extras and targets must be there. A block that
cannot run says why, in a line before it: ``<!-- not run: needs a cluster -->``.

Files that a page does not make are those of ``dualstruct demo --files``, or of ``MADE``.
"""

from __future__ import annotations

import atexit
import contextlib
import doctest
import gzip
import io
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

from commands import run_command
from dualstruct.practice import write_files
from patience import HANGS

ROOT = Path(__file__).parents[1]
RUN = ("python", "js", "console", "sh")
TEMPLATE = "dualstruct train dev.txt --features template"
PARSER = "dualstruct train dev.conllu --passes 3"
#: Files that pages use without saying where they come from, and how they are made.
MADE = {
    "ner.dstruct": "dualstruct train train.txt --dev dev.txt --features ner --model ner.dstruct",
    "old.dstruct": "dualstruct train dev.txt --model old.dstruct",
    "new.dstruct": "dualstruct train train.txt --model new.dstruct",
    "en.dstruct": f"{PARSER} --task parse --model en.dstruct",
    "english.dstruct": f"{PARSER} --task tag+parse --model english.dstruct",
    "trees.dstruct": f"{PARSER} --task parse --model trees.dstruct",
    "parser.dstruct": f"{PARSER} --task tag+parse --model parser.dstruct",
    "new.txt": "cp dev.txt new.txt",
    "plain.txt": "cp letter.txt plain.txt",
    "letters.txt": "cp letter.txt letters.txt",
    "raw.txt": "cp letter.txt raw.txt",
    "gold.txt": "cp test.txt gold.txt",
    "predicted.txt": "dualstruct predict ner.dstruct test.txt > predicted.txt",
    "new.conllu": "cp dev.conllu new.conllu",
    "some.conllu": "cp dev.conllu some.conllu",
    "trees.conllu": "cp dev.conllu trees.conllu",
    "gold.conllu": "cp test.conllu gold.conllu",
    "parsed.conllu": "dualstruct predict en.dstruct test.conllu > parsed.conllu",
    "predicted.conllu": "dualstruct predict en.dstruct test.conllu > predicted.conllu",
    "texts.jsonl": "cp train.jsonl texts.jsonl",
    "teacher.jsonl": "cp train.jsonl teacher.jsonl",
    "data.jsonl": "cp dev.jsonl data.jsonl",
    "data.conllu": "cp dev.conllu data.conllu",
    "brat_folder": "dualstruct convert dev.jsonl brat_folder --to brat",
    "big.txt": "cp dev.txt big.txt",
    "names.txt": "cp dev.txt names.txt",
    "news.txt": "cp dev.jsonl news.txt",
    "names.db": "dualstruct label names.db --text dev.jsonl --no-serve",
    "model.crfsuite": "dualstruct convert old.dstruct model.crfsuite",
    "affiliations.dstruct": "cp wapiti.dstruct affiliations.dstruct",
    "wapiti.dstruct": f"{TEMPLATE} --dialect wapiti --model wapiti.dstruct",
}
WASM = resources.files("dualstruct.exporting.runtime") / "core.wasm.xz"
#: Searches and simulations, which run in small.
FEWER = {"tune": ["--trials", "2"], "clusters": ["--clusters", "2"]}
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int
    reason: str | None  #: why it is not run

    @property
    def runs(self) -> bool:
        return self.language in RUN and self.reason is None

    def commands(self) -> list[tuple[str, str]]:
        """Commands, and what each prints."""
        text = self.text.replace("\\\n", "")
        if self.language == "sh":
            return [(line, "") for line in text.splitlines() if line.split("#")[0].strip()]
        return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", text, flags=re.MULTILINE)


def blocks_of(text: str) -> list[Block]:
    pattern = r"(?:^<!-- not run: (.+?) -->\n)?^```(\w*)[^\n]*\n(.*?)^```$"
    return [
        Block(each[2], each[3], text.count("\n", 0, each.start(3)), each[1])
        for each in re.finditer(pattern, text, flags=re.MULTILINE | re.DOTALL)
    ]


def hidden_commands(text: str) -> list[str]:
    """Commands and programs outside of blocks that have a language, where nothing runs them."""
    outside = re.sub(r"^```\w.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    starts = (
        r"\$ |dualstruct |pip |python |make |mpiexec |curl |git |apt-get |import |from \w+ import"
    )
    return re.findall(rf"^    (?:{starts}).*$", outside, flags=re.MULTILINE)


class Runner:
    """Runs the blocks of one page in the current folder."""

    def __init__(self) -> None:
        self.names: dict[str, object] = {"__name__": "page"}
        self.server: subprocess.Popen[bytes] | None = None
        self.port = 0

    def run(self, name: str, blocks: list[Block]) -> None:
        bring_files("\n".join(block.text for block in blocks if block.runs))
        modules = set(sys.modules)
        try:
            printed = ""
            for block in blocks:
                place = f"{name}, line {block.line}"
                if block.language == "text" and printed:
                    assert same(block.text, printed), f"{place}:\n{printed}"
                    printed = ""
                if not block.runs:
                    continue
                if block.language in ("python", "js"):
                    printed += getattr(self, f"_{block.language}")(block.text, place)
                    continue
                for command, shown in block.commands():
                    self._command(command, shown, place, block.language == "console")
            assert printed in ("", "..."), f"{name} does not show {printed}"
        finally:
            self._stop()
            for alias in set(sys.modules) - modules:
                if alias.split(".")[0] in ("pycrfsuite", "sklearn_crfsuite"):  # install_aliases
                    del sys.modules[alias]

    def _python(self, text: str, place: str) -> str:
        if text.startswith(">>> "):
            test = doctest.DocTestParser().get_doctest(text, self.names, place, None, 0)
            test.globs = self.names
            failed = doctest.DocTestRunner(optionflags=SAME).run(test, clear_globs=False).failed
            assert not failed, place
            return ""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(text, place, "exec"), self.names)
        return printed.getvalue()

    def _js(self, text: str, place: str) -> str:
        folder = re.findall(r'from "\./([\w-]+)/', text)[0]
        if shutil.which("node") is None or not Path(folder).exists():
            return "..."
        Path("page.mjs").write_text(text, encoding="utf-8")
        done = subprocess.run(["node", "page.mjs"], capture_output=True, timeout=HANGS)
        assert done.returncode == 0, f"{place}: {done.stderr.decode()}"
        return done.stdout.decode()

    def _command(self, command: str, shown: str, place: str, compared: bool) -> None:
        command = command.replace("127.0.0.1:8000", f"127.0.0.1:{self.port}")
        command = re.sub(r"--tune \d+", "--tune 1", command)
        code, printed, messages = self.shell(command)
        if shown.startswith("dualstruct: "):
            assert code, f"{place}: {command} does not fail"
            printed = messages
        else:
            assert code == 0, f"{place}: {command}\n{messages}"
        assert not compared or same(shown, printed), f"{place}: {command}\n{printed}"

    def shell(self, command: str) -> tuple[int, str, str]:
        """Exit code, output and messages of a command: stages of a pipe, files in and out."""
        if "--target wasm" in command and not WASM.is_file():
            return 0, "", ""
        if re.match(r"pip install |make |git clone ", command):
            check_known(command)
            return 0, "", ""
        lexer = shlex.shlex(command, posix=True, punctuation_chars="|<>;&")
        lexer.whitespace_split = True
        words = list(lexer)
        code, printed, messages = 0, "", ""
        while words:
            end = words.index("|") if "|" in words else len(words)
            stage, words, target = words[:end], words[end + 1 :], None
            if "<" in stage:
                at = stage.index("<")
                printed = Path(stage[at + 1]).read_text(encoding="utf-8")
                del stage[at : at + 2]
            if ">" in stage:
                at = stage.index(">")
                target = Path(stage[at + 1])
                del stage[at : at + 2]
            assert not set(stage) & {"&", "&&", ";", ">>", "||"}, f"{command}: not known here"
            code, printed, said = self._stage(stage, printed)
            messages += said
            if target:
                target.write_text(printed, encoding="utf-8")
                printed = ""
        return code, printed, messages

    def _stage(self, words: list[str], given: str) -> tuple[int, str, str]:
        if words[0] == "dualstruct":
            words += [] if "--trials" in words else FEWER.get(words[1], [])
            if words[1] in ("serve", "label") and not {"--export", "--no-serve"} & set(words):
                return self._serve(words)
            done = run_command(*words[1:], input=given)
            return done.returncode, done.stdout, done.stderr
        if words[0] == "python":
            words = [sys.executable, *words[1:]]
        command = ["bash", "-c", '"$@"', "-", *words]  # echo and printf are its own
        found = subprocess.run(command, input=given.encode(), capture_output=True, timeout=HANGS)
        return found.returncode, found.stdout.decode(), found.stderr.decode()

    def _serve(self, words: list[str]) -> tuple[int, str, str]:
        """Start a page, which runs until the next one starts or the blocks end."""
        self._stop()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        program = str(Path(sysconfig.get_path("scripts"), "dualstruct"))
        arguments = [*words[1:], "--port", str(self.port), "--no-browser"]
        with open("server.log", "wb") as log:
            self.server = subprocess.Popen([program, *arguments], stdout=log, stderr=log)
        deadline = time.monotonic() + HANGS
        while b"is at http" not in (said := Path("server.log").read_bytes()):
            assert self.server.poll() is None, said.decode()
            assert time.monotonic() < deadline, said.decode()
            time.sleep(0.05)
        line = next(line for line in said.decode().splitlines() if "is at http" in line)
        return 0, line.replace(str(self.port), "8000") + "\n", ""

    def _stop(self) -> None:
        if self.server is not None:
            self.server.kill()  # how pages end is tested with them
            self.server.wait(HANGS)
            self.server = None


def same(shown: str, printed: str) -> bool:
    return printed == "..." or doctest.OutputChecker().check_output(shown, printed, SAME)


def check_known(command: str) -> None:
    """What a command that is not run asks for must be there: extras to install, targets to make."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = project.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    for names in re.findall(r"dualstruct\[([\w,]+)\]", command):
        for name in names.split(","):
            assert re.search(rf"^{name} = ", extras, flags=re.MULTILINE), command
    if target := re.match(r"make ([\w-]+)", command):
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert re.search(rf"^{target[1]}:", makefile, flags=re.MULTILINE), command


def bring_files(text: str) -> None:
    """Put the files that commands and programs name, and that are not there, into this folder."""
    practice = _practice_folder()
    own = {"train", "dev", "test", "letter"} if "demo --files ." in text else set()
    for name in sorted({*MADE, *(path.name for path in practice.iterdir())}):
        named = re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w-]|\.\w)", text)
        if named and not Path(name).exists() and name.partition(".")[0] not in own:
            path = _made(practice, name)
            (shutil.copytree if path.is_dir() else shutil.copy)(path, name)


@cache
def _practice_folder() -> Path:
    kept = TemporaryDirectory(prefix="pages-")  # until the process ends
    atexit.register(kept.cleanup)
    folder = Path(kept.name)
    write_files(folder)
    (folder / "template").write_text("U00:%x[0,0]\nU01:%x[-1,0]\nU02:%x[1,0]\nB\n")
    (folder / "glove.txt").write_text("the 1 0\na 1 0\nship 0 1\nboat 0 0.9\n")
    (folder / "texts").mkdir()
    shutil.copy(folder / "dev.jsonl", folder / "texts")
    (folder / "parts").mkdir()
    for number in "12":
        packed = gzip.compress((folder / "dev.txt").read_bytes())
        (folder / "parts" / f"{number}.txt.gz").write_bytes(packed)
    (folder / "more.txt.gz").write_bytes(gzip.compress(b"the ship sails\nthe boat sails\n"))
    return folder


def _made(folder: Path, name: str) -> Path:
    """A file of the practice folder, made if it is not there yet."""
    path = folder / name
    if not path.exists():
        for needed in shlex.split(MADE[name]):
            if needed in MADE and needed != name:
                _made(folder, needed)
        with _in(folder):
            code, _, messages = Runner().shell(MADE[name])
        assert code == 0, messages
    return path


@contextlib.contextmanager
def _in(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
