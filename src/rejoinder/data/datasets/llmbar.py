"""LLMBar, its natural part (Zeng et al. 2024): pairs of replies of which one clearly follows the instruction better."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.dataset import Dataset, DatasetFile
from rejoinder.data.dataset_reader import read_json_list
from rejoinder.types import Item, Preference, Record, Response, Turn

_FILE = DatasetFile(
    "judgements/llmbar/natural.json",
    "f7127b7aa78104cb8e03a2b1b3ac0077e95b125714dd441a8ee63666145a3375",
    91269,
    "princeton-nlp/LLMBar",
    "900616bff90b6c6c8e1681f7d079250637c55992",
    "Dataset/LLMBar/Natural/dataset.json",
)


def _read(root: Path) -> Iterator[Record]:
    for number, row in enumerate(read_json_list(root / _FILE.path)):
        item = Item(f"llmbar-{number:02}", (Turn(row.text("input"), "user"),))
        responses = [
            Response(f"{item.id}/{system}", item.id, system, row.text(key))
            for system, key in (("output-1", "output_1"), ("output-2", "output_2"))
        ]
        label = row.whole("label")
        if label not in (1, 2):
            raise row.wrong("label", "1 or 2")
        yield item
        yield from responses
        yield Preference(item.id, responses[0].id, responses[1].id, "agreed", "first" if label == 1 else "second")


DATASETS = (
    Dataset(
        "llmbar/natural",
        "100 pairs of replies to an instruction with one agreed preference",
        (_FILE,),
        "MIT",
        "Zeng, Yu, Gao, Meng, Goyal, Chen 2024 (ICLR)",
        {"items": 100, "responses": 200, "preferences": 100},
        "An item is an instruction with its input (one turn, speaker `user`), with two responses by the systems "
        "`output-1` and `output-2` (names that do not say who wrote them) and the preference on which the authors "
        "agreed (rater `agreed`; there are no ties). Ids count the pairs in the order of the file.",
        _read,
    ),
)
