"""Turns by three fields, as SCARCE retrieves them (Gangal et al. 2021, Appendix C).

Sim(d, x) = log S(d past, x past) + log S(d response, x response) + log S(d future, x future)

where S is BM25 with idf ln(N / df), k1 = 0.5 and b = 0.7; past and future are windows of two turns. A word that
occurs twice in the query counts twice (the sum of Appendix C goes over the words of q as they come). N and the mean
length are those of all turns, with or without the field. A field that the item does not have is left out for all turns;
a turn whose field is missing, or scores below epsilon, gets log(epsilon) there. ``Settings`` has other words and
weights, such as those that come nearest to the lists that the authors released (docs/augmenting.md).
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import SpecError
from rejoinder.indexes.one_field import folder as _folder
from rejoinder.indexes.one_field import passage_store, posting_weights
from rejoinder.indexes.one_field.base import passages
from rejoinder.indexes.one_field.postings import Postings, Vocabulary, sort_postings, weigh_postings
from rejoinder.indexes.three_field import copies
from rejoinder.indexes.three_field.fields import FIELD_NAMES, FieldHit, FieldIndex, Fields, Windows, is_same_dialogue
from rejoinder.indexes.three_field.search import EPSILON, FieldSearch, SimilarityBounds
from rejoinder.spec import check_choice, check_tokenizer
from rejoinder.text.tokens import TokenizerName, Tokens, get_tokenizer
from rejoinder.types import Dialogue

__all__ = ["FieldHit", "FieldIndex", "Once", "Settings", "ThreeFieldIndex", "write_three_field_turns"]

Once: TypeAlias = Literal["never", "query", "both"]
_LOG_ROUNDING = 2.0**-18  # the error of logarithms and their sum in single precision


@dataclass(frozen=True)
class Settings:
    """What determines the scores of an index besides its turns and epsilon.

    ``once``: where a word counts once however often it occurs: nowhere, in the query, or in the query and in the fields
    of a turn (so that their length is the number of different words).
    """

    k1: float = 0.5
    b: float = 0.7
    past: int = 2
    future: int = 2
    tokenizer: TokenizerName = "words"
    lowercase: bool = True
    once: Once = "never"

    def __post_init__(self) -> None:
        check_tokenizer("a three-field index", self.tokenizer, self.lowercase)
        check_choice("a three-field index", "once", self.once, Once)
        if not (math.isfinite(self.k1) and self.k1 >= 0 and 0 <= self.b <= 1):
            raise SpecError(f"k1 must be at least 0 and b between 0 and 1, found k1={self.k1} and b={self.b}")
        self.windows()

    def windows(self) -> Windows:
        """Return the windows of turns around a turn that count."""
        return Windows(self.past, self.future)

    def tokens(self, text: str) -> Tokens:
        """Return the words of a text."""
        return get_tokenizer(self.tokenizer, self.lowercase)(text)


class ThreeFieldIndex(FieldSearch):
    """An index of turns by the words of three fields; make one with ``build``, reopen it with ``open``."""

    kind = "three_field"

    def __init__(self, folder: Path, epsilon: float = EPSILON) -> None:
        manifest = _folder.read_index_manifest(folder, self.kind)
        self.settings = _folder.parse_index_settings(manifest, folder, Settings)
        super().__init__(folder, manifest, self.settings.windows(), epsilon)
        self._fields = [posting_weights.WeightMatrix(manifest.folders(folder, name)[0]) for name in FIELD_NAMES]
        if any(len(field.postings.lengths) != len(self) for field in self._fields):
            raise _folder.index_damage_error(folder, "its parts do not match")

    @classmethod
    def build(
        cls,
        dialogues: Iterable[Dialogue],
        folder: str | Path,
        *,
        settings: Settings | None = None,
        epsilon: float = EPSILON,
    ) -> ThreeFieldIndex:
        """Index all turns of dialogues into a new folder."""
        settings = settings or Settings()
        target = Path(folder)
        with _folder.new_index_folder(target) as new:
            _folder.write_index_manifest(new, _write_index(dialogues, new, settings))
        return cls(target, epsilon)

    @classmethod
    def open(cls, folder: str | Path, *, epsilon: float = EPSILON) -> ThreeFieldIndex:
        """Open an index that was built before, memory-mapped."""
        return cls(Path(folder), epsilon)

    def _words(self, texts: Sequence[str]) -> Counter[int]:
        """Return the words of a field that the index knows, in order, with their counts."""
        known = self._fields[0].words
        words: Iterable[str] = (word for text in texts for word in self.settings.tokens(text))
        if self.settings.once != "never":
            words = dict.fromkeys(words)
        return Counter(number for word in words if (number := known.get(word)) is not None)

    def _bounds(self, queries: Sequence[Fields]) -> Iterator[SimilarityBounds]:
        for query in queries:
            total: NDArray[np.float32] = np.zeros(len(self), np.float32)
            slack = _LOG_ROUNDING
            for field, texts in zip(self._fields, query, strict=True):
                if texts:
                    words = self._words(texts)
                    rough = field.rough_scores(words)
                    np.maximum(rough, np.float32(self.epsilon), out=rough)
                    total += np.log(rough, out=rough)
                    slack += posting_weights.score_rounding_error(words)
            yield SimilarityBounds(total - np.float32(slack), total + np.float32(slack))

    def _logs(self, query: Fields, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        logs = np.zeros((len(numbers), len(FIELD_NAMES)))
        for column, field, texts in zip(logs.T, self._fields, query, strict=True):
            if texts:
                scores = field.scores(self._words(texts), numbers.astype(np.int32))
                column[:] = np.log(np.maximum(scores, self.epsilon))
        return logs


class _TurnWords(NamedTuple):
    """The words of all turns in one array, how many each turn has, and how many turns each dialogue has."""

    flat: NDArray[np.int32]
    lengths: NDArray[np.int32]
    sizes: NDArray[np.int32]


def _write_index(dialogues: Iterable[Dialogue], folder: Path, settings: Settings) -> _folder.IndexManifest:
    """Write all parts; return the manifest."""
    vocabulary = Vocabulary()
    texts, pairs, words = write_three_field_turns(dialogues, folder, vocabulary, settings)
    parts = [texts, pairs]
    for name, postings in _field_postings(words, settings.windows(), len(vocabulary)):
        if settings.once == "both":
            postings = _count_once(postings)
        with _folder.new_index_part(folder, name) as new:
            weights = weigh_postings(postings, settings.k1, settings.b)
            posting_weights.save_posting_weights(new, postings, weights, vocabulary, settings.k1, settings.b)
            parts.append(_folder.seal_index_part(new, name))
    counts = {"passages": len(words.lengths), "words": len(vocabulary), "tokens": len(words.flat)}
    return _folder.IndexManifest(ThreeFieldIndex.kind, asdict(settings), counts, tuple(parts))


def _count_once(postings: Postings) -> Postings:
    """Return the postings with each word of a passage counted once."""
    lengths = np.bincount(postings.passages, minlength=len(postings.lengths)).astype(np.int32)
    return postings._replace(counts=np.ones_like(postings.counts), lengths=lengths)


def write_three_field_turns(
    dialogues: Iterable[Dialogue], folder: Path, vocabulary: Vocabulary, settings: Settings | None = None
) -> tuple[_folder.IndexPart, _folder.IndexPart, _TurnWords]:
    """Write the turns and the pairs of adjacent turns, which are compared by their letters whatever the settings."""
    settings, words_of = settings or Settings(), get_tokenizer("words")
    flat, lengths, digests = array("i"), array("i"), array("Q")
    with _folder.new_index_part(folder, passage_store.ROLE) as new:
        for text in passage_store.record_passages(passages(dialogues), new):
            tokens = settings.tokens(text)
            flat.extend(map(vocabulary.__getitem__, tokens))
            lengths.append(len(tokens))
            digests.append(copies.hash_letters(copies.text_letters(words_of(text), text)))
        turns = _folder.seal_index_part(new, passage_store.ROLE)
    sizes = np.array(passage_store.load_array(folder / turns.name, "sizes"))
    with _folder.new_index_part(folder, copies.ROLE) as new:
        copies.save_pairs(new, np.asarray(digests, np.uint64), sizes)
        pairs = _folder.seal_index_part(new, copies.ROLE)
    return turns, pairs, _TurnWords(np.asarray(flat), np.asarray(lengths), sizes)


def _field_postings(words: _TurnWords, windows: Windows, n_words: int) -> Iterator[tuple[str, Postings]]:
    """Yield the postings of each field: a word counts for the turns whose window contains it."""
    turns = len(words.lengths)
    dialogue = np.repeat(np.arange(len(words.sizes)), words.sizes)
    turn_of = np.repeat(np.arange(turns), words.lengths)
    for name, steps in zip(FIELD_NAMES, windows.steps(), strict=True):
        owners, flat = [], []
        for step in steps:
            # A turn's words are in the past of the turns after it and in the future of those before it.
            owner = np.arange(turns) - step
            inside = is_same_dialogue(owner, dialogue)[turn_of]
            owners.append(owner[turn_of[inside]])
            flat.append(words.flat[inside])
        owned = np.concatenate(owners)
        lengths = np.bincount(owned, minlength=turns).astype(np.int32)
        yield name, sort_postings(np.concatenate(flat), owned, lengths, n_words)
