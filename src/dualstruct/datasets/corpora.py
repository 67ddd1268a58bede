"""Public corpora that experiments and benchmarks use: how to get them, and whether they are there.

None of them comes with dualstruct: licences differ. A folder holds one folder per corpus, with one
file per part (``conll2000/train.txt``, ``ud_english_ewt/dev.conllu``), plain, ``.gz`` or ``.xz``.
What a file says is checked by its sentences, tokens and a hash of its columns, which does not
depend on compression, on tabs or spaces, or on comments and columns 9 and 10 of treebanks.
"""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dualstruct.data.leftovers import own_folder
from dualstruct.data.opening import read_bytes
from dualstruct.data.writing import replace_file
from dualstruct.errors import InputError

__all__ = ["CORPORA", "Corpus", "Found", "Part", "check", "download", "find_part", "fingerprint"]

#: What a file of a part may end in, after its name.
ENDINGS = tuple(
    f".{kind}{packed}" for kind in ("txt", "conllu", "conllx") for packed in ("", ".xz", ".gz")
)
RAW = "https://raw.githubusercontent.com"


@dataclass(frozen=True)
class Part:
    """A file of a corpus, as it should be."""

    sentences: int
    tokens: int
    sha256: str  #: what :func:`fingerprint` gives
    address: str | None = None  #: where it can be downloaded
    member: str | None = None  #: its name in the archive at that address


@dataclass(frozen=True)
class Corpus:
    """A corpus and where it comes from."""

    what: str
    licence: str
    how: str  #: to obtain it
    parts: dict[str, Part]
    ending: str = ".txt"
    convert: Callable[[zipfile.ZipFile], dict[str, bytes]] | None = None  #: an archive's parts

    @property
    def downloadable(self) -> bool:
        """Whether ``dualstruct datasets --download`` gets it."""
        return all(part.address for part in self.parts.values())


@dataclass(frozen=True)
class Found:
    """A part in a folder: None where there is no file."""

    path: Path | None
    sentences: int = 0
    tokens: int = 0
    same: bool = False  #: the very columns that the published figures were measured on


def fingerprint(data: bytes) -> tuple[int, int, str]:
    """Sentences, tokens and a hash of what a column file or treebank says.

    >>> fingerprint(b"a DT\\nb NN\\n\\nc NN\\n") == fingerprint(b"a\\tDT\\nb\\tNN\\n\\n\\nc\\tNN")
    True
    >>> fingerprint(b"a DT\\nb NN\\n\\nc NN\\n")[:2]
    (2, 3)
    """
    sentences = tokens = 0
    total = hashlib.sha256()
    inside = False
    for row in _rows(data):
        if row is None:
            inside = False
            continue
        if not inside:
            sentences += 1
            total.update(b"\n")
            inside = True
        tokens += 1
        total.update(b"\t".join(row) + b"\n")
    return sentences, tokens, total.hexdigest()


def _rows(data: bytes) -> Iterator[list[bytes] | None]:
    """The columns of each token; None between sentences."""
    for line in data.split(b"\n"):
        cells = line.rstrip(b"\r").split(b"\t")
        if len(cells) == 10:  # a treebank's word: ranges (1-2) and empty words (1.1) are none
            if cells[0].isdigit():
                yield cells[:8]
        elif not line.strip():
            yield None
        elif len(cells) > 1:
            yield cells
        elif b" " in line and not line.startswith(b"# "):
            yield line.split()


def find_part(folder: Path | None, corpus: str, part: str) -> Path | None:
    """Where a part is; None if the corpus has no such part, an error if it should be there."""
    if part not in CORPORA[corpus].parts:
        return None
    path = None if folder is None else _file(folder / corpus, part)
    if path is None:
        where = "no folder was named (--data)" if folder is None else f"not in {folder}"
        raise InputError(
            f"the corpus {corpus} is needed, but {where}; "
            f"dualstruct datasets {corpus} says how to get it"
        )
    return path


def _file(folder: Path, part: str) -> Path | None:
    names = (folder / f"{part}{ending}" for ending in ENDINGS)
    return next((path for path in names if path.is_file()), None)


def check(name: str, folder: Path) -> dict[str, Found]:
    """What is in a folder of a corpus's parts."""
    found = {}
    for part, wanted in CORPORA[name].parts.items():
        path = _file(folder / name, part)
        if path is None:
            found[part] = Found(None)
        else:
            sentences, tokens, sha256 = fingerprint(read_bytes(path))
            found[part] = Found(path, sentences, tokens, sha256 == wanted.sha256)
    return found


def download(name: str, folder: Path) -> list[Path]:
    """Download a corpus into a folder; the files that were written."""
    corpus = CORPORA[name]
    if not corpus.downloadable:
        raise InputError(f"{name} cannot be downloaded by a program: {corpus.how}")
    try:
        import pooch
    except ImportError:
        raise InputError("downloads need pooch: pip install 'dualstruct[datasets]'") from None
    target = folder / name
    target.mkdir(parents=True, exist_ok=True)
    contents: dict[str, bytes] = {}
    with own_folder(tempfile.gettempdir()) as store:
        fetched: dict[str, Path] = {}
        for part, wanted in corpus.parts.items():
            address = wanted.address or ""
            if address not in fetched:
                try:
                    got = pooch.retrieve(address, known_hash=None, path=store, progressbar=False)
                except Exception as problem:  # of requests, urllib and the system
                    raise InputError(f"{address} could not be downloaded: {problem}") from None
                fetched[address] = Path(got)
            if wanted.member is not None:
                with zipfile.ZipFile(fetched[address]) as archive:
                    contents[part] = archive.read(wanted.member)
            elif corpus.convert is not None:
                if not contents:
                    with zipfile.ZipFile(fetched[address]) as archive:
                        contents = corpus.convert(archive)
            else:
                contents[part] = fetched[address].read_bytes()
    written = []
    for part, data in contents.items():
        path = target / f"{part}{corpus.ending}"
        replace_file(path, data)
        written.append(path)
    return written


def brown_parts(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The Brown corpus as NLTK packs it: of ten files the ninth is for development, the tenth for
    tests."""
    names = sorted(
        name
        for name in archive.namelist()
        if name.rpartition("/")[2][:1] == "c" and name[-2:].isdigit()
    )
    rows: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    for number, name in enumerate(names):
        part = {8: "dev", 9: "test"}.get(number % 10, "train")
        for line in archive.read(name).decode("ascii", "replace").splitlines():
            tokens = [token.rpartition("/") for token in line.split()]
            if tokens:
                rows[part] += [f"{word}\t{tag.upper()}" for word, _, tag in tokens]
                rows[part].append("")
    return {part: "\n".join(lines).encode() for part, lines in rows.items()}


NLTK = f"{RAW}/nltk/nltk_data/5db857e6f7df11eabb5e5665836db9ec8df07e28/packages/corpora"
BC2GM = f"{RAW}/spyysalo/bc2gm-corpus/018161681145daf751af037cb890f3a54f62a74d/conll"
WNUT = f"{RAW}/leondz/emerging_entities_17/e52a2d2a71ac1a051ca2d532eef28653c5c02603"
EWT = f"{RAW}/UniversalDependencies/UD_English-EWT/15d613d8447b3478787d4c278730a1e48a945efb"

CORPORA: dict[str, Corpus] = {
    "conll2000": Corpus(
        "chunking, from the Wall Street Journal: word, part of speech, chunk",
        "no licence is stated; for research, not to be passed on",
        (
            "NLTK's data package conll2000, or the page of the CoNLL-2000 shared task "
            "(train.txt, test.txt)"
        ),
        {
            "train": Part(
                8936,
                211727,
                "d5f1720892e9b90c2783a0c0e59549c3bd93f7dd1cb119d4616fdb44affac89d",
                f"{NLTK}/conll2000.zip",
                "conll2000/train.txt",
            ),
            "test": Part(
                2012,
                47377,
                "da7f55a013b3b82b8c04f71fe2137947a07c05d7dbe3be2bc75699b9dcd4e0cb",
                f"{NLTK}/conll2000.zip",
                "conll2000/test.txt",
            ),
        },
    ),
    "jnlpba": Corpus(
        "bio-medical entities (BioNLP/JNLPBA 2004): word, label",
        "annotations CC BY 3.0 (GENIA); abstracts from PubMed",
        (
            "the page of the GENIA project on the JNLPBA shared task of 2004: "
            "Genia4ERtask2.iob2 becomes train.txt, Genia4EReval2.iob2 test.txt, without the "
            "lines ###MEDLINE"
        ),
        {
            "train": Part(
                18546, 492551, "32174ffeb65f5998f05c73d3e6645b004eac7d1161900092945461ecd11f9abf"
            ),
            "test": Part(
                3856, 101039, "f06763e203a6708aee4428f845a242550befcb4dc229390e0ba087cd2c290862"
            ),
        },
    ),
    "bc2gm": Corpus(
        "gene mentions (BioCreative II): word, label",
        "may be redistributed; sentences from PubMed",
        "GitHub, spyysalo/bc2gm-corpus, folder conll (train.tsv, devel.tsv, test.tsv)",
        {
            "train": Part(
                12500,
                355405,
                "c3ed459076aca8cbd698d3bf53522f1c620a416c8b21e55d43fb8f97fe4142c7",
                f"{BC2GM}/train.tsv",
            ),
            "dev": Part(
                2500,
                71042,
                "08af1e5fa24cd952407df7c5e9eab85dc0cbd2b1b864291c7e3e069fcaf46c14",
                f"{BC2GM}/devel.tsv",
            ),
            "test": Part(
                5000,
                143465,
                "1ccd3242f45384a3245706326f1f41d021ecd114e6889266718fb8120fac6443",
                f"{BC2GM}/test.tsv",
            ),
        },
    ),
    "brown": Corpus(
        "the Brown corpus: word, part of speech",
        "for non-commercial purposes",
        (
            "NLTK's data package brown; of its 500 files in order every ninth is for "
            "development, every tenth for tests"
        ),
        {
            "train": Part(
                46175,
                929728,
                "07b539213d78aedffc065930a93ee8e29de1e7a6f712bf940b2597d7ada9ee85",
                f"{NLTK}/brown.zip",
            ),
            "dev": Part(
                5523,
                115661,
                "2f0c4585c4678cb48acf53c23d3b48531d04c7d8b33e1861be93cb13fe3fc97f",
                f"{NLTK}/brown.zip",
            ),
            "test": Part(
                5642,
                115803,
                "095646b6264d4a04f7c942d63df82bc23d3c1b74516d97ac62624d6bb9eec96e",
                f"{NLTK}/brown.zip",
            ),
        },
        convert=brown_parts,
    ),
    "ud_english_ewt": Corpus(
        "English Web Treebank of Universal Dependencies (CoNLL-U)",
        "CC BY-SA 4.0",
        "GitHub, UniversalDependencies/UD_English-EWT (en_ewt-ud-train.conllu and so on)",
        {
            "train": Part(
                12544,
                204577,
                "96feea4d69d5859cf6f41a278f43e90293c87e28d5cba502e84df3ab96f9dc29",
                f"{EWT}/en_ewt-ud-train.conllu",
            ),
            "dev": Part(
                2001,
                25147,
                "afa5c6cb53f5a6983664875b3c3178816886529acca4a3d9face87e4c5141dd2",
                f"{EWT}/en_ewt-ud-dev.conllu",
            ),
            "test": Part(
                2077,
                25094,
                "54fcc7538be97481a96c0c36f3c958b2c1e62d35936238d9b2cbe9ff1e7e9f4e",
                f"{EWT}/en_ewt-ud-test.conllu",
            ),
        },
        ending=".conllu",
    ),
    "ddt_conllx": Corpus(
        "Danish Dependency Treebank, arcs that cross, several roots (CoNLL-X)",
        "MIT, CC BY-SA 4.0 or LGPL",
        (
            "GitHub, mbkromann/copenhagen-dependency-treebank, releases/cdt1+2/da: the .conll"
            " files of the first 31 documents are test.conllx, the others train.conllx; heads"
            " that this export lost come from the .tag files"
        ),
        {
            "train": Part(
                5313, 94343, "1b888230aa3fbd432833fb7148dc85a420177343ea7d70815e1c1fa9c923291a"
            ),
            "test": Part(
                325, 5852, "610714afbfab7892678fc91824c034d3085933e95d09388c3f8eea621452c741"
            ),
        },
        ending=".conllx",
    ),
    "wnut17": Corpus(
        "emerging entities in tweets and comments (WNUT-17): word, label",
        "CC BY 4.0",
        (
            "GitHub, leondz/emerging_entities_17 (wnut17train.conll, emerging.dev.conll, "
            "emerging.test.annotated)"
        ),
        {
            "train": Part(
                3394,
                62730,
                "bf30f063ed8b88d97bc3eb862616079207d377fdc3f1e752c0e7d517e661a3a8",
                f"{WNUT}/wnut17train.conll",
            ),
            "dev": Part(
                1009,
                15733,
                "2d0a4db7f71820cc17e7620eb198ce6cede355b11b0de1cb727c36e163543fbd",
                f"{WNUT}/emerging.dev.conll",
            ),
            "test": Part(
                1287,
                23394,
                "44cddc90fab94bb284ca10920340282b685e05af21b47e0c7c0889fa8b3e20a8",
                f"{WNUT}/emerging.test.annotated",
            ),
        },
    ),
    "twpos": Corpus(
        "parts of speech of tweets (CMU ARK): word, tag",
        "CC BY 3.0",
        (
            "GitHub, brendano/ark-tweet-nlp, data/twpos-data-v0.3: oct27.splits for train, "
            "dev and test, daily547.conll; white space within a token is written _"
        ),
        {
            "train": Part(
                1000, 14619, "2e5b57073088e07f5b6fa4f695df5e602fa834a7315344d6a5821584db041aea"
            ),
            "dev": Part(
                327, 4823, "fc23b7ef7d3b4da38e5c15d23f5c80a5094b247ffb58f136cc934fdd7cd52928"
            ),
            "test": Part(
                500, 7152, "73bad3adbf78d68406f6375aa7853dc79d674f3f237b63520510e38134f803e7"
            ),
            "daily547": Part(
                547, 7707, "acff3ac2b92a46e3b488d3a4c23f7227ad0536dae96a089021015b19e75814cd"
            ),
        },
    ),
    "usaddress": Corpus(
        "parts of postal addresses of the USA: word, label",
        "MIT",
        (
            "GitHub, datamade/usaddress: training/labeled.xml is train.txt, "
            "measure_performance/test_data/labeled.xml test.txt, one element per token"
        ),
        {
            "train": Part(
                1513, 10722, "5f1f82eebc5cc6b236167bcb78a7a35f1749015e24872e717a3b2bf0f0ccc591"
            ),
            "test": Part(
                146, 1094, "16b97d76047fde8418768bb7076e6db8da8907e33a5fea66c1ce1eeeffef669a"
            ),
        },
    ),
    "kb_dutch_ner": Corpus(
        "entities in whole pages of old Dutch newspapers: word, label",
        "CC0",
        (
            "GitHub, larsmans/seqlearn, examples/nerdata: every fifth of the 99 files is for "
            "tests; the constant middle column is dropped"
        ),
        {
            "train": Part(
                79, 146264, "040913690edd1e0b57f3c98f409a908c2b2107e17efc76a5c7e83674ea3ee344"
            ),
            "test": Part(
                18, 36218, "9934dcd31e97dad7f57a7c8e982187112fca47828f9d9f55c61a6b0925fa2e7f"
            ),
        },
    ),
}
