"""Makes the files of docs/fields.md: invented addresses, names and references, as columns.

python docs/making/fields.py writes them into docs/fields; they are always the same.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "fields"
STREETS = [
    "Harbour", "Mill", "Station", "Willow", "Castle", "Park", "High", "Bridge", "Orchard",
    "Quarry", "Chapel", "Elm",
]  # fmt: skip
KINDS = ["Street", "Lane", "Road", "St.", "Ave", "Way", "Square", "Row"]
TOWNS = [
    "Wexholm",
    "Tarnby",
    "Port Alder",
    "New Dorran",
    "Kelby",
    "Salt Mere",
    "Ostvik",
    "Harrowby",
]
GIVEN = [
    "Ines", "Tom", "Ada", "Bo", "Ilse", "Marek", "Rosa", "Nils", "Petra", "Anton", "Lene",
    "Hugo",
]  # fmt: skip
FAMILY = [
    "Calder", "Dravik", "Lund", "Morrow", "Tessel", "Okafor", "Brandt", "Vesely", "Harlan",
    "Quist", "Amsel", "Rowe",
]  # fmt: skip
TOPICS = [
    "Rivers", "Bridges", "Salt", "Ledgers", "Tides", "Lanterns", "Maps", "Orchards", "Signals",
    "Kites",
]  # fmt: skip
KINDS_OF_WORK = ["A history of", "Notes on", "On the origin of", "Counting", "Letters about"]
JOURNALS = ["Journal of Small Towns", "Annals of Weather", "Harbour Review"]


class Draw(random.Random):
    """Draws from lists, without the last words of each as long as they are held out."""

    held_out = 0

    def one_of(self, words: Sequence[str]) -> str:
        return self.choice(words[: len(words) - self.held_out])


def address(draw: Draw) -> list[tuple[str, str]]:
    number = (str(draw.randint(1, 220)) + draw.choice(["", "", "", "b"]), "NUMBER")
    street = (f"{draw.one_of(STREETS)} {draw.one_of(KINDS)}", "STREET")
    town, code = (draw.one_of(TOWNS), "TOWN"), (str(draw.randint(1000, 9899)), "CODE")
    unit = [("Flat " + str(draw.randint(1, 30)), "UNIT"), (",", "O")] if draw.random() < 0.3 else []
    comma = [(",", "O")] if draw.random() < 0.7 else []
    last = [town, code] if draw.random() < 0.6 else [code, town]
    return [*unit, number, street, *comma, *last]


def name(draw: Draw) -> list[tuple[str, str]]:
    given, family = (draw.one_of(GIVEN), "GIVEN"), (draw.one_of(FAMILY), "FAMILY")
    initial = [(draw.choice("ABCEJKLM") + ".", "MIDDLE")] if draw.random() < 0.4 else []
    title = [(draw.choice(["Dr", "Prof.", "Mrs", "Mr"]), "TITLE")] if draw.random() < 0.4 else []
    letters = draw.choice(["PhD", "Jr", "MD"])
    suffix = [(",", "O"), (letters, "SUFFIX")] if draw.random() < 0.3 else []
    if draw.random() < 0.3:
        return [family, (",", "O"), given, *initial]
    return [*title, given, *initial, family, *suffix]


def reference(draw: Draw) -> list[tuple[str, str]]:
    authors = " and ".join(
        f"{draw.one_of(FAMILY)} , {draw.choice('ABCEJKLM')}." for _ in range(draw.randint(1, 2))
    )
    year, topic = str(draw.randint(1950, 2024)), draw.one_of(TOPICS)
    title = f"{draw.choice(KINDS_OF_WORK)} {topic.lower()}"
    where = draw.choice(JOURNALS)
    pages = str(draw.randint(1, 300))
    when = [("(", "O"), (year, "YEAR"), (")", "O")]
    begin = [(authors, "AUTHOR"), *when, (".", "O"), (title, "TITLE"), (".", "O")]
    place = [(where, "JOURNAL"), (str(draw.randint(1, 60)), "VOLUME")]
    return [*begin, *place, (":", "O"), (pages, "PAGES"), (".", "O")]


def columns(parts: list[tuple[str, str]]) -> str:
    lines = []
    for text, kind in parts:
        for place, word in enumerate(text.split()):
            label = kind if kind == "O" else f"{'I' if place else 'B'}-{kind}"
            lines.append(f"{word}\t{label}")
    return "\n".join(lines)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "towns.txt").write_text("\n".join(TOWNS) + "\n", encoding="utf-8")
    draw = Draw(7)
    for file, make in {"addresses": address, "names": name, "references": reference}.items():
        for part, count in (("train", 60), ("test", 20)):
            draw.held_out = 3 if part == "train" else 0
            text = "\n\n".join(columns(make(draw)) for _ in range(count))
            (FOLDER / f"{file}-{part}.txt").write_text(text + "\n", encoding="utf-8")
