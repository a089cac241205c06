"""PandaLM's test set (Wang et al. 2024): pairs of language models' replies, each judged by three people."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.dataset import Dataset, DatasetFile
from rejoinder.data.dataset_reader import DatasetRow, read_json_list
from rejoinder.types import Choice, Item, Preference, Record, Response, Turn

_CHOICES: tuple[Choice, ...] = ("tie", "first", "second")
_RATERS = ("annotator1", "annotator2", "annotator3")
_FILE = DatasetFile(
    "judgements/pandalm/testset-v1.json",
    "cc154f9067c7382d7ea86f8f246511a5e1ac87e1fddd845c5938d789505b07a4",
    937899,
    "WeOpenML/PandaLM",
    "3871806e72b4832f815ecafd24d3503c73403f48",
    "data/testset-v1.json",
)


def _read(root: Path) -> Iterator[Record]:
    items: dict[str, Item] = {}
    seen: dict[tuple[str, str], list[str]] = {}
    for row in read_json_list(root / _FILE.path):
        prompt = _prompt(row)
        if prompt not in items:
            meta = {"application": row.text("motivation_app")}
            items[prompt] = Item(f"pandalm-{len(items):03}", (Turn(prompt, "user"),), meta=meta)
            yield items[prompt]
        item = items[prompt].id
        names = []
        for system, key in zip(_systems(row), ("response1", "response2"), strict=True):
            texts = seen.setdefault((item, system), [])
            text = _response_text(row, key)
            new = text not in texts
            if new:
                texts.append(text)
            # A system was asked the same question more than once, and its answers differ.
            again = texts.index(text)
            names.append(f"{item}/{system}" + (f"/{again + 1}" if again else ""))
            if new:
                yield Response(names[-1], item, system, text)
        for rater in _RATERS:
            yield Preference(item, names[0], names[1], rater, _choice(row, rater))


def _prompt(row: DatasetRow) -> str:
    parts = [text for text in (row.string("instruction"), row.string("input")) if text.strip()]
    if not parts:
        raise row.wrong("instruction", "a non-empty string if there is no input")
    return "\n\n".join(parts)


def _systems(row: DatasetRow) -> tuple[str, str]:
    first, _, second = row.text("cmp_key").partition("_")
    if not first or not second or first == second:
        raise row.wrong("cmp_key", "the names of two systems joined by _")
    return first, second


def _response_text(row: DatasetRow, key: str) -> str:
    # The reply "True" became a boolean in six places of the file.
    return str(row.fields[key]) if isinstance(row.fields.get(key), bool) else row.string(key)


def _choice(row: DatasetRow, rater: str) -> Choice:
    index = row.whole(rater)
    if index >= len(_CHOICES):
        raise row.wrong(rater, "0, 1 or 2")
    return _CHOICES[index]


DATASETS = (
    Dataset(
        "pandalm",
        "999 pairs of language models' replies to an instruction, each judged by three people",
        (_FILE,),
        "Apache-2.0",
        "Wang et al. 2024 (ICLR)",
        {"items": 170, "responses": 800, "preferences": 2997},
        "An item is an instruction, followed by a blank line and its input if it has one (one turn, speaker `user`; "
        "meta: the `application` that it was modelled on). Five systems answer; where one gave different replies to "
        "the same instruction, the later ones have ids that end in /2, /3, ... A preference names two responses, a "
        "rater and `first`, `second` or `tie`. Of the 800 responses 23 are empty, as published, and were judged as "
        "such: score a file written from this set with `--empty nan`.",
        _read,
    ),
)
