"""Pools: for each true reply, similar utterances, found with the reply as the query and never the context.

The sources take turns, so that none fills the pool alone (Sato et al. 2020, Appendix A: lexical and by vectors). Left
out are utterances that say nearly the same as the true reply, a turn of the context or an earlier hit; that share no
content word with the reply ("related" in section 3.1) or are written in another form; that occur in training files;
that come from another copy of the question's own dialogue; or that lie outside the random share of the repository.
The share of hits that are longer than the true reply is the one that the question needs, as far as the repository has
them.

A pool is a question whose candidates are the true reply (grade "true") and the hits (no grade), in a random order that
the seed decides, with ids that give nothing away.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from rejoinder.data.questions import TRUE
from rejoinder.errors import InputError, SpecError
from rejoinder.models.catalog.manifest import ModelMissingError
from rejoinder.seeded import stable_shuffle
from rejoinder.selection.candidate_filter import CandidateFilter, draw_longer, is_longer, tidy_text
from rejoinder.selection.contexts import ContextItems, collect_contexts
from rejoinder.selection.leakage import TrainingTexts, find_copies, scan_training
from rejoinder.selection.settings import WITHOUT_VECTORS, SelectionSettings
from rejoinder.sources import Corpus, Proposer, Source, parse_source
from rejoinder.types import Candidate, Dialogue, Item, Question, Record, Turn

LEFT_OUT_KEY = "left_out"  # the key of a pool's meta that counts what was left out of it
_FIRST = 3  # times the pool's size: how many hits a source is asked for at first
_MORE = 4  # times as many in each further request
_MOST = 50  # times the pool's size: a source is not asked for more than so many


class _Hits(NamedTuple):
    """What was found for a pool, whether it needs no further search, and counts of what was left out."""

    candidates: list[Candidate]
    complete: bool
    left_out: Counter[str]


@dataclass(eq=False)
class PoolFinder:
    """Finds pools in a repository; ``meta`` of a pool counts what was left out, by reason."""

    corpus: Corpus
    settings: SelectionSettings
    training: TrainingTexts = field(default_factory=TrainingTexts)

    def __post_init__(self) -> None:
        specs = ["random"] if self.settings.random else self.settings.sources
        self._sources = [_parse_reply_source(spec) for spec in specs]
        self._proposers: list[Proposer] = [_open_source(source, self.corpus) for source in self._sources]
        self._size = max(self.settings.pool, self.settings.false)

    def sources(self) -> list[dict[str, Any]]:
        """Return the card's entry for each source; ``model`` names the encoder, with its digest."""
        facts = []
        for source, proposer in zip(self._sources, self._proposers, strict=True):
            encoder = getattr(getattr(proposer, "index", None), "encoder", None)
            model = {} if encoder is None else {"model": f"{encoder.name} {encoder.digest[:12]}"}
            facts.append({"spec": str(source), "version": source.version, "citation": source.citation, **model})
        return facts

    def pools(self, items: Sequence[Item]) -> list[Question]:
        """Return the pool of each item, in order; a pool may be short if too few candidates were found."""
        copies = find_copies(items, self.corpus)
        hits_by_item: dict[int, _Hits] = {}
        pending, k = list(range(len(items))), _FIRST * self._size
        while pending:
            batch = [items[n] for n in pending]
            lists = [proposer.propose(batch, k, self.settings.seed) for proposer in self._proposers]
            unfilled = []
            for row, n in enumerate(pending):
                proposals = [source_hits[row] for source_hits in lists]
                hits = self._mix_sources(items[n], copies[n], proposals)
                hits_by_item[n] = hits
                if not hits.complete and any(len(source_hits) == k for source_hits in proposals):
                    unfilled.append(n)
            k *= _MORE
            pending = unfilled if k <= _MOST * self._size else []
        return [
            self._make_pool(item, hits_by_item[n].candidates, hits_by_item[n].left_out) for n, item in enumerate(items)
        ]

    def _mix_sources(self, item: Item, copies: frozenset[str], proposals: Sequence[Sequence[Candidate]]) -> _Hits:
        """Take hits from the sources in turn until the pool is full.

        Only so many may be longer, and only so many shorter, than the true reply. If there are too few of one kind, the
        pool is filled up with the other.
        """
        candidate_filter = CandidateFilter(item, self.settings, self.training, copies)
        truth, n_false = item.references[0].text, self.settings.false
        n_longer = round(self._size * draw_longer(item.id, n_false) / n_false)
        room = {True: n_longer, False: self._size - n_longer}
        candidates: list[Candidate] = []
        spare: list[Candidate] = []
        left_out: Counter[str] = Counter()
        queues = [iter(list(enumerate(source_hits, start=1))) for source_hits in proposals]
        while queues and len(candidates) < self._size:
            candidate = _next_usable(queues[0], candidate_filter, left_out)
            if candidate is None:
                queues.pop(0)
                continue
            longer = is_longer(candidate.text, truth)
            if self.settings.alike and not room[longer]:
                spare.append(candidate)
                continue
            room[longer] -= 1
            candidates.append(candidate)
            queues.append(queues.pop(0))
        complete = len(candidates) == self._size
        n_spare = self._size - len(candidates)
        if spare[n_spare:]:
            left_out["too many longer, or too many shorter, than the true reply"] += len(spare[n_spare:])
        candidates += spare[:n_spare]
        return _Hits([_set_place(one, n) for n, one in enumerate(candidates, start=1)], complete, left_out)

    def _make_pool(self, item: Item, hits: Sequence[Candidate], left_out: Counter[str]) -> Question:
        tidy = tidy_text if self.settings.tidy else str
        truth = Candidate(item.references[0].text, None, TRUE, item.references[0].source)
        by_name = {str(n): candidate for n, candidate in enumerate([truth, *hits])}
        order = stable_shuffle(by_name, self.settings.seed, "pool", item.id)
        candidates = tuple(
            dataclasses.replace(by_name[name], id=f"c{n}", text=tidy(by_name[name].text))
            for n, name in enumerate(order, start=1)
        )
        meta = {key: value for key, value in item.meta.items() if key != "split"}
        if left_out:
            meta[LEFT_OUT_KEY] = dict(sorted(left_out.items()))
        context = tuple(Turn(tidy(turn.text), turn.speaker) for turn in item.context)
        return Question(item.id, context, candidates, item.situation, item.dialogue, item.meta.get("split"), meta)


def _set_place(candidate: Candidate, place: int) -> Candidate:
    return dataclasses.replace(candidate, meta={**candidate.meta, "place": place})


def _next_usable(
    queue: Iterator[tuple[int, Candidate]], candidate_filter: CandidateFilter, left_out: Counter[str]
) -> Candidate | None:
    """Return the next hit of a source that passes the filter, with where it was found; None if there is none."""
    for rank, candidate in queue:
        dialogue, _, turn = (candidate.id or "").rpartition("/")
        reason = candidate_filter.reason(candidate.text, dialogue)
        if reason is None:
            meta = {**candidate.meta, "dialogue": dialogue, "turn": int(turn), "rank": rank}
            return dataclasses.replace(candidate, meta=meta)
        if reason:
            left_out[reason] += 1
    return None


def _parse_reply_source(spec: str) -> Source:
    """Return the source of a spec; one that retrieves must use the reply as its query, never the context."""
    source = parse_source(spec)
    query = getattr(source, "query", "reply")
    if query != "reply":
        raise SpecError(
            f"{source} searches with the {query}, so it would find replies to it, many of them acceptable; "
            "write query='reply'"
        )
    return source


def _open_source(source: Source, corpus: Corpus) -> Proposer:
    try:
        return source.over(corpus)
    except ModelMissingError as error:
        raise SpecError(f"{error}; or use sources that need no other model: {' and '.join(WITHOUT_VECTORS)}") from None


@dataclass(frozen=True, eq=False)
class PoolSearch:
    """Items that are not in the training files, the finder of their pools, and the card's entries about both."""

    items: tuple[Item, ...]
    finder: PoolFinder
    facts: Mapping[str, Any] = field(default_factory=dict)


def open_pool_search(
    dialogues: Iterable[Dialogue | Item | Question],
    repository: Iterable[Dialogue] | Corpus,
    settings: SelectionSettings,
    training: Iterable[Record] | TrainingTexts = (),
) -> PoolSearch:
    """Collect the items, compare them and the repository with the training files, and open the sources.

    ``training`` may also be the result of an earlier ``scan_training`` for the same items; it is then not read again.
    """
    contexts = collect_contexts(dialogues, settings)
    corpus = repository if isinstance(repository, Corpus) else Corpus.of(repository)
    training_texts = training if isinstance(training, TrainingTexts) else scan_training(training, contexts.items)
    items = tuple(item for item in contexts.items if not training_texts.leaked(item))
    blocked = int(training_texts.blocked(corpus)[corpus.text_codes].sum())
    if not items:
        raise InputError(f"all {len(contexts.items):,} questions are in the training files; use other dialogues")
    if blocked == corpus.n_turns:
        raise InputError(
            f"all {blocked:,} utterances of the repository are in the training files; use another repository"
        )
    finder = PoolFinder(corpus, settings, training_texts)
    facts = {
        "settings": asdict(settings),
        "dialogues": _count_dialogues(contexts),
        "repository": {
            "dialogues": len(corpus.ids),
            "utterances": corpus.n_turns,
            "different": len(corpus.digests),
            "digest": corpus.digest,
        },
        "sources": finder.sources(),
        "leakage": _count_leakage(training_texts, len(contexts.items) - len(items), blocked),
    }
    return PoolSearch(items, finder, facts)


def _count_dialogues(contexts: ContextItems) -> dict[str, int]:
    return {
        "dialogues": contexts.dialogues,
        "dialogues that are too short": contexts.too_short,
        "items without a reply": contexts.without_reply,
        "contexts and replies that were there already": contexts.twice,
        "contexts with a true reply": len(contexts.items),
    }


def _count_leakage(training_texts: TrainingTexts, leaked: int, blocked: int) -> dict[str, Any]:
    return {
        "checked against": len(training_texts.digests),
        "questions left out": leaked,
        "utterances of the repository left out": blocked,
    }
