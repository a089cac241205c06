"""`nup` without torch: a fine-tuned encoder that predicts whether a reply is the next utterance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rejoinder.errors import RejoinderError
from rejoinder.files import sha256_of_bytes
from rejoinder.model_use import ModelUse, record_use
from rejoinder.models.aptness.calibration import Numbers
from rejoinder.models.aptness.cross_encoder import PairRow, build_pair_row
from rejoinder.models.aptness_card import AptnessLimits, SpecialTokens
from rejoinder.models.batching import Rows, pad_token_ids, split_into_batches
from rejoinder.models.card import check_card_files, read_model_card
from rejoinder.models.onnx.session import compute_in_parallel, open_session
from rejoinder.models.spoken import Contexts
from rejoinder.models.tokenization import read_tokenizer
from rejoinder.paths import cache_home

CARD_FILE, GRAPH, TOKENIZER = "nup.json", "model.onnx", "tokenizer.json"
FORMAT = 1


@dataclass(frozen=True)
class NupCard:
    """How to use the network of a folder, and where it comes from."""

    files: dict[str, str]  # name: sha256
    marks: SpecialTokens
    limits: AptnessLimits  # only those for pairs are used
    about: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    def digest(self) -> str:
        """Return the digest of everything that determines a score."""
        content = [self.files, asdict(self.marks), self.limits.context_tokens, self.limits.reply_tokens]
        return sha256_of_bytes(orjson.dumps(content, option=orjson.OPT_SORT_KEYS))


def default_nup_folder() -> Path:
    """Return the folder of a network that was trained without naming a folder."""
    return cache_home() / "nup"


def read_nup_card(folder: Path) -> NupCard:
    """Return the card of a folder."""
    parts = {"marks": SpecialTokens, "limits": AptnessLimits}
    return read_model_card(folder / CARD_FILE, NupCard, "nup", "use a folder written by rejoinder train nup", parts)


class NupModel:
    """The exported network in a folder."""

    def __init__(self, folder: Path) -> None:
        self.card = read_nup_card(folder)
        digests = {name: self.card.files.get(name, "") for name in (GRAPH, TOKENIZER)}
        check_card_files(folder, digests, "train it again: rejoinder train nup")
        self.digest = self.card.digest()
        self._tokenizer = read_tokenizer(folder / TOKENIZER, self.card.limits.utterance_tokens)
        self._session = open_session(folder / GRAPH)

    def probabilities(self, contexts: Contexts, replies: Sequence[str]) -> Numbers:
        """Return the probability that each reply is the next utterance; NaN if the context or the reply is blank."""
        values = np.full(len(replies), np.nan)
        rows = {
            i: self._row(context, reply)
            for i, (context, reply) in enumerate(zip(contexts, replies, strict=True))
            if any(text.strip() for text in context) and reply.strip()
        }
        distinct = list(dict.fromkeys(rows.values()))
        odds = np.empty(len(distinct))

        def fill(batch: Rows) -> None:
            tokens, mask = pad_token_ids([distinct[i].ids for i in batch], self.card.marks.padding)
            reply_starts = np.array([distinct[i].reply_at for i in batch])
            segments = mask * (np.arange(mask.shape[1]) >= reply_starts[:, None])
            inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": segments}
            odds[batch] = self._session.run(["log_odds"], inputs)[0]

        compute_in_parallel(fill, split_into_batches([len(row.ids) for row in distinct]))
        index = {row: i for i, row in enumerate(distinct)}
        for i, row in rows.items():
            values[i] = 1 / (1 + np.exp(-np.clip(odds[index[row]], -60, 60)))
        return values

    def cut(self, contexts: Contexts, replies: Sequence[str]) -> list[bool]:
        """Return which pairs have more tokens than are read."""
        limits = self.card.limits
        context_ids = self._tokenizer.pieces([" ".join(context) for context in contexts])
        reply_ids = self._tokenizer.pieces(list(replies))
        return [
            len(c) > limits.context_tokens or len(r) > limits.reply_tokens
            for c, r in zip(context_ids, reply_ids, strict=True)
        ]

    def _row(self, context: Sequence[str], reply: str) -> PairRow:
        context_ids, reply_ids = self._tokenizer.pieces([" ".join(text for text in context if text.strip()), reply])
        return build_pair_row([context_ids], reply_ids, self.card.marks, self.card.limits)


def open_nup(folder: str | None = None) -> NupModel:
    """Open the network in a folder, or by default the one that ``rejoinder train nup`` stored in the cache."""
    location = default_nup_folder() if folder is None else Path(folder)
    if folder is None and not (location / CARD_FILE).is_file():
        raise RejoinderError(
            "nup has no trained network here; train one with: rejoinder train nup (minutes on a CPU), or give its "
            "folder: nup(folder='FOLDER')"
        )
    try:
        changed = (location / CARD_FILE).stat().st_mtime_ns
    except OSError:
        changed = 0  # reading will report what is wrong
    model = _open_nup_folder(location, changed)
    record_use(ModelUse.of("nup", str(model.card.about.get("licence", "")), model.digest))
    return model


@lru_cache(maxsize=2)
def _open_nup_folder(folder: Path, changed: int) -> NupModel:
    return NupModel(folder)
