"""P-DD: replies to single turns of DailyDialog, rated for relevance and for fluency (Pang et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.dataset import NO_LICENCE, Dataset, DatasetFile
from rejoinder.data.dataset_reader import parse_decimal, read_csv_rows
from rejoinder.errors import InputError, brief
from rejoinder.types import Item, Rating, Record, Response, Turn

_RATERS = 10
_SYSTEM = "LSTM"
_CITATION = "Pang, Nijkamp, Han, Zhou, Liu, Tu 2020 (ACL)"


def _file(name: str, sha256: str, size: int) -> DatasetFile:
    repository, commit = "alexzhou907/dialogue_evaluation", "d7f08e0e1d2ce9cdd422b3a6c6c02adccfbfea27"
    return DatasetFile(f"judgements/pang_dd/{name}", sha256, size, repository, commit, name)


_CONTEXT = _file("context_data_release.csv", "05456ad4832238c7f60b248b6485af41b5184735c996406fdf40635b688d9cde", 30767)
_FLUENCY = _file("fluency_data_release.csv", "6bc3c4795104e9d8af7bfb75cfcd3fee7889d1e5a4d174f39fcb72259fc5469c", 17723)


def _read_context(root: Path) -> Iterator[Record]:
    for place, (name, context, reply, *values) in read_csv_rows(root / _CONTEXT.path, 3 + _RATERS):
        yield from _rated_records(place, name, context, reply, "relevance", values)


def _read_fluency(root: Path) -> Iterator[Record]:
    # The two files differ in their row numbers and apostrophes, so rows are matched by the letters of the reply.
    origin = {
        _letters(reply): (name, context) for _, (name, context, reply, *_) in read_csv_rows(root / _CONTEXT.path, 13)
    }
    for place, (_, reply, *values) in read_csv_rows(root / _FLUENCY.path, 2 + _RATERS):
        if _letters(reply) not in origin:
            raise InputError(f"{place}: the reply {brief(reply)} is not in {Path(_CONTEXT.path).name}")
        yield from _rated_records(place, *origin[_letters(reply)], reply, "fluency", values)


def _rated_records(place: str, name: str, context: str, reply: str, aspect: str, values: list[str]) -> Iterator[Record]:
    if not (name.strip() and context.strip() and reply.strip()):
        raise InputError(f"{place}: the id, the context or the reply is empty")
    item = Item(f"pang-{name.strip()}", (Turn(context),))
    response = Response(f"{item.id}/{_SYSTEM}", item.id, _SYSTEM, reply)
    yield item
    yield response
    for number, value in enumerate(values, start=1):
        yield Rating(f"rater-{number}", aspect, parse_decimal(value, place), response.id)


def _letters(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


_NOTES = (
    "An item is one turn of DailyDialog, with one reply by an LSTM (sampled from the best 1, 10 or 100 words; the "
    "files do not say which). Ten people rated each from 1 to 5; the files do not say whether the second column is "
    "always the same person, so `rater-2` only means the second of the ten."
)
_COUNTS = {"items": 200, "responses": 200, "ratings": 2000}

DATASETS = (
    Dataset(
        "pang/context",
        "200 replies to one turn of DailyDialog, rated for relevance by ten people each",
        (_CONTEXT,),
        NO_LICENCE,
        _CITATION,
        _COUNTS,
        f"{_NOTES} Columns: id, context, reply, ten ratings. Aspect: `relevance`.",
        _read_context,
    ),
    Dataset(
        "pang/fluency",
        "the same 200 replies, rated for fluency by ten people each",
        (_FLUENCY, _CONTEXT),
        NO_LICENCE,
        _CITATION,
        _COUNTS,
        f"{_NOTES} Columns: id, reply, ten ratings. Aspect: `fluency`. The ids are those of `pang/context`: this file "
        "numbers its rows differently, and the replies are matched by their letters and digits.",
        _read_fluency,
    ),
)
