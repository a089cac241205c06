"""A ranker without torch: how well candidates answer a request in a situation, and which statements were read for each.

A blank candidate has no score (NaN). A question without statements is ranked by its request alone, one without a
context by its statements alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.metric import NAN
from rejoinder.model_use import ModelUse, record_use
from rejoinder.models import aptness_card
from rejoinder.models.aptness.calibration import Ids, Numbers
from rejoinder.models.aptness.cross_encoder import PairRow
from rejoinder.models.batching import Rows, pad_token_ids, split_into_batches
from rejoinder.models.catalog.manifest import require_model
from rejoinder.models.onnx.session import compute_in_parallel, open_session
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
from rejoinder.models.ranker.settings import EMBEDDED
from rejoinder.models.ranker.statement_choice import Floats, WordTable, choose_statements_to_read, word_similarity
from rejoinder.models.tokenization import TextTokenizer, read_tokenizer
from rejoinder.models.weight_sets import WeightSet, default_set, set_of, weights_folder
from rejoinder.types import Question


class RankerGraphs:
    """The graphs in a folder, each opened when first needed."""

    def __init__(self, folder: Path, card: RankerCard, shipped: Path) -> None:
        self._folder = folder
        self._padding = card.marks.padding
        self._words = WordTable(shipped / aptness_card.EMBEDDINGS, aptness_card.read_aptness_card(shipped).dimensions)

    def scores(self, rows: Sequence[PairRow]) -> Numbers:
        """Return the score of each candidate; equal rows are computed once."""
        index = {row: i for i, row in enumerate(dict.fromkeys(rows))}
        distinct = list(index)
        values = np.empty(len(distinct))

        def fill(batch: Rows) -> None:
            tokens, mask = pad_token_ids([distinct[i].ids for i in batch], self._padding)
            reply_starts = np.array([distinct[i].reply_at for i in batch])
            segments = mask * (np.arange(mask.shape[1]) >= reply_starts[:, None])
            inputs = {"words": self._words.vectors(tokens), "attention_mask": mask, "token_type_ids": segments}
            values[batch] = self._reader.run(["log_odds"], inputs)[0]

        compute_in_parallel(fill, split_into_batches([len(row.ids) for row in distinct]))
        return values[[index[row] for row in rows]]

    def odds(self, rows: Sequence[SituationRow]) -> list[Floats]:
        """Return the log-odds of each statement."""
        results: list[Floats] = [np.zeros(0, np.float32)] * len(rows)

        def fill(batch: Rows) -> None:
            tokens, mask = pad_token_ids([rows[i].ids for i in batch], self._padding)
            spans = span_weights([rows[i] for i in batch], tokens.shape[1])
            inputs = {"words": self._words.vectors(tokens), "attention_mask": mask, "places": spans}
            for i, odds in zip(batch, self._chooser.run(["log_odds"], inputs)[0], strict=True):
                results[i] = odds[: len(rows[i].spans) - 1].copy()

        compute_in_parallel(fill, split_into_batches([len(row.ids) for row in rows]))
        return results

    @cached_property
    def _reader(self) -> Any:
        return open_session(self._folder / cards.READER)

    @cached_property
    def _chooser(self) -> Any:
        return open_session(self._folder / cards.CHOOSER)


def span_weights(rows: Sequence[SituationRow], width: int) -> Floats:
    """Return (rows, 1 + statements, tokens): weights that average the words of the request and of each statement."""
    weights = np.zeros((len(rows), max(len(row.spans) for row in rows), width), np.float32)
    for n, row in enumerate(rows):
        for index, (start, end) in enumerate(row.spans):
            weights[n, index, start:end] = 1 / max(1, end - start)
    return weights


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


class RankerScores(NamedTuple):
    """A ranker's result for a question: one score per candidate, and the indices of the statements read for each."""

    scores: list[float]
    used: list[tuple[int, ...]]


class _QuestionTokens(NamedTuple):
    """A question as token ids."""

    statements: list[Ids]
    request: list[int]
    candidates: list[Ids]


def shipped_ranker_folder() -> Path:
    """Return the folder of the ranker of the default weights."""
    folder = weights_folder("ranker")
    if not (folder / cards.CARD_FILE).is_file():
        raise InputError("no ranker comes with this version; train one with: rejoinder train ranker -o FOLDER")
    return folder


def open_ranker(folder: str | Path | None = None) -> RankerModel:
    """Open the ranker in a folder, or by default that of the package, once per process."""
    location = shipped_ranker_folder() if folder is None else Path(folder)
    try:
        changed = (location / cards.CARD_FILE).stat().st_mtime_ns
    except OSError:
        changed = 0  # reading the card will report what is wrong
    model = _open_ranker_folder(location, changed, default_set())
    record_use(ModelUse.of("ranker", str(model.card.about.get("licence", "")), model.digest, set_of(location)))
    return model


@lru_cache(maxsize=2)
def _open_ranker_folder(folder: Path, changed: int, weights: WeightSet) -> RankerModel:
    return RankerModel(folder)


class RankerModel:
    """A ranker: a reader of candidates and, if it is situated, a chooser of statements."""

    def __init__(self, folder: Path) -> None:
        self.card = cards.read_ranker_card(folder)
        cards.check_ranker_files(folder, self.card)
        self.digest = self.card.digest()
        aptness = require_model("aptness")
        if self.card.encoder == EMBEDDED or self.card.kind == "situated":
            check_word_vectors(aptness, self.card, folder)
        words = folder if (folder / cards.TOKENIZER).is_file() else aptness
        self._tokenizer: TextTokenizer = read_tokenizer(words / cards.TOKENIZER, self.card.limits.row_tokens)
        self._chooser_tokenizer, self._chooser_marks = self._tokenizer, self.card.marks
        if words != aptness and self.card.kind == "situated":  # the reader's tokeniser is not the chooser's
            self._chooser_tokenizer = read_tokenizer(aptness / cards.TOKENIZER, self.card.limits.row_tokens)
            self._chooser_marks = aptness_card.read_aptness_card(aptness).marks
        self._reader, self._chooser = _open_networks(folder, self.card, aptness)
        self._counts = np.fromfile(folder / cards.COUNTS, "<f4") if self.card.kind == "situated" else None
        self._words = WordTable(aptness / aptness_card.EMBEDDINGS, aptness_card.read_aptness_card(aptness).dimensions)

    def rank(self, questions: Sequence[Question]) -> list[RankerScores]:
        """Return the scores for every question, and the statements that were read."""
        chooser_tokens = self._tokens(questions)
        used = self._used(chooser_tokens)
        is_shared = self._tokenizer is self._chooser_tokenizer
        tokens = chooser_tokens if is_shared else self._tokens(questions, for_reader=True)
        rows, positions = [], []
        for n, (question, used_statements) in enumerate(zip(tokens, used, strict=True)):
            for c, candidate in enumerate(question.candidates):
                if candidate:
                    statements = [question.statements[statement_index] for statement_index in used_statements[c]]
                    row = candidate_row(statements, question.request, candidate, self.card.marks, self.card.limits)
                    rows.append(row)
                    positions.append((n, c))
        scores = [[NAN] * len(question.candidates) for question in tokens]
        for (n, c), score in zip(positions, self._reader.scores(rows) if rows else (), strict=True):
            scores[n][c] = float(score)
        return [RankerScores(*result) for result in zip(scores, used, strict=True)]

    def used(self, questions: Sequence[Question]) -> list[list[tuple[int, ...]]]:
        """Return the indices of the statements that are read for each candidate."""
        return self._used(self._tokens(questions))

    def odds(self, questions: Sequence[Question]) -> list[Floats]:
        """Return the log-odds that each statement matters to the request; only for a situated ranker."""
        return self._odds(self._tokens(questions))

    def _tokens(self, questions: Sequence[Question], for_reader: bool = False) -> list[_QuestionTokens]:
        tokenizer = self._tokenizer if for_reader else self._chooser_tokenizer
        marks = self.card.marks if for_reader else self._chooser_marks
        texts = [question_texts(question) for question in questions]
        distinct = list(dict.fromkeys(text for parts in texts for part in parts for text in part))
        ids = {text: tuple(pieces) for text, pieces in zip(distinct, tokenizer.pieces(distinct), strict=True)}
        return [
            _QuestionTokens(
                [ids[text] for text in statements],
                request_ids([ids[text] for text in context], marks, self.card.limits),
                [ids[text] for text in candidates],
            )
            for statements, context, candidates in texts
        ]

    def _used(self, tokens: Sequence[_QuestionTokens]) -> list[list[tuple[int, ...]]]:
        if self._counts is None:
            return [
                [self._fitting_statements(question, candidate) for candidate in question.candidates]
                for question in tokens
            ]
        used = []
        for question, odds in zip(tokens, self._odds(tokens), strict=True):
            similarities = word_similarity(question.statements, question.candidates, self._words, self._counts)
            used.append([choose_statements_to_read(odds, similarity, self.card.choice) for similarity in similarities])
        return used

    def _fitting_statements(self, question: _QuestionTokens, candidate: Ids) -> tuple[int, ...]:
        """Return the indices of the statements that fit into a row."""
        room = count_fitting(question.statements, question.request, candidate, self.card.limits)
        return tuple(index for index in range(room) if question.statements[index])

    def _odds(self, tokens: Sequence[_QuestionTokens]) -> list[Floats]:
        if self._chooser is None:
            raise InputError("this ranker reads every statement and has no log-odds for them; use a situated ranker")
        rows = [
            situation_rows(question.statements, question.request, self._chooser_marks, self.card.limits)
            for question in tokens
        ]
        flat_odds = self._chooser.odds([row for question_rows in rows for row in question_rows])
        results, start = [], 0
        for question, question_rows in zip(tokens, rows, strict=True):
            odds = (
                np.concatenate(flat_odds[start : start + len(question_rows)])
                if question_rows
                else np.zeros(0, np.float32)
            )
            odds[[i for i, statement in enumerate(question.statements) if not statement]] = -np.inf
            results.append(odds)
            start += len(question_rows)
        return results


def check_word_vectors(aptness: Path, card: RankerCard, folder: Path) -> None:
    """Raise if the word vectors are not those that the ranker was trained with."""
    if aptness_card.read_aptness_card(aptness).files[aptness_card.EMBEDDINGS] != card.words:
        raise InputError(f"{folder}: was trained with another version of aptness; train it again")


def _open_networks(folder: Path, card: RankerCard, aptness: Path) -> tuple[CandidateReader, StatementChooser | None]:
    if card.encoder == EMBEDDED:
        graphs = RankerGraphs(folder, card, aptness)
        return graphs, graphs if card.kind == "situated" else None
    try:
        from rejoinder.models.ranker.transformers import TorchReader
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "torch", f"the ranker {folder}") from None
    if card.kind == "cross":
        return TorchReader(folder, card), None
    marks = aptness_card.read_aptness_card(aptness).marks
    return TorchReader(folder, card), RankerGraphs(folder, replace(card, marks=marks), aptness)
