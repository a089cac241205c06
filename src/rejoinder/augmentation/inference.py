"""References by common sense (SCARCE, section 2.1): what the last utterance implies for the person who replies.

There is one interface, ``infer(items)``, and two kinds of source: a knowledge file whose events are matched with the
last utterance, and a generator (COMET, Bosselut et al. 2019) that is asked about it directly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rejoinder.augmentation.commonsense.knowledge import RELATIONS, HeadIndex, Knowledge
from rejoinder.augmentation.commonsense.persons import resolve_second_person, resolve_third_person, retell_as_event
from rejoinder.augmentation.commonsense.templates import SentenceWriter, TemplateTable
from rejoinder.augmentation.proposal import Proposal
from rejoinder.errors import SpecError
from rejoinder.models.base import Encoder
from rejoinder.text.language import looks_english
from rejoinder.text.normalise import normalise_text
from rejoinder.types import Item

INFERENCES_PER_RELATION = 5  # inferences per relation (section 2.1)
MIN_COSINE = 0.4  # cosine from which an utterance may mean an event
_MAX_HEADS = 10
_ALL_RELATIONS = tuple(relation for relations in RELATIONS.values() for relation in relations)


class CommonSense(Protocol):
    """A source of inferences."""

    def infer(self, items: Sequence[Item]) -> list[list[Proposal]]:
        """Return possible replies to each item; none for an item without a context or not in English."""
        ...


class TailGenerator(Protocol):
    """A model that completes inferences."""

    def tails(self, heads: Sequence[str], relation: str, n: int = 5) -> list[list[str]]:
        """Return up to n tails of each event and a relation such as oWant, best first."""
        ...


@dataclass(frozen=True, eq=False)
class MatchedKnowledge:
    """Proposals from the tails of a knowledge file's events that are nearest to the last utterance.

    ``least`` is the cosine from which an event matches. A proposal's score is that cosine.
    """

    knowledge: Knowledge
    encoder: Encoder
    each: int = INFERENCES_PER_RELATION
    least: float = MIN_COSINE
    table: TemplateTable = "default"
    _heads: list[HeadIndex] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        _check_each(self.each)
        self._heads.append(HeadIndex(self.knowledge, self.encoder))

    def infer(self, items: Sequence[Item]) -> list[list[Proposal]]:
        """Return the proposals for each item, nearest event first."""
        texts = [_last_turn_text(item) for item in items]
        matches_by_item = self._heads[0].nearest([text or "" for text in texts], self.least)
        builder = _ProposalBuilder(self.knowledge.source, self.each, self.table)
        inferred: list[list[Proposal]] = []
        for item, text, matches in zip(items, texts, matches_by_item, strict=True):
            proposals: list[Proposal] = []
            for relation in RELATIONS[self.knowledge.kind]:
                tails = (
                    (match.head, tail, match.score)
                    for match in matches[:_MAX_HEADS]
                    for tail in self.knowledge.tails[match.head].get(relation, ())
                )
                proposals += builder.proposals(item, relation, tails, proposals) if text else []
            inferred.append(sorted(proposals, key=lambda proposal: -(proposal.score or 0)))
        return inferred


@dataclass(frozen=True, eq=False)
class GeneratedKnowledge:
    """Proposals from a generator's tails for the last utterance, retold as an event of a knowledge file."""

    generator: TailGenerator
    relations: tuple[str, ...] = _ALL_RELATIONS
    each: int = INFERENCES_PER_RELATION
    table: TemplateTable = "default"
    source: str = "commonsense/comet"

    def __post_init__(self) -> None:
        _check_each(self.each)

    def infer(self, items: Sequence[Item]) -> list[list[Proposal]]:
        """Return the proposals for each item, by relation; the generator sees equal utterances once."""
        builder = _ProposalBuilder(self.source, self.each, self.table)
        heads = [retell_as_event(text) if (text := _last_turn_text(item)) else None for item in items]
        distinct = list(dict.fromkeys(head for head in heads if head is not None))
        inferred: list[list[Proposal]] = [[] for _ in items]
        for relation in self.relations if distinct else ():
            tails_by_head = dict(zip(distinct, self.generator.tails(distinct, relation, self.each), strict=True))
            for item, head, proposals in zip(items, heads, inferred, strict=True):
                if head is not None:
                    tails = [(head, tail, None) for tail in tails_by_head[head]]
                    proposals += list(builder.proposals(item, relation, tails, proposals))
        return inferred


@dataclass(frozen=True)
class _ProposalBuilder:
    """Builds proposals from tails."""

    source: str
    each: int
    table: TemplateTable

    def proposals(
        self,
        item: Item,
        relation: str,
        tails: Iterable[tuple[str, str, float | None]],
        before: Sequence[Proposal],
    ) -> Iterator[Proposal]:
        """Yield up to ``each`` new proposals of a relation."""
        sentences, second, third = SentenceWriter(self.table), resolve_second_person(item), resolve_third_person(item)
        known_texts = {normalise_text(proposal.text) for proposal in before}
        known_texts |= {
            normalise_text(text) for text in (*(r.text for r in item.references), *(t.text for t in item.context))
        }
        past = tuple(turn.text for turn in item.context)
        left = self.each
        for head, tail, score in tails:
            text = sentences.write(relation, tail, second, third)
            if left and text is not None and normalise_text(text) not in known_texts:
                known_texts.add(normalise_text(text))
                left -= 1
                origin = f"{head} | {relation} | {' '.join(tail.replace('~', ' ').split())}"
                yield Proposal(text, self.source, score, origin, past)


def _last_turn_text(item: Item) -> str | None:
    """Return the last turn's text; None if there is none or it is not English, as knowledge and templates are."""
    text = item.context[-1].text.strip() if item.context else ""
    return text if text and looks_english(text) else None


def _check_each(each: int) -> None:
    if each < 1:
        raise SpecError(f"each must be at least 1, found {each}")
