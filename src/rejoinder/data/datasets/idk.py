"""The rows on which the IDK metric was tested (Berlot-Attwell, Rudzicz 2022), with its published scores."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rejoinder.data.dataset import NO_LICENCE, Dataset, DatasetFile
from rejoinder.data.dataset_reader import parse_decimal, read_lines
from rejoinder.errors import InputError, brief
from rejoinder.types import Item, Rating, Record, Response, Turn

_FOLDER = "exp/HUMOD_IDK_bce_L1_wt1_lim3750"
_CITATION = "Berlot-Attwell, Rudzicz 2022 (Findings of ACL)"
# BERT takes 512 tokens; a longer row has lost the end of its context, how much of it depends on the reply.
_LONGEST = 512
# Contexts that begin with the same 300 tokens are one context, truncated: no reply is long enough to cut earlier.
_SURE = 300
_NOTES = (
    "The text is lower-case and was split into WordPieces, which are rejoined (`terra ##ria` becomes `terraria`); "
    "spaces around punctuation stay. The turns of a context ran together, so a context is one turn without a "
    "speaker. Equal contexts are one item. The file does not say who wrote a reply: the system is `unknown`. The "
    "rating is the mean over the raters (rater `mean`); the score that the authors' IDK gave is in the response's "
    "meta under `idk`. A row of 512 tokens has lost the end of its context: the item's meta then has `end_cut`, "
    "and truncated copies of one context share a `dialogue`. Response ids count the rows from 0."
)


def _file(name: str, sha256: str, size: int) -> DatasetFile:
    repository, commit = "ikb-a/idk-dialogue-relevance", "5b7014f8149f3e03e7fe3c3fc0ca4468bcf9f93d"
    return DatasetFile(
        f"judgements/idk/{name}.tsv", sha256, size, repository, commit, f"{_FOLDER}/test_eval_exmple__{name}.tsv"
    )


def _read(root: Path, file: DatasetFile, part: str, aspect: str) -> Iterator[Record]:
    items: dict[str, Item] = {}
    dialogues: dict[str, str] = {}
    rows = read_lines(root / file.path)
    place, header = next(rows, (file.path, ""))
    if header.split("\t")[:2] != ['"dialogue"', '"human"']:
        raise InputError(f"{place}: expected the columns dialogue, human and a score, found {brief(header)}")
    for number, (place, line) in enumerate(rows):
        cells = line.split("\t")
        if len(cells) != 3:
            raise InputError(f"{place}: has {len(cells)} cells instead of 3")
        context, reply = _split_cell(cells[0], place)
        if context not in items:
            name = f"{part}-{len(items):04}"
            dialogue = dialogues.setdefault(" ".join(context.split()[:_SURE]), name)
            cut = len(cells[0].split()) >= _LONGEST
            items[context] = Item(
                name, (Turn(_join_pieces(context)),), dialogue=dialogue, meta={"end_cut": True} if cut else {}
            )
            yield items[context]
        response = Response(
            f"{part}-row-{number:04}",
            items[context].id,
            "unknown",
            _join_pieces(reply),
            {"idk": parse_decimal(cells[2], place)},
        )
        yield response
        yield Rating("mean", aspect, parse_decimal(cells[1], place), response.id)


def _split_cell(cell: str, place: str) -> tuple[str, str]:
    """The context and the reply of ``[CLS] context [SEP] reply [SEP]``."""
    parts = cell.removeprefix("[CLS]").split("[SEP]")
    if not cell.startswith("[CLS]") or len(parts) != 3 or parts[2].strip() or not all(p.strip() for p in parts[:2]):
        raise InputError(f"{place}: expected '[CLS] context [SEP] reply [SEP]', found {brief(cell)}")
    return parts[0].strip(), parts[1].strip()


def _join_pieces(pieces: str) -> str:
    return pieces.replace(" ##", "")


def _dataset(
    part: str, summary: str, file: DatasetFile, items: int, rows: int, aspect: str, ratings_citation: str
) -> Dataset:
    counts = {"items": items, "responses": rows, "ratings": rows}
    read = partial(_read, file=file, part=part, aspect=aspect)
    citation = f"{_CITATION}; ratings: {ratings_citation}"
    return Dataset(f"idk/{part}", summary, (file,), NO_LICENCE, citation, counts, _NOTES, read)


DATASETS = (
    _dataset(
        "humod",
        "the test split of HUMOD: each context with its own reply and a random one, `relevance` from 1 to 5",
        _file("HUMOD", "9c0fa8dd290aa204c868e9af32feedaf1783a4ffccb65698b44796e2c659478e", 195740),
        500,
        1000,
        "relevance",
        "Merdivan et al. 2020 (Applied Sciences)",
    ),
    _dataset(
        "usr",
        "the 30 test contexts of `usr/topical_chat`, `maintains-context` from 1 to 3",
        _file("USR_TC_REL", "1b5c914b4821c1449b809f58b5ba25d535072a2bedd5ca98ca90e38ee5009029", 220287),
        41,
        180,
        "maintains-context",
        "Mehri, Eskenazi 2020 (ACL)",
    ),
    _dataset(
        "pdd",
        "the replies of `pang/context`, `relevance` from 1 to 5",
        _file("P_DD", "8bf90fd477cf95c9e43f28aecb8788f3aefd90adf12024c244fe9a74fc11e18b", 32068),
        200,
        200,
        "relevance",
        "Pang et al. 2020 (ACL)",
    ),
    _dataset(
        "fed-relevant",
        "the replies of `fed/turn`, `relevant` from 0 to 2",
        _file("FED_REL", "832f4c2458565bdbb34b0f2eec395f765bef3f414b7a426264a58a201ada2ef2", 200088),
        374,
        375,
        "relevant",
        "Mehri, Eskenazi 2020 (SIGdial)",
    ),
    _dataset(
        "fed-correct",
        "the replies of `fed/turn`, `correct` from 0 to 2",
        _file("FED_COR", "1cfbdab751968318d7ea4e6119063118983897400dee56b1c93f0ffae6c09f24", 200088),
        374,
        375,
        "correct",
        "Mehri, Eskenazi 2020 (SIGdial)",
    ),
)
