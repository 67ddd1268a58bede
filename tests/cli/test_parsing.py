"""Words of the command line become values, or one sentence says what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct.cli.command import Command
from dualstruct.cli.parameters import Argument, Option, UsageError


def cook(
    first: Annotated[Path, Argument(help="The first.")],
    rest: Annotated[list[str], Argument(help="The others.")],
    last: Annotated[str, Argument(help="The last.", metavar="END")],
    salt: Annotated[float | None, Option("-s", help="Salt.", min=0)] = None,
    eggs: Annotated[int, Option(help="Eggs.", min=1, max=12)] = 2,
    pan: Annotated[list[Path] | None, Option(help="Pans.")] = None,
    lid: Annotated[bool, Option(help="A lid.")] = True,
    loud: Annotated[bool, Option("--loud", help="Loud.")] = False,
    top: Annotated[int | None, Option(help="How many.", alone="5")] = None,
    oven_heat: Annotated[str | None, Option(help="Heat.", environment="COOK_HEAT")] = None,
) -> None:
    """Cook."""


COOK = Command("cook", cook)
USUAL = {
    "first": Path("a"),
    "rest": ["b"],
    "last": "c",
    "salt": None,
    "eggs": 2,
    "pan": None,
    "lid": True,
    "loud": False,
    "top": None,
    "oven_heat": None,
}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", {}),
        ("-s 0.5", {"salt": 0.5}),
        ("-s0.5", {"salt": 0.5}),
        ("--eggs 3 --eggs 4", {"eggs": 4}),
        ("--eggs=3", {"eggs": 3}),
        ("--pan x --pan=y", {"pan": [Path("x"), Path("y")]}),
        ("--no-lid --loud", {"lid": False, "loud": True}),
        ("--no-lid --lid", {"lid": True}),
        ("--top", {"top": 5}),
        ("--top 7", {"top": 7}),
        ("--top --loud", {"top": 5, "loud": True}),
        ("--oven-heat -3", {"oven_heat": "-3"}),
        ("--oven-heat=", {"oven_heat": ""}),
        ("d e", {"rest": ["b", "c", "d"], "last": "e"}),
        ("- -- --eggs", {"rest": ["b", "c", "-"], "last": "--eggs"}),
    ],
)
def test_words_become_values(words, found):
    assert COOK.parse(["a", "b", "c", *words.split()]) == USUAL | found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--egg 3", "there is no option '--egg'; do you mean --eggs"),
        ("-x", "there is no option '-x'"),
        ("--eggs", "--eggs needs a value: --eggs N"),
        ("--eggs --loud", "--eggs needs a value"),
        ("--eggs 13", "--eggs is '13'; it must be 1 to 12"),
        ("--eggs x", "--eggs is 'x'; it must be a whole number"),
        ("--eggs 1.5", "it must be a whole number"),
        ("-s -1", "-s is '-1'; it must be at least 0"),
        ("-s nan", "-s is 'nan'; it must be at least 0"),
        ("-s x", "-s is 'x'; it must be a number"),
        ("--loud=yes", "--loud takes no value; there is 'yes'"),
        ("--no-loud", "there is no option '--no-loud'"),
    ],
)
def test_what_is_wrong_is_said(words, message):
    with pytest.raises(UsageError) as caught:
        COOK.parse(["a", "b", "c", *words.split()])
    assert message in str(caught.value)


def test_missing_and_needless_arguments_are_named():
    for words, missing in (([], "FIRST"), (["a"], "REST"), (["a", "b"], "REST")):
        with pytest.raises(UsageError, match=f"^{missing} is missing$"):
            COOK.parse(words)

    def alone(one: Annotated[str, Argument(help="One.")]) -> None:
        """Alone."""

    with pytest.raises(UsageError, match="alone takes 1 argument; 'b' is one too many"):
        Command("alone", alone).parse(["a", "b"])


def test_a_variable_stands_in_for_an_option(monkeypatch):
    monkeypatch.setenv("COOK_HEAT", "high")
    assert COOK.parse(["a", "b", "c"])["oven_heat"] == "high"
    assert COOK.parse(["a", "b", "c", "--oven-heat", "low"])["oven_heat"] == "low"


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda word: not word.startswith("-")
)


@given(st.data())
def test_whatever_is_written_in_any_order_is_read_back(data):
    wanted = dict(USUAL)
    wanted["rest"] = data.draw(st.lists(words, min_size=1, max_size=3))
    parts: list[list[str]] = []

    def put(name: str, value: object) -> None:
        pairs = [[f"{name}={value}"], [name, str(value)]]
        parts.append(data.draw(st.sampled_from(pairs if name.startswith("--") else pairs[1:])))

    if data.draw(st.booleans()):
        wanted["salt"] = data.draw(st.floats(0, allow_infinity=False))
        put("-s", wanted["salt"])
    if data.draw(st.booleans()):
        wanted["eggs"] = data.draw(st.integers(1, 12))
        put("--eggs", wanted["eggs"])
    pans = data.draw(st.lists(words, max_size=2))
    parts += [["--pan", each] for each in pans]
    for key in ("lid", "loud"):
        if data.draw(st.booleans()):
            wanted[key] = not USUAL[key]
            parts.append(["--no-lid" if key == "lid" else "--loud"])
    places = ["a", *wanted["rest"], "c"]
    arranged = data.draw(st.permutations(parts))
    wanted["pan"] = [Path(part[1]) for part in arranged if part[0] == "--pan"] or None
    cuts = sorted(data.draw(st.integers(0, len(places))) for _ in arranged)
    line: list[str] = []
    for before, part, after in zip([0, *cuts], arranged, cuts, strict=False):
        line += places[before:after] + part
    line += places[cuts[-1] if cuts else 0 :]
    assert COOK.parse(line) == wanted
