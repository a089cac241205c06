"""References by retrieval (SCARCE, section 2.1): turns of a corpus whose past, reply and future are similar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rejoinder import spec as specs
from rejoinder.augmentation.proposal import Proposal
from rejoinder.data.inputs import Input
from rejoinder.errors import InputError, SpecError
from rejoinder.indexes.three_field.bm25 import FieldHit, FieldIndex, Once, Settings
from rejoinder.indexes.three_field.cache import Dialogues, ThreeFieldKind, open_three_field
from rejoinder.indexes.three_field.fields import FIELD_NAMES
from rejoinder.text.normalise import normalise_text
from rejoinder.text.tokens import TokenizerName
from rejoinder.types import Dialogue, Item, Record, Turn

SOURCE = "retrieval"
_SPARE = 8  # hits beyond n that are requested at once, since some repeat known texts


@dataclass(frozen=True)
class Retrieval:
    """How references are retrieved: the parameters of the index and of the similarity.

    With ``past_alone``, every second proposal is found by the past alone, as in the lists that the authors released.
    """

    kind: ThreeFieldKind = "bm25"
    k1: float = 0.5
    b: float = 0.7
    past: int = 2
    future: int = 2
    epsilon: float = 1e-3
    encoder: str = "aptness"
    weight: float = 17.0
    past_alone: bool = False
    tokenizer: TokenizerName = "words"
    lowercase: bool = True
    once: Once = "never"

    def __str__(self) -> str:
        return specs.format_spec("retrieval", self)

    def over(self, dialogues: Sequence[Dialogue] | Dialogues, digest: str | None = None) -> RetrievalSource:
        """Return the source for a corpus; its index is built once and cached.

        Dialogues that do not fit into memory can be passed as a function that reads them, with a digest of its data.
        """
        encoder = None
        if self.kind != "bm25":
            from rejoinder.models.encoder.factory import load_encoder

            encoder = load_encoder(self.encoder)
        index = open_three_field(
            dialogues if callable(dialogues) else lambda: dialogues,
            self.kind,
            digest=digest,
            settings=Settings(self.k1, self.b, self.past, self.future, self.tokenizer, self.lowercase, self.once),
            epsilon=self.epsilon,
            encoder=encoder,
            weight=self.weight,
        )
        return RetrievalSource(index, self.past_alone)

    def over_file(self, file: str) -> RetrievalSource:
        """Return the source for the dialogues of a file or of ``dataset:NAME`` (without any, those of its items)."""
        source = Input(file)
        try:
            return self.over(lambda: _read_dialogues(source), source.digest)
        finally:
            source.close()


def _read_dialogues(source: Input) -> Iterator[Dialogue]:
    empty = True
    for dialogue in collect_dialogues(record for record, _ in source.records(allow_empty=True)):
        empty = False
        yield dialogue
    if empty:
        raise InputError(f"{source.called}: has neither dialogues nor items to retrieve from; name a file of dialogues")


def collect_dialogues(records: Iterable[Record]) -> Iterator[Dialogue]:
    """Yield the dialogues among some records; if there are none, the dialogues that the items come from.

    Items of one dialogue are mostly beginnings of it of different lengths, so the longest represents it.
    """
    longest: dict[str, Item] = {}
    has_dialogues = False
    for record in records:
        if isinstance(record, Dialogue):
            has_dialogues = True
            yield record
        elif isinstance(record, Item) and not has_dialogues:
            name = record.dialogue or record.id
            if name not in longest or _count_turns(record) > _count_turns(longest[name]):
                longest[name] = record
    for name, item in longest.items() if not has_dialogues else ():
        yield Dialogue(name, (*item.context, *(Turn(r.text) for r in item.references[:1]), *item.future))


def _count_turns(item: Item) -> int:
    return len(item.context) + bool(item.references) + len(item.future)


@dataclass(frozen=True, eq=False)
class RetrievalSource:
    """A corpus that references are retrieved from."""

    index: FieldIndex
    past_alone: bool = False

    def propose(self, items: Sequence[Item], n: int = 10, split: str | None = None) -> list[list[Proposal]]:
        """Return up to n proposals for each item, best first; none for an item without context, reference and future.

        Texts that say the same as a reference, a turn of the context or a better proposal are not proposed (ignoring
        case and punctuation). ``past`` of a proposal is what came before the turn in its own dialogue.
        """
        if n < 1:
            raise SpecError(f"n must be at least 1, found {n}")
        whole = self.search(items, n, FIELD_NAMES, split)
        if not self.past_alone:
            return whole
        return [
            _interleave_hits(*lists, n)
            for lists in zip(whole, self.search(items, n, FIELD_NAMES[:1], split), strict=True)
        ]

    def search(
        self, items: Sequence[Item], n: int, fields: Sequence[str] = FIELD_NAMES, split: str | None = None
    ) -> list[list[Proposal]]:
        """Return up to n proposals for each item by some of the fields, best first; texts as in ``propose``."""
        proposals: list[list[Proposal]] = [[] for _ in items]
        rows, size = list(range(len(items))), n + _SPARE
        while rows:
            hits = self.index.search([items[row] for row in rows], size, split=split, fields=fields)
            for row, item_hits in zip(rows, hits, strict=True):
                proposals[row] = _choose_new_hits(items[row], item_hits, n)
            rows = [
                row
                for row, item_hits in zip(rows, hits, strict=True)
                if len(proposals[row]) < n and len(item_hits) == size
            ]
            size *= 4
        return proposals


def _interleave_hits(first: Sequence[Proposal], second: Sequence[Proposal], n: int) -> list[Proposal]:
    """Return the first n texts of two lists that take turns, each text once; if one ends, the other continues."""
    by_text: dict[str, Proposal] = {}
    for one in (one for both in zip_longest(first, second) for one in both if one is not None):
        if len(by_text) < n:
            by_text.setdefault(normalise_text(one.text), one)
    return list(by_text.values())


def _choose_new_hits(item: Item, hits: list[FieldHit], n: int) -> list[Proposal]:
    """Return the first n hits whose texts are new."""
    texts = [*(reference.text for reference in item.references), *(turn.text for turn in item.context)]
    known_texts = {normalise_text(text) for text in texts}
    chosen: list[Proposal] = []
    for hit in hits:
        words = normalise_text(hit.text)
        if words not in known_texts:
            known_texts.add(words)
            chosen.append(Proposal(hit.text, SOURCE, hit.score, past=hit.past))
            if len(chosen) == n:
                break
    return chosen
