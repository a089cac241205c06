"""Pools: for each true reply, utterances that are like it, found with the reply as the query and never the context.

The sources take turns, so that none fills the pool alone (Sato et al. 2020, Appendix A: lexical and by vectors). Left
out is what says nearly the same as the true reply, a turn of the context or an earlier find; what has no content word
of the reply ("related" in section 3.1) or is written in another form; what training files say; what comes from another
copy of the question's own dialogue; and what lies outside the drawn share of the repository.

A pool is a question whose candidates are the true reply (grade "true") and the finds (no grade), in an order that the
seed draws, with ids that give nothing away.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rejoinder.data.questions import TRUE
from rejoinder.errors import InputError, SpecError
from rejoinder.models.catalog.manifest import ModelMissingError
from rejoinder.seeded import stable_shuffle
from rejoinder.selection.candidate_filter import CandidateFilter, tidy_text
from rejoinder.selection.contexts import ContextItems, collect_contexts
from rejoinder.selection.leakage import TrainingTexts, find_copies, scan_training
from rejoinder.selection.settings import SelectionSettings
from rejoinder.sources import Corpus, Proposer, Source, parse_source
from rejoinder.types import Candidate, Dialogue, Item, Question, Record, Turn

LEFT_OUT_KEY = "left_out"  # where a pool says what was left out of it
_FIRST = 3  # times the pool: how many a source is asked for at once
_MORE = 4  # times as many the next time
_MOST = 50  # times the pool: a source that had too little among so many has too little


@dataclass(eq=False)
class PoolFinder:
    """Finds pools in a repository; ``meta`` of a pool says what was left out, and how often for which reason."""

    corpus: Corpus
    settings: SelectionSettings
    training: TrainingTexts = field(default_factory=TrainingTexts)

    def __post_init__(self) -> None:
        specs = ["random"] if self.settings.random else self.settings.sources
        self._sources = [_parse_reply_source(spec) for spec in specs]
        self._proposers: list[Proposer] = [_open_source(source, self.corpus) for source in self._sources]
        self._size = self.settings.false if self.settings.random else self.settings.pool

    def sources(self) -> list[dict[str, Any]]:
        """What a card says of where candidates come from; ``model`` is the digest of what makes the vectors."""
        told = []
        for source, proposer in zip(self._sources, self._proposers, strict=True):
            encoder = getattr(getattr(proposer, "index", None), "encoder", None)
            model = {} if encoder is None else {"model": f"{encoder.name} {encoder.digest[:12]}"}
            told.append({"spec": str(source), "version": source.version, "citation": source.citation, **model})
        return told

    def pools(self, items: Sequence[Item]) -> list[Question]:
        """The pool of each item, in order; one that has fewer than asked for is short."""
        copies = find_copies(items, self.corpus)
        kept: list[list[Candidate]] = [[] for _ in items]
        why: list[Counter[str]] = [Counter() for _ in items]
        pending, k = list(range(len(items))), _FIRST * self._size
        while pending:
            asked = [items[n] for n in pending]
            lists = [proposer.propose(asked, k, self.settings.seed) for proposer in self._proposers]
            again = []
            for row, n in enumerate(pending):
                found = [of_source[row] for of_source in lists]
                kept[n], why[n] = self._mixed(CandidateFilter(items[n], self.settings, self.training, copies[n]), found)
                if len(kept[n]) < self._size and any(len(one) == k for one in found):
                    again.append(n)
            k *= _MORE
            pending = again if k <= _MOST * self._size else []
        return [self._pool(*of_item) for of_item in zip(items, kept, why, strict=True)]

    def _mixed(
        self, sieve: CandidateFilter, found: Sequence[Sequence[Candidate]]
    ) -> tuple[list[Candidate], Counter[str]]:
        """What the sources found, in turns, as many as fit into a pool; and what was left out on the way."""
        kept: list[Candidate] = []
        why: Counter[str] = Counter()
        shelves = [iter(list(enumerate(of_source, start=1))) for of_source in found]
        while shelves and len(kept) < self._size:
            shelf = shelves.pop(0)
            candidate = _next_usable(shelf, sieve, why)
            if candidate is not None:
                kept.append(dataclasses.replace(candidate, meta={**candidate.meta, "place": len(kept) + 1}))
                shelves.append(shelf)
        return kept, why

    def _pool(self, item: Item, found: Sequence[Candidate], why: Counter[str]) -> Question:
        shown = tidy_text if self.settings.tidy else str
        truth = Candidate(item.references[0].text, None, TRUE, item.references[0].source)
        by_name = {str(n): one for n, one in enumerate([truth, *found])}
        order = stable_shuffle(by_name, self.settings.seed, "pool", item.id)
        candidates = tuple(
            dataclasses.replace(by_name[name], id=f"c{n}", text=shown(by_name[name].text))
            for n, name in enumerate(order, start=1)
        )
        meta = {key: value for key, value in item.meta.items() if key != "split"}
        if why:
            meta[LEFT_OUT_KEY] = dict(sorted(why.items()))
        context = tuple(Turn(shown(turn.text), turn.speaker) for turn in item.context)
        return Question(item.id, context, candidates, item.situation, item.dialogue, item.meta.get("split"), meta)


def _next_usable(shelf: Iterator[tuple[int, Candidate]], sieve: CandidateFilter, why: Counter[str]) -> Candidate | None:
    """The next find of a source that may stay, with where it was found."""
    for rank, candidate in shelf:
        dialogue, _, turn = (candidate.id or "").rpartition("/")
        reason = sieve.reason(candidate.text, dialogue)
        if reason is None:
            meta = {**candidate.meta, "dialogue": dialogue, "turn": int(turn), "rank": rank}
            return dataclasses.replace(candidate, meta=meta)
        if reason:
            why[reason] += 1
    return None


def _parse_reply_source(spec: str) -> Source:
    """The source of a spec; one that retrieves must be asked with the reply, never with the context."""
    source = parse_source(spec)
    query = getattr(source, "query", "reply")
    if query != "reply":
        raise SpecError(
            f"{source} is asked with the {query}: false candidates would be replies to it, and many acceptable; "
            "write query='reply'"
        )
    return source


def _open_source(source: Source, corpus: Corpus) -> Proposer:
    try:
        return source.over(corpus)
    except ModelMissingError as error:
        instead = "--source \"bm25(query='reply')\" --source \"dense(query='reply')\""
        raise SpecError(f"{error}; or name sources that need no other model: {instead}") from None


@dataclass(frozen=True, eq=False)
class PoolSearch:
    """Items that have no part in training, what finds their pools, and what the card says of all this."""

    items: tuple[Item, ...]
    proposing: PoolFinder
    facts: Mapping[str, Any] = field(default_factory=dict)


def open_pool_search(
    dialogues: Iterable[Dialogue | Item | Question],
    repository: Iterable[Dialogue] | Corpus,
    settings: SelectionSettings,
    training: Iterable[Record] | TrainingTexts = (),
) -> PoolSearch:
    """Take the items, hold them and the repository against what systems were trained on, and open the sources.

    What was held against them before (``leakage.scan`` of the same items) need not be read again.
    """
    taken = collect_contexts(dialogues, settings)
    corpus = repository if isinstance(repository, Corpus) else Corpus.of(repository)
    seen = training if isinstance(training, TrainingTexts) else scan_training(training, taken.items)
    items = tuple(item for item in taken.items if not seen.leaked(item))
    blocked = int(seen.blocked(corpus)[corpus.said].sum())
    if not items:
        raise InputError(f"all {len(taken.items):,} questions are in the training files; name others with --from")
    if blocked == corpus.n_turns:
        raise InputError(
            f"all {blocked:,} utterances of the repository are in the training files; name another with --repository"
        )
    proposing = PoolFinder(corpus, settings, seen)
    facts = {
        "settings": asdict(settings),
        "dialogues": _count_dialogues(taken),
        "repository": {
            "dialogues": len(corpus.ids),
            "utterances": corpus.n_turns,
            "different": len(corpus.digests),
            "digest": corpus.digest,
        },
        "sources": proposing.sources(),
        "leakage": _count_leakage(seen, len(taken.items) - len(items), blocked),
    }
    return PoolSearch(items, proposing, facts)


def _count_dialogues(taken: ContextItems) -> dict[str, int]:
    return {
        "dialogues": taken.dialogues,
        "dialogues that are too short": taken.too_short,
        "items without a reply": taken.without_reply,
        "contexts and replies that were there already": taken.twice,
        "contexts with a true reply": len(taken.items),
    }


def _count_leakage(seen: TrainingTexts, leaked: int, blocked: int) -> dict[str, Any]:
    return {
        "checked against": len(seen.said),
        "questions left out": leaked,
        "utterances of the repository left out": blocked,
    }
