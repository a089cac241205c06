"""The cross-encoder's score of replies: the log-odds of context and reply, read together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.models import aptness_card as cards
from rejoinder.models.aptness.calibration import Ids, Numbers
from rejoinder.models.aptness.windows import Grouping, group_windows, split_into_windows
from rejoinder.models.aptness_card import CROSS, EMBEDDINGS, AptnessCard, AptnessLimits, SpecialTokens
from rejoinder.models.base import Vectors
from rejoinder.models.batching import Rows, pad_token_ids, split_into_batches
from rejoinder.models.onnx.session import compute_in_parallel, open_session

Output: TypeAlias = Literal["log_odds", "features"]
_CACHE_SIZE = 50_000  # pairs whose log-odds are cached in a process


class PairRow(NamedTuple):
    """``[CLS] utterance [unused0] utterance ... [SEP] reply [SEP]`` and where the reply begins."""

    ids: tuple[int, ...]
    reply_at: int


def build_pair_row(context: Sequence[Ids], reply: Ids, marks: SpecialTokens, limits: AptnessLimits) -> PairRow:
    """Return a pair as the cross-encoder reads it: the context's last tokens and the reply's first."""
    before: list[int] = []
    for utterance in context:
        before += [marks.between, *utterance] if before else utterance
    before = before[-limits.context_tokens :]
    ids = (marks.first, *before, marks.last, *reply[: limits.reply_tokens], marks.last)
    return PairRow(ids, len(before) + 2)


def is_too_long(context: Sequence[Ids], reply: Ids, limits: AptnessLimits) -> bool:
    """Whether a pair has more tokens than are read."""
    tokens = sum(len(utterance) + 1 for utterance in context) - 1
    return tokens > limits.context_tokens or (len(reply) > limits.reply_tokens and not limits.windows)


class CrossScorer:
    """The graph for pairs in a folder."""

    def __init__(self, folder: Path, card: AptnessCard) -> None:
        cards.check_aptness_files(folder, card, CROSS, EMBEDDINGS)
        self._card = card
        self._session = open_session(folder / CROSS)
        self._cache: dict[PairRow, float] = {}

    def scores(self, contexts: Sequence[Sequence[Ids]], replies: Sequence[Ids]) -> Numbers:
        """Return the log-odds of each pair; recent ones are cached, because `aptness` uses them in two models.

        Those of a reply in windows are the mean over its windows.
        """
        rows, grouping = self._rows(contexts, replies)
        new = [row for row in dict.fromkeys(rows) if row not in self._cache]
        if len(self._cache) + len(new) > _CACHE_SIZE:
            self._cache = {}
            new = list(dict.fromkeys(rows))
        self._cache.update(zip(new, self._compute(new, "log_odds").tolist(), strict=True))
        log_odds: Numbers = grouping.mean(np.array([self._cache[row] for row in rows], np.float64))
        return log_odds

    def features(self, contexts: Sequence[Sequence[Ids]], replies: Sequence[Ids]) -> Vectors:
        """Return the vector of each pair before the head."""
        rows, grouping = self._rows(contexts, replies)
        index = {row: i for i, row in enumerate(dict.fromkeys(rows))}
        vectors: Vectors = grouping.mean(self._compute(list(index), "features")[[index[row] for row in rows]])
        return vectors

    def _rows(self, contexts: Sequence[Sequence[Ids]], replies: Sequence[Ids]) -> tuple[list[PairRow], Grouping]:
        marks, limits = self._card.marks, self._card.limits
        return group_windows(
            [
                [build_pair_row(context, part, marks, limits) for part in self._windows(reply)]
                for context, reply in zip(contexts, replies, strict=True)
            ]
        )

    def _windows(self, reply: Ids) -> list[Ids]:
        limits = self._card.limits
        if not limits.windows or len(reply) <= limits.reply_tokens:
            return [reply]
        return [window.read(reply) for window in split_into_windows(len(reply), limits.reply_tokens)]

    def _compute(self, rows: Sequence[PairRow], output: Output) -> Any:
        """Return the graph's output for each row; rows of similar length are computed together."""
        width = int(self._card.networks["cross"]["hidden_size"])
        outputs = np.empty((len(rows), width) if output == "features" else len(rows), np.float32)

        def fill(batch: Rows) -> None:
            tokens, mask = pad_token_ids([rows[i].ids for i in batch], self._card.marks.padding)
            reply_starts = np.array([rows[i].reply_at for i in batch])
            segments = mask * (np.arange(mask.shape[1]) >= reply_starts[:, None])
            inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": segments}
            outputs[batch] = self._session.run([output], inputs)[0]

        compute_in_parallel(fill, split_into_batches([len(row.ids) for row in rows]))
        return outputs
