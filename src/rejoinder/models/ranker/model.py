"""A ranker without torch: how well candidates answer a request in a situation, and which statements were read for each.

A blank candidate has no score (NaN). A question without statements is ranked by its request alone, one without a
context by its statements alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.metric import NAN
from rejoinder.models.aptness import card as aptness_card
from rejoinder.models.aptness.calibration import Ids, Numbers
from rejoinder.models.aptness.cross_encoder import PairRow
from rejoinder.models.batching import Rows, batches, pad
from rejoinder.models.catalog.manifest import WEIGHTS, require_model
from rejoinder.models.encoder.onnx import compute_in_parallel, open_session
from rejoinder.models.encoder.tokenization import TextTokenizer, read_tokenizer
from rejoinder.models.ranker import card as cards
from rejoinder.models.ranker.card import RankerCard
from rejoinder.models.ranker.rows import (
    SituationRow,
    candidate_row,
    count_fitting,
    question_texts,
    request_ids,
    situation_rows,
)
from rejoinder.models.ranker.statement_choice import Floats, WordTable, choose_statements, word_similarity
from rejoinder.types import Question


class RankerGraphs:
    """The graphs in a folder, each opened when first needed."""

    def __init__(self, folder: Path, card: RankerCard, shipped: Path) -> None:
        self._folder = folder
        self._padding = card.marks.padding
        self._words = WordTable(shipped / aptness_card.EMBEDDINGS, aptness_card.read_card(shipped).dimensions)

    def scores(self, rows: Sequence[PairRow]) -> Numbers:
        """Return the score of each candidate; equal rows are computed once."""
        place = {row: i for i, row in enumerate(dict.fromkeys(rows))}
        kept = list(place)
        found = np.empty(len(kept))

        def fill(batch: Rows) -> None:
            tokens, mask = pad([kept[i].ids for i in batch], self._padding)
            begins = np.array([kept[i].reply_at for i in batch])
            kinds = mask * (np.arange(mask.shape[1]) >= begins[:, None])
            given = {"words": self._words.vectors(tokens), "attention_mask": mask, "token_type_ids": kinds}
            found[batch] = self._reader.run(["log_odds"], given)[0]

        compute_in_parallel(fill, batches([len(row.ids) for row in kept]))
        return found[[place[row] for row in rows]]

    def odds(self, rows: Sequence[SituationRow]) -> list[Floats]:
        """Return the log-odds of each statement."""
        found: list[Floats] = [np.zeros(0, np.float32)] * len(rows)

        def fill(batch: Rows) -> None:
            tokens, mask = pad([rows[i].ids for i in batch], self._padding)
            places = span_weights([rows[i] for i in batch], tokens.shape[1])
            given = {"words": self._words.vectors(tokens), "attention_mask": mask, "places": places}
            for i, odds in zip(batch, self._chooser.run(["log_odds"], given)[0], strict=True):
                found[i] = odds[: len(rows[i].spans) - 1].copy()

        compute_in_parallel(fill, batches([len(row.ids) for row in rows]))
        return found

    @cached_property
    def _reader(self) -> Any:
        return open_session(self._folder / cards.READER)

    @cached_property
    def _chooser(self) -> Any:
        return open_session(self._folder / cards.CHOOSER)


def span_weights(rows: Sequence[SituationRow], width: int) -> Floats:
    """Return (rows, 1 + statements, tokens): weights that average the words of the request and of each statement."""
    found = np.zeros((len(rows), max(len(row.spans) for row in rows), width), np.float32)
    for n, row in enumerate(rows):
        for at, (start, end) in enumerate(row.spans):
            found[n, at, start:end] = 1 / max(1, end - start)
    return found


class CandidateReader(Protocol):
    """What reads candidates: a graph in onnxruntime, or torch."""

    def scores(self, rows: Sequence[PairRow]) -> Numbers:
        """Return the score of each candidate."""
        ...


class StatementChooser(Protocol):
    """What chooses statements."""

    def odds(self, rows: Sequence[SituationRow]) -> list[Floats]:
        """Return the log-odds of each statement."""
        ...


class Ranking(NamedTuple):
    """A ranker's result for a question: one score per candidate, and the indices of the statements read for each."""

    scores: list[float]
    used: list[tuple[int, ...]]


class _QuestionTokens(NamedTuple):
    """A question as token ids."""

    statements: list[Ids]
    request: list[int]
    candidates: list[Ids]


def shipped_folder() -> Path:
    """Return the folder of the ranker shipped with the package."""
    if not (WEIGHTS / "ranker" / cards.CARD_FILE).is_file():
        raise InputError("no ranker comes with this version; train one with: rejoinder train ranker -o FOLDER")
    return WEIGHTS / "ranker"


def open_ranker(folder: str | Path | None = None) -> RankerModel:
    """Open the ranker in a folder, or by default that of the package, once per process."""
    found = shipped_folder() if folder is None else Path(folder)
    try:
        changed = (found / cards.CARD_FILE).stat().st_mtime_ns
    except OSError:
        changed = 0  # reading the card will report what is wrong
    return _open(found, changed)


@lru_cache(maxsize=2)
def _open(folder: Path, changed: int) -> RankerModel:
    return RankerModel(folder)


class RankerModel:
    """A ranker: a reader of candidates and, if it is situated, a chooser of statements."""

    def __init__(self, folder: Path) -> None:
        self.card = cards.read_card(folder)
        cards.check_files(folder, self.card)
        self.digest = self.card.digest()
        aptness = require_model("aptness")
        if self.card.encoder == cards.EMBEDDED:
            check_word_vectors(aptness, self.card, folder)
        words = folder if (folder / cards.TOKENIZER).is_file() else aptness
        self._tokenizer: TextTokenizer = read_tokenizer(words / cards.TOKENIZER, self.card.limits.row_tokens)
        self._reader, self._chooser = _open_networks(folder, self.card, aptness)
        self._counts = np.fromfile(folder / cards.COUNTS, "<f4") if self.card.kind == "situated" else None
        self._words = WordTable(aptness / aptness_card.EMBEDDINGS, aptness_card.read_card(aptness).dimensions)

    def rank(self, questions: Sequence[Question]) -> list[Ranking]:
        """Return the scores for every question, and the statements that were read."""
        read = self._tokens(questions)
        used = self._used(read)
        rows, places = [], []
        for n, (question, places_of) in enumerate(zip(read, used, strict=True)):
            for c, candidate in enumerate(question.candidates):
                if candidate:
                    statements = [question.statements[place] for place in places_of[c]]
                    row = candidate_row(statements, question.request, candidate, self.card.marks, self.card.limits)
                    rows.append(row)
                    places.append((n, c))
        scores = [[NAN] * len(question.candidates) for question in read]
        for (n, c), score in zip(places, self._reader.scores(rows) if rows else (), strict=True):
            scores[n][c] = float(score)
        return [Ranking(*found) for found in zip(scores, used, strict=True)]

    def used(self, questions: Sequence[Question]) -> list[list[tuple[int, ...]]]:
        """Return the indices of the statements that are read for each candidate."""
        return self._used(self._tokens(questions))

    def odds(self, questions: Sequence[Question]) -> list[Floats]:
        """Return the log-odds that each statement matters to the request; only for a situated ranker."""
        return self._odds(self._tokens(questions))

    def _tokens(self, questions: Sequence[Question]) -> list[_QuestionTokens]:
        texts = [question_texts(question) for question in questions]
        every = list(dict.fromkeys(text for parts in texts for part in parts for text in part))
        ids = {text: tuple(found) for text, found in zip(every, self._tokenizer.pieces(every), strict=True)}
        card = self.card
        return [
            _QuestionTokens(
                [ids[text] for text in statements],
                request_ids([ids[text] for text in context], card.marks, card.limits),
                [ids[text] for text in candidates],
            )
            for statements, context, candidates in texts
        ]

    def _used(self, read: Sequence[_QuestionTokens]) -> list[list[tuple[int, ...]]]:
        if self._counts is None:
            return [[self._fitting(one, candidate) for candidate in one.candidates] for one in read]
        found = []
        for one, odds in zip(read, self._odds(read), strict=True):
            gained = word_similarity(one.statements, one.candidates, self._words, self._counts)
            found.append([choose_statements(odds, of, self.card.choice) for of in gained])
        return found

    def _fitting(self, one: _QuestionTokens, candidate: Ids) -> tuple[int, ...]:
        """Return the indices of the statements that fit into a row."""
        room = count_fitting(one.statements, one.request, candidate, self.card.limits)
        return tuple(place for place in range(room) if one.statements[place])

    def _odds(self, read: Sequence[_QuestionTokens]) -> list[Floats]:
        card = self.card
        if self._chooser is None:
            raise InputError("this ranker reads every statement and has no log-odds for them; use a situated ranker")
        rows = [situation_rows(one.statements, one.request, card.marks, card.limits) for one in read]
        flat = self._chooser.odds([row for of in rows for row in of])
        found, at = [], 0
        for one, of in zip(read, rows, strict=True):
            odds = np.concatenate(flat[at : at + len(of)]) if of else np.zeros(0, np.float32)
            odds[[i for i, statement in enumerate(one.statements) if not statement]] = -np.inf
            found.append(odds)
            at += len(of)
        return found


def check_word_vectors(aptness: Path, card: RankerCard, folder: Path) -> None:
    """Raise if the word vectors are not those that the ranker was trained with."""
    if aptness_card.read_card(aptness).files[aptness_card.EMBEDDINGS] != card.words:
        raise InputError(f"{folder}: was trained with another version of aptness; train it again")


def _open_networks(folder: Path, card: RankerCard, aptness: Path) -> tuple[CandidateReader, StatementChooser | None]:
    if card.encoder == cards.EMBEDDED:
        graphs = RankerGraphs(folder, card, aptness)
        return graphs, graphs if card.kind == "situated" else None
    try:
        from rejoinder.models.ranker.transformers import TorchReader
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "torch", f"the ranker {folder}") from None
    return TorchReader(folder, card), None
