"""500 rated replies to 100 DailyDialog contexts (Gupta et al. 2019), with one, four or many references (SCARCE)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rejoinder.data.dataset import NO_LICENCE, Dataset, DatasetFile
from rejoinder.data.dataset_reader import DatasetRow, alternate_speakers, read_json_list
from rejoinder.errors import InputError
from rejoinder.types import Item, Rating, Record, Reference, Response

_FOLDER = "judgements/scarce"
_GUPTA = "Gupta, Mehri, Zhao, Pavel, Eskenazi, Bigham 2019 (SIGdial)"
_SCARCE = "Gangal, Jhamtani, Hovy, Berg-Kirkpatrick 2021 (Findings of ACL)"
_NOTES = (
    "An item is a context of the DailyDialog test set (`73_4`: up to turn 4 of dialogue 73, counted from 0), with its "
    "references; five systems answer each, `human` being one of them. The rating of a response is the mean over its "
    "raters (rater `mean`, aspect `appropriate`, 1 to 5). The text is tokenised, and lower-case except for "
    "the references that SCARCE added: those have the source `scarce` and may repeat; empty ones are left out."
)


def _file(name: str, sha256: str, size: int) -> DatasetFile:
    repository, commit = "harsh19/Diverse-Reference-Augmentation", "922930c841fa4668e4684135532cecc6ddbf14c8"
    return DatasetFile(f"{_FOLDER}/{name}", sha256, size, repository, commit, f"ref_files/{name}")


_SINGLE = _file("singleref.json", "d7084895ad162524003d60f7b278076b9629927463fd5b14efa86ee782bb63ad", 301554)
_MULTI = _file("multiref.json", "b38b11f4bfc4a006bb21376a89b39f410371ced4ab2046a7c75102b2a9f6294b", 372979)
_SCARCE_SINGLE = _file(
    "scarce.singleref.json", "8c3dc91ac1ae1c77fc254dfa8801d7366e668317cb22709e9afa2c5350ccc4f0", 1163009
)
_SCARCE_MULTI = _file(
    "scarce.multiref.json", "bd3b936ebfabd01488639cf7250bf67137feb1328ccf148738f959995a3e0be9", 1234434
)


def _read(root: Path, file: DatasetFile, human: DatasetFile) -> Iterator[Record]:
    human_references = {
        row.text("context_id"): set(row.strings("all_references")) for row in read_json_list(root / human.path)
    }
    items: dict[str, Item] = {}
    for row in read_json_list(root / file.path):
        item = _item(row, human_references)
        known = items.setdefault(item.id, item)
        if known is item:
            yield item
        elif known != item:
            raise InputError(f"{row.place}: 'context_id' {item.id} has a different context or references than before")
        system = row.text("model").strip()
        response = Response(f"{item.id}/{system}", item.id, system, row.text("response"))
        yield response
        yield Rating("mean", "appropriate", row.number("human_average_rating"), response.id)


def _item(row: DatasetRow, human_references: dict[str, set[str]]) -> Item:
    name = row.text("context_id")
    if name not in human_references:
        raise row.wrong("context_id", "also in the file of human references")
    turns = [text for text in row.text("context").split("||||") if text.strip()]
    references = tuple(
        Reference(text, "human" if text in human_references[name] else "scarce")
        for text in row.strings("all_references")
        if text.strip()
    )
    return Item(name, alternate_speakers(turns), references, dialogue=f"test-{name.partition('_')[0]}")


def _dataset(part: str, summary: str, file: DatasetFile, human: DatasetFile, citation: str) -> Dataset:
    files = (file,) if file is human else (file, human)
    counts = {"items": 100, "responses": 500, "ratings": 500}
    read = partial(_read, file=file, human=human)
    return Dataset(f"gupta/{part}", summary, files, NO_LICENCE, citation, counts, _NOTES, read)


DATASETS = (
    _dataset("single", "500 rated replies, one reference per context", _SINGLE, _SINGLE, _GUPTA),
    _dataset("multi", "500 rated replies, four references per context", _MULTI, _MULTI, _GUPTA),
    _dataset(
        "scarce-single",
        "500 rated replies, one reference per context and those that SCARCE added",
        _SCARCE_SINGLE,
        _SINGLE,
        f"{_SCARCE}; ratings: {_GUPTA}",
    ),
    _dataset(
        "scarce-multi",
        "500 rated replies, four references per context and those that SCARCE added",
        _SCARCE_MULTI,
        _MULTI,
        f"{_SCARCE}; ratings: {_GUPTA}",
    ),
)
