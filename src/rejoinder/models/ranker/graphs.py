"""The networks of a ranker in onnxruntime; words become vectors here, so that rankers share those of `aptness`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.models.aptness import card as aptness_card
from rejoinder.models.aptness.calibration import Numbers
from rejoinder.models.aptness.cross_encoder import Row
from rejoinder.models.batching import Rows, batches, pad
from rejoinder.models.encoder.onnx import open_session, side_by_side
from rejoinder.models.ranker import card as cards
from rejoinder.models.ranker.card import RankerCard
from rejoinder.models.ranker.rows import SituationRow
from rejoinder.models.ranker.statement_choice import Floats, Words


class Graphs:
    """The graphs of a folder, each opened when it is first needed."""

    def __init__(self, folder: Path, card: RankerCard, shipped: Path) -> None:
        self._folder = folder
        self._padding = card.marks.padding
        self._words = Words(shipped / aptness_card.EMBEDDINGS, aptness_card.read(shipped).dimensions)

    def scores(self, rows: Sequence[Row]) -> Numbers:
        """The score of each candidate; equal rows are computed once."""
        place = {row: i for i, row in enumerate(dict.fromkeys(rows))}
        kept = list(place)
        found = np.empty(len(kept))

        def fill(batch: Rows) -> None:
            tokens, mask = pad([kept[i].ids for i in batch], self._padding)
            begins = np.array([kept[i].reply_at for i in batch])
            kinds = mask * (np.arange(mask.shape[1]) >= begins[:, None])
            given = {"words": self._words.vectors(tokens), "attention_mask": mask, "token_type_ids": kinds}
            found[batch] = self._reader.run(["log_odds"], given)[0]

        side_by_side(fill, batches([len(row.ids) for row in kept]))
        return found[[place[row] for row in rows]]

    def odds(self, rows: Sequence[SituationRow]) -> list[Floats]:
        """The log-odds of each statement."""
        found: list[Floats] = [np.zeros(0, np.float32)] * len(rows)

        def fill(batch: Rows) -> None:
            tokens, mask = pad([rows[i].ids for i in batch], self._padding)
            places = places_of([rows[i] for i in batch], tokens.shape[1])
            given = {"words": self._words.vectors(tokens), "attention_mask": mask, "places": places}
            for i, odds in zip(batch, self._chooser.run(["log_odds"], given)[0], strict=True):
                found[i] = odds[: len(rows[i].spans) - 1].copy()

        side_by_side(fill, batches([len(row.ids) for row in rows]))
        return found

    @cached_property
    def _reader(self) -> Any:
        return open_session(self._folder / cards.READER)

    @cached_property
    def _chooser(self) -> Any:
        return open_session(self._folder / cards.CHOOSER)


def places_of(rows: Sequence[SituationRow], width: int) -> Floats:
    """(rows, 1 + statements, tokens): what makes means of the words of the request and of each statement."""
    found = np.zeros((len(rows), max(len(row.spans) for row in rows), width), np.float32)
    for n, row in enumerate(rows):
        for at, (start, end) in enumerate(row.spans):
            found[n, at, start:end] = 1 / max(1, end - start)
    return found
