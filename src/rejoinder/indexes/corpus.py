"""Dialogues as arrays: millions of turns in little memory, each identified by its number.

The turns of all dialogues form one sequence. For each there are the number of its dialogue, the code of its speaker and
the code of its text (turns with the same text, ignoring case and punctuation, have the same code); the texts themselves
are stored end to end in one block of bytes.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError
from rejoinder.text.normalise import text_digest
from rejoinder.types import Dialogue, Turn

if TYPE_CHECKING:
    from rejoinder.indexes.speakers import SpeakerIndex

PermanentLabels: TypeAlias = Literal["auto", "yes", "no"]

_ROLES = """
    agent assistant bot boy caller chatbot child client customer doctor driver female girl guest guide helper host human
    interviewer interviewee ai ai-assistant gpt listener machine male man model operator participant patient person
    persuadee persuader player prompter receptionist salesman seeker speaker student supporter system teacher tourist
    turker usr user waiter waitress wizard woman worker
""".split()
_ROLE = re.compile(rf"(?:{'|'.join(_ROLES)})(?:[ _#:-]*(?:\d|[a-z]))?|[a-z]|\d", re.IGNORECASE)


def is_role(label: str) -> bool:
    """Whether a label looks like a role: one letter or digit, or a word for a part that anybody can play."""
    return _ROLE.fullmatch(label.strip()) is not None


Codes: TypeAlias = NDArray[np.int32]
Numbers: TypeAlias = NDArray[np.int64]
Group: TypeAlias = tuple[str | None, str | None]  # split, corpus


@dataclass(frozen=True, eq=False)
class Corpus:
    """Turns in input order, and what is known about each.

    A permanent label is the same speaker in all dialogues of its corpus; any other label is a different speaker in each
    dialogue, and so are the turns without a label (``has_label`` is false for these).
    """

    ids: tuple[str, ...]
    groups: tuple[Group, ...]  # (split, corpus), sorted, so that the corpora of one split are together
    starts: Numbers  # where each dialogue begins, and the end
    group: Codes  # of each dialogue
    speaker: Codes  # of each turn
    has_label: NDArray[np.bool_]  # of each speaker
    permanent: NDArray[np.bool_]  # of each speaker
    text_codes: Codes  # of each turn: the position of its text in ``digests``
    digests: Numbers  # sorted, unique
    _texts: bytes
    _offsets: Numbers

    @classmethod
    def of(cls, dialogues: Iterable[Dialogue], permanent_labels: PermanentLabels = "auto") -> Corpus:
        """Return the corpus of some dialogues, which are iterated over once."""
        builder = _CorpusBuilder()
        for dialogue in dialogues:
            builder.add(dialogue)
        return builder.finish(permanent_labels)

    @property
    def n_turns(self) -> int:
        """The number of turns."""
        return len(self.speaker)

    @cached_property
    def dialogue(self) -> Codes:
        """The number of the dialogue of each turn."""
        return np.repeat(np.arange(len(self.ids), dtype=np.int32), np.diff(self.starts))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each dialogue by its id."""
        return {name: number for number, name in enumerate(self.ids)}

    @cached_property
    def digest(self) -> str:
        """A digest of all texts, their dialogues and their splits."""
        hasher = hashlib.blake2b(digest_size=12)
        splits = [self.groups[code][0] for code in self.group.tolist()]
        for part in (repr((self.ids, splits)).encode("utf-8", "backslashreplace"), self.starts, self._offsets):
            hasher.update(part if isinstance(part, bytes) else part.tobytes())
        hasher.update(self._texts)
        return hasher.hexdigest()

    def text(self, turn: int) -> str:
        """Return the text of a turn."""
        return self._texts[self._offsets[turn] : self._offsets[turn + 1]].decode("utf-8", "surrogatepass")

    def texts(self, turns: Numbers) -> list[str]:
        """Return the texts of some turns, several times faster than one by one."""
        ends = zip(self._offsets[turns].tolist(), self._offsets[turns + 1].tolist(), strict=True)
        return [self._texts[start:end].decode("utf-8", "surrogatepass") for start, end in ends]

    def names(self, turns: Numbers) -> list[str]:
        """Return the ids of some turns: the dialogue's id and the position in it, counted from 0."""
        dialogues = self.dialogue[turns]
        places = (turns - self.starts[dialogues]).tolist()
        return [f"{self.ids[number]}/{place}" for number, place in zip(dialogues.tolist(), places, strict=True)]

    def split(self, turn: int) -> str | None:
        """Return the split of a turn's dialogue."""
        return self.groups[int(self.group[self.dialogue[turn]])][0]

    @cached_property
    def speakers(self) -> SpeakerIndex:
        """The speaker sets, computed once for all sources."""
        from rejoinder.indexes.speakers import SpeakerIndex

        return SpeakerIndex(self)

    def moments(self) -> Numbers:
        """Return all turns that have a context: all but the first of each dialogue."""
        return np.flatnonzero(np.arange(self.n_turns) != self.starts[self.dialogue])


def group_by_corpus(
    dialogues: Iterable[Dialogue], permanent_labels: PermanentLabels = "auto"
) -> dict[str | None, Corpus]:
    """Return the corpora of some dialogues by name, in input order."""
    builders: dict[str | None, _CorpusBuilder] = {}
    for dialogue in dialogues:
        builders.setdefault(dialogue.corpus, _CorpusBuilder()).add(dialogue)
    return {name: builder.finish(permanent_labels) for name, builder in builders.items()}


class _CorpusBuilder:
    """Collects dialogues into the arrays of a corpus."""

    def __init__(self) -> None:
        self.ids: dict[str, None] = {}
        self.groups: dict[Group, int] = {}
        self.labels: dict[tuple[str | None, str | None], int] = {}
        self.roles: list[bool] = []  # of each label
        self.role_counts: dict[str | None, list[int]] = {}  # corpus -> dialogues, dialogues with roles only
        self.group, self.label, self.size = array("i"), array("i"), array("i")
        self.digest, self.length = array("q"), array("q")
        self.texts = bytearray()

    def add(self, dialogue: Dialogue) -> None:
        """Add one dialogue."""
        if dialogue.id in self.ids:
            raise InputError(f"two dialogues have the id {dialogue.id!r}; give each its own id")
        self.ids[dialogue.id] = None
        self.group.append(self.groups.setdefault((dialogue.split, dialogue.corpus), len(self.groups)))
        self.size.append(len(dialogue.turns))
        labels = [self._label(dialogue.corpus, turn) for turn in dialogue.turns]
        self.label.extend(labels)
        counts = self.role_counts.setdefault(dialogue.corpus, [0, 0])
        counts[0] += 1
        counts[1] += all(self.roles[label] for label in labels)
        for turn in dialogue.turns:
            text = turn.text.encode("utf-8", "surrogatepass")
            self.texts += text
            self.length.append(len(text))
            self.digest.append(text_digest(turn.text))

    def _label(self, corpus: str | None, turn: Turn) -> int:
        key = corpus, turn.speaker
        known = self.labels.get(key)
        if known is None:
            known = self.labels[key] = len(self.labels)
            self.roles.append(turn.speaker is None or is_role(turn.speaker))
        return known

    def finish(self, permanent_labels: PermanentLabels) -> Corpus:
        """Return the corpus."""
        if not self.ids:
            raise InputError("there are no dialogues to make a corpus from; give at least one")
        ordered = sorted(self.groups, key=lambda g: tuple((part is not None, part or "") for part in g))
        place = np.empty(len(ordered), dtype=np.int32)
        place[[self.groups[g] for g in ordered]] = np.arange(len(ordered))
        starts = np.concatenate([[0], np.cumsum(self.size, dtype=np.int64)])
        permanent = self._find_permanent_labels(permanent_labels)
        speaker, of_label = self._speakers(starts, permanent)
        has_label = np.array([name is not None for _, name in self.labels], dtype=bool)
        digests, text_codes = np.unique(np.frombuffer(self.digest, dtype=np.int64), return_inverse=True)
        return Corpus(
            tuple(self.ids),
            tuple(ordered),
            starts,
            place[np.frombuffer(self.group, dtype=np.int32)],
            speaker,
            has_label[of_label],
            permanent[of_label],
            text_codes.astype(np.int32),
            digests,
            bytes(self.texts),
            np.concatenate([[0], np.cumsum(self.length, dtype=np.int64)]),
        )

    def _find_permanent_labels(self, choice: PermanentLabels) -> NDArray[np.bool_]:
        """Return whether each label is permanent."""
        by_name = {corpus: 2 * roles <= all_of_it for corpus, (all_of_it, roles) in self.role_counts.items()}
        permanent = {corpus: by_name[corpus] if choice == "auto" else choice == "yes" for corpus in by_name}
        return np.array([name is not None and permanent[corpus] for corpus, name in self.labels], dtype=bool)

    def _speakers(self, starts: Numbers, permanent: NDArray[np.bool_]) -> tuple[Codes, Codes]:
        """Return the speaker of each turn, and the label of each speaker."""
        label = np.frombuffer(self.label, dtype=np.int32).astype(np.int64)
        dialogue = np.repeat(np.arange(1, len(starts)), np.diff(starts))
        scope = np.where(permanent[label], 0, dialogue)
        keys, speaker = np.unique(scope * len(permanent) + label, return_inverse=True)
        return speaker.astype(np.int32), (keys % len(permanent)).astype(np.int32)


def find_text_codes(corpus: Corpus, texts: Sequence[str]) -> Numbers:
    """Return the codes of some texts, without those that do not occur in the corpus."""
    digests = np.array([text_digest(text) for text in texts], dtype=np.int64)
    places = np.minimum(np.searchsorted(corpus.digests, digests), len(corpus.digests) - 1)
    known: Numbers = places[corpus.digests[places] == digests]
    return known
