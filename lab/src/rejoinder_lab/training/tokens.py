"""A dialogue corpus as token ids in flat arrays, in which any sequence of turns is one slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError, nearest
from rejoinder.models.tokenization import TextTokenizer
from rejoinder.types import Dialogue

Integers: TypeAlias = NDArray[np.int64]
BETWEEN = 1  # the id between two turns: [unused0] of BERT's vocabulary
_CHUNK_DIALOGUES = 20_000  # dialogues


@dataclass(frozen=True)
class CorpusTokens:
    """The turns of one split, sorted by corpus and dialogue; ``ids`` holds BETWEEN after each turn.

    Turn ``t`` has the ids from ``begin[t]`` to ``end[t]``, dialogue ``d`` the turns from ``first[d]`` to
    ``first[d+1]``, corpus ``c`` the dialogues from ``corpus_first[c]`` to ``corpus_first[c+1]``.
    """

    ids: NDArray[np.int32]
    begin: Integers
    end: Integers
    dialogue: Integers  # of each turn
    first: Integers
    corpus_first: Integers
    corpora: tuple[str, ...]
    same: Integers  # equal numbers for turns of equal ids: what counts as the same reply

    @property
    def turns(self) -> int:
        """The number of turns."""
        return len(self.begin)


def read_corpus_tokens(
    dialogues: Iterable[Dialogue], tokenizer: str, corpora: Sequence[str] = ()
) -> dict[str, CorpusTokens]:
    """Return the tokens of each split; ``corpora`` names the corpora to use (all when empty)."""
    reader = TextTokenizer(tokenizer, max_tokens=0)  # only whole texts are encoded
    corpus_counts: Counter[str] = Counter()  # dialogues of each corpus
    turns_by_split: dict[str, dict[str, list[list[list[int]]]]] = {}
    for chunk in _read_chunks(dialogues):
        corpus_counts.update(dialogue.corpus or "" for dialogue in chunk)
        part = [dialogue for dialogue in chunk if not corpora or dialogue.corpus in corpora]
        encoded = iter(reader.pieces([turn.text for dialogue in part for turn in dialogue.turns]))
        for dialogue in part:
            turns = [ids for ids in (next(encoded) for _ in dialogue.turns) if ids]
            if len(turns) > 1:
                turns_by_split.setdefault(dialogue.split or "train", {}).setdefault(dialogue.corpus or "", []).append(
                    turns
                )
    _check_corpora(corpora, corpus_counts)
    check_corpus_splits(turns_by_split, ("train",))
    return {split: _flatten_corpora(by_corpus) for split, by_corpus in turns_by_split.items()}


def check_corpus_splits(splits: Mapping[str, object], needed: Sequence[str]) -> None:
    """Raise where a split that is needed has no dialogue."""
    for split in needed:
        if split not in splits:
            others = ", ".join(sorted(splits)) or "none"
            raise InputError(
                f"no dialogue of two turns or more has the split {split!r} (found: {others}); "
                "training needs train, valid and test: set the 'split' of each dialogue"
            )


def _check_corpora(wanted: Sequence[str], corpus_counts: Mapping[str, int]) -> None:
    if not corpus_counts:
        raise InputError(
            "no dialogues to train on; give files of dialogues (docs/training.md shows how to make them from logs)"
        )
    for corpus in wanted:
        if corpus not in corpus_counts:
            raise InputError(f"no dialogue belongs to the corpus {corpus!r}; {nearest(corpus, corpus_counts)}")


def _read_chunks(dialogues: Iterable[Dialogue]) -> Iterator[list[Dialogue]]:
    rest = iter(dialogues)
    while part := list(islice(rest, _CHUNK_DIALOGUES)):
        yield part


def _flatten_corpora(by_corpus: dict[str, list[list[list[int]]]]) -> CorpusTokens:
    corpora = tuple(sorted(by_corpus))
    dialogues = [dialogue for corpus in corpora for dialogue in by_corpus[corpus]]
    turns = [turn for dialogue in dialogues for turn in dialogue]
    sizes = np.array([len(dialogue) for dialogue in dialogues])
    lengths = np.array([len(turn) for turn in turns])
    begin = np.concatenate([[0], np.cumsum(lengths + 1)])[:-1]
    ids = np.full(int((lengths + 1).sum()), BETWEEN, np.int32)
    for position, turn in zip(begin, turns, strict=True):
        ids[position : position + len(turn)] = turn
    codes: dict[bytes, int] = {}
    same = [codes.setdefault(np.array(turn, np.int32).tobytes(), len(codes)) for turn in turns]
    return CorpusTokens(
        ids=ids,
        begin=begin,
        end=begin + lengths,
        dialogue=np.repeat(np.arange(len(sizes)), sizes),
        first=np.concatenate([[0], np.cumsum(sizes)]),
        corpus_first=np.concatenate([[0], np.cumsum([len(by_corpus[corpus]) for corpus in corpora])]),
        corpora=corpora,
        same=np.array(same),
    )
