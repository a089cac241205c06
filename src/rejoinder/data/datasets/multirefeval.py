"""The DailyDialog test set with five references per context (Gupta et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.dataset import NO_LICENCE, Dataset, DatasetFile
from rejoinder.data.dataset_reader import alternate_speakers, read_json_lines
from rejoinder.types import Item, Record, Reference

_FILE = DatasetFile(
    "judgements/multirefeval/multireftest.jsonl",
    "4f487bda98be4f61bcacb2aa31e24cf01a840ebb8c1331caa1deb12c493878b6",
    2781079,
    "prakharguptaz/multirefeval",
    "2a4b5440e21dba518dffd6d535dfb1450ab9c4a7",
    "multiref-dataset/multireftest.json",
)


def _read(root: Path) -> Iterator[Record]:
    for row in read_json_lines(root / _FILE.path):
        index = row.whole("index")
        rows = row.rows("dialogue")
        turns = alternate_speakers(turn.text("text") for turn in rows)
        for number, turn in enumerate(rows[:-1]):
            references = tuple(Reference(text.strip()) for text in turn.strings("responses") if text.strip())
            yield Item(
                f"{index}_{number}",
                turns[: number + 1],
                references,
                future=turns[number + 2 :],
                dialogue=f"test-{index}",
            )


DATASETS = (
    Dataset(
        "multirefeval",
        "every context of the DailyDialog test set, with five references",
        (_FILE,),
        NO_LICENCE,
        "Gupta, Mehri, Zhao, Pavel, Eskenazi, Bigham 2019 (SIGdial)",
        {"items": 6740},
        "An item is a dialogue up to a turn (`73_4`: up to turn 4 of dialogue 73, counted from 0, as in `gupta`); two "
        "people, A and B, alternate. Its first reference is the true next turn of the dialogue, lower-case and "
        "tokenised; the other four were written by people who saw the context. One item has four references, because "
        "one was empty; in 89 items two are equal. The future is the rest of the dialogue after the true next turn. "
        "There are no responses.",
        _read,
    ),
)
