"""Plain English in docs, docstrings and help texts: python tests/prose.py

Our own list of phrases, codespell for spelling and proselint for style look at the prose alone:
code is blanked out, so that lines keep their numbers. ``make lint`` runs it.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROSE = ROOT / "build" / "prose"
#: What not to write, and what to write instead.
PHRASES = {
    r"\bto and fro\b": "oscillates",
    r"\btold of\b": "described",
    r"\brather O\b": "predicted O",
    r"(?<![\w/.^^(])1/(?:[2-9]\d|\d{3,})(?![\w/.])(?=[^.]{0,60}?\b(?:time|of)\b)": "n times faster",
    r"\ba token a line\b|\bone token a line\b": "one token per line",
    r"\b(?:whilst|amongst|thereof|therein|wherein|whereby|hitherto)\b": "a usual word",
    r"\bin order to\b": "to",
    r"\butili[sz]e[sd]?\b": "use",
    r"\bleverag(?:e|es|ed|ing)\b": "use",
    r"\bblazing(?:ly)?\b|\bseamless(?:ly)?\b|\bcutting-edge\b|\bstate-of-the-art\b": "a number",
    r"\b(?:simply|obviously|of course)\b": "nothing",
    r"\bfound out\b": "recognised",
    r"\b1/\d[\d.]* of (?:the|\w+'s) time\b|: 1/\d[\d.]*$": "n times faster",
    r"\bare no probabilities\b": "not probabilities",
    r"(?<!− )(?<!- )\b1 (?:sentences|tokens|texts|labels|passes|workers|examples)\b": "one",
    r"\bgoes? on from\b|\bgo on with training\b": "resume",
    r"\bbe it\b": "whether",
    r"\bblanks (?:and|between|behind)\b|\b(?:without|where|of) blanks\b": "spaces",
    r"\bof before\b": "old or previous",
    r"\bas (?:it|they) stands?\b": "unchanged",
    r"\bevery so many\b|\bafter so many\b": "every n",
    r"\bone behind the other\b|\bbehind (?:it|them)\b": "after",
    r"\btraining goes on\b|\bgoes? on (?:after|with|below)\b": "continues or resumes",
    r"(?<!there )\bare no (?:trees|tokens|spans|comments|words)\b": "are not",
    r"\btrain(?:s|ed|ing)? anew\b": "retrain",
    r"\bdearer\b|\bor dear\b": "expensive",
    r"\bby heart\b": "memorised",
    r"\banswers (?:a list|an array|with the mean)\b": "returns",
    r"\bwhoever (?:has|calls|loads|answers)\b|\bWho calls\b": "if you",
    r"\bcomes of\b|\bwhat came of it\b": "results from",
    r"\btaken apart\b|\btakes? it apart\b": "split",
    r"\bnothing of ours\b|\ba file of ours\b": "dualstruct",
    r"\b(?:refused|ends|answered) (?:with|in) a sentence\b": "an error message",
    r"\bcount(?:s)? for nothing\b": "is ignored",
    r"\bhand(?:s|ed)? (?:it |them )?over\b": "pass",
    r"\bfor an answer\b": "as the result",
    r"\bknows? nothing of\b": "does not know, or does not depend on",
    r"\bthe most (?:passes|examples|planes|seconds|cuts|exchanges)\b": "the maximum number of",
    r"\bstands? alone\b": "without external files",
    r"\bat hand\b": "current, or given",
    r"\ball the same\b": "nothing",
    r"\bnow and then\b": "sometimes, or from time to time",
    r"\bwhere it stands\b": "its progress",
    r"\b(?:is|are) no neighbours\b": "are not",
    r"\bputs? (?:it |them )?together\b": "build, make or merge",
    r"\bin turns\b": "alternately",
    r"\bma[kd]e?s? up for\b": "corrected",
    r"\bfrom here on\b": "after this",
    r"\bseldom\b|\bluck(?:y|iest)\b": "rarely; by chance",
    r"\bhangs? from\b": "is attached to",
    r"\bgone over\b": "read",
    r"\bwhat (?:it is|they are) worth\b": "whether it is exact, or how much it gains",
    r"\btokens a second\b": "tokens per second",
    r"\b(?:is|are) wanted\b": "is expected or needed",
    r"\bwants\b": "needs",
    r"(?<!there )\bis no (?:file|folder|project|function|model|parser|word|label)\b": "not a",
    r"; it is (?:one of )?…(?= or|,|$)": "it must be",
    r"\bis not said\b": "missing",
    r"\bof which numpy\b": "which numpy",
    r"\bnobody has looked\b": "not annotated",
    r"\bname ends as\b": "the format is not clear from the name",
    r"\bthat (?:train|dualstruct) wrote\b": "written by",
    r"\bare quick\b|\bas quick as\b": "fast",
    r"(?<![./])\b(the|a|an|of|to|is|in|it|and|or|that|with|for)\s+\1\b": "the word once",
}
#: How the functions are called whose arguments users read.
MESSAGES = ("Option", "Argument", "Error", "Warning", "fail", "tell", "warn")
#: Words that codespell takes for mistakes.
OURS = ["ines", "pres", "fo", "te", "nd", "ot", "als", "ue", "ba"]
#: What proselint has an opinion about that is not ours: typography of prints, and tables.
PROSELINT = {
    "typography": False,
    "hedging": False,
    "annotations": False,
    "uncomparables": False,
    "misc.but": False,
    "restricted": False,
    "spelling": False,
    "terms": False,
    "lexical_illusions": False,
    "dates_times": False,
}


def main() -> int:
    shutil.rmtree(PROSE, ignore_errors=True)
    files = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    code = sorted(
        each
        for room in ("src", "experiments", "examples")
        for each in (ROOT / room).rglob("*.py")
        if each.parts[-2] != "runtime"
    )
    problems = []
    for path in [*files, *code]:
        text = path.read_text(encoding="utf-8")
        prose = of_page(text) if path.suffix == ".md" else of_program(text)
        name = path.relative_to(ROOT)
        problems += [f"{name}:{line}: {what}" for line, what in phrases(prose)]
        place = PROSE / f"{name}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(prose, encoding="utf-8")
    problems += spelling() + style()
    print("\n".join(problems) or "The prose is plain.")
    return 1 if problems else 0


def phrases(prose: str) -> list[tuple[int, str]]:
    """Lines with a phrase of the list, and what to write instead."""
    found = []
    for pattern, instead in PHRASES.items():
        for each in re.finditer(pattern, prose, flags=re.IGNORECASE):
            line = prose.count("\n", 0, each.start()) + 1
            found.append((line, f"{each[0]!r}: write {instead}"))
    return found


def of_page(text: str) -> str:
    """The prose of a page of Markdown: code, formulas, addresses and tables' rules are blank."""
    text = re.sub(r"^```.*?^```$", _blank, text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^    .*$", _blank, text, flags=re.MULTILINE)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", _blank, text, flags=re.DOTALL)
    text = re.sub(r"``.*?``|`[^`]*`", _blank, text, flags=re.DOTALL)
    text = re.sub(r"\]\([^)]*\)|<[^>\n]*>|^:::.*$", _blank, text, flags=re.MULTILINE)
    return re.sub(r"^- (?=<a id|\s*[A-Z]\. ).*$", _blank, text, flags=re.MULTILINE)


def of_program(text: str) -> str:
    """The docstrings and the help texts of a program, on their lines."""
    lines = [""] * (text.count("\n") + 2)
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        shown = []
        if isinstance(node, documented) and ast.get_docstring(node) and node.body:
            shown = [node.body[0].value]  # type: ignore[attr-defined]
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            shown = [each.value for each in node.keywords if each.arg == "help"]
            shown += node.args if name.endswith(MESSAGES) else []
        for each in shown:
            for offset, line in enumerate(of_docstring(_said(each)).split("\n")):
                lines[each.lineno - 1 + offset] += line
    return "\n".join(lines)


def _said(node: ast.AST) -> str:
    """What a string says, with a word that says nothing in the place of its values."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_said(each) or "…" for each in node.values)
    return ""


def of_docstring(text: str) -> str:
    text = re.sub(r"``.*?``|`[^`]*`", _blank, text, flags=re.DOTALL)
    text = re.sub(r"^ *(?:>>> .*\n(?: *\S.*\n?)*)", _blank, text, flags=re.MULTILINE)
    return re.sub(r"^(?:    |  +).*[=←Σ∑αΔ‖{}].*$", _blank, text, flags=re.MULTILINE)


def _blank(found: re.Match[str]) -> str:
    """As many lines, with nothing on them; within a line a word that says nothing."""
    return "\n" * found[0].count("\n") or "…"


def spelling() -> list[str]:
    ignored = ["--ignore-words-list", ",".join(OURS), "--quiet-level", "7"]
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", *ignored, str(PROSE)],
        capture_output=True,
        text=True,
    )
    return [_ours(line) for line in done.stdout.splitlines()]


def style() -> list[str]:
    config = PROSE / "proselint.json"
    config.write_text(json.dumps({"max_errors": 1000, "checks": PROSELINT}), encoding="utf-8")
    paths = [str(path) for path in sorted(PROSE.rglob("*.md"))]
    done = subprocess.run(
        [sys.executable, "-m", "proselint", "check", "--config", str(config), *paths],
        capture_output=True,
        text=True,
    )
    return [_ours(line) for line in done.stdout.splitlines() if str(PROSE) in line]


def _ours(line: str) -> str:
    """A message about the extracted prose, as one about the file that it is from."""
    return line.replace(f"{PROSE}/", "").replace(".md.md:", ".md:").replace(".py.md:", ".py:")


if __name__ == "__main__":
    sys.exit(main())
