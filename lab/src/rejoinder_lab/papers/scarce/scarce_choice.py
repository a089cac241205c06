"""The settings of our references, chosen without ratings: 120 contexts of DailyDialog's test file that nobody rated.

Each has five replies of known origin: one that a person wrote for this context, three that programs found in the train
file (by BM25; by BM25 and the bi-encoder of aptness; the hit that is most like the other hits, which is as generic as
what a small generator says), and a random turn. With good references, BLEU-4 ranks people above programs above chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rejoinder.augmentation.augmenter import to_references
from rejoinder.augmentation.proposal import Proposal
from rejoinder.data.collection import Collection
from rejoinder.data.datasets import read_dataset
from rejoinder.metric import parse
from rejoinder.scoring.api import score
from rejoinder.seeded import stable_hash, stable_shuffle
from rejoinder.stats.bootstrap import BootstrapPlan, correlation_intervals
from rejoinder.stats.interval import Interval
from rejoinder.text.similarity import dice_similarity, extract_ngrams
from rejoinder.types import Dialogue, Item, Reference, Response
from rejoinder_lab.papers.base import Figure, Reproduction
from rejoinder_lab.papers.loader import load_notes
from rejoinder_lab.papers.scarce.measures import CASES, OVERLAP, WEIGHTED
from rejoinder_lab.papers.scarce.proposals import AS_PRINTED, AS_RELEASED, restore_spelling, spell_like_rated
from rejoinder_lab.papers.scarce.released import HITS, read_released, share_of_hits
from rejoinder_lab.papers.scarce.scarce import items_to_augment, read_daily_dialogues
from rejoinder_lab.papers.scarce.selection import ReferenceSelection, rate_aptness

SUMMARY = "SCARCE: the settings of our references, chosen on 120 contexts that nobody rated"
CONTEXTS = 120
CANDIDATES = 30  # turns of which a program chooses its reply
GRADES = {"person": 2.0, "BM25": 1.0, "bi-encoder": 1.0, "most usual": 1.0, "random": 0.0}
CLOSE = 0.005  # differences below this do not count: the simpler set wins
SIZES, LENGTHS = (10, 20, 40), (None, 30, 20, 12)
FIRST = [ReferenceSelection(size, longest) for size in SIZES for longest in LENGTHS]
_LEAST, _ALIKE, _WEIGHTED = (0.0, 0.3, 0.5, 0.7), (None, 0.5), (False, True)
SHARES, PROXY = "Share of the authors' five hits among our first five", "Spearman of BLEU-4 with the origin of a reply"
_NOTES = load_notes("scarce")


def reproduce() -> Reproduction:
    """Compare sets of references on contexts that nobody rated, and name the one to use."""
    items, people = unrated_items()
    corpus = list(read_daily_dialogues("train").values())
    data = _collect_replies(items, people, corpus)
    single = {item.id: people[item.id][:1] for item in items}
    proposals = rate_aptness(items, AS_RELEASED.over(corpus).propose(items, max(SIZES)))
    names = [item.id for item in items]

    def measure(choice: ReferenceSelection) -> dict[str, Interval]:
        added = dict(zip(names, (to_references(choice.select(one)) for one in proposals), strict=True))
        return _measure_set(data, {name: (*single[name], *added[name]) for name in names}, choice.weighted)

    tried = {choice: measure(choice) for choice in FIRST}
    best = choose(tried)
    further = {choice: measure(choice) for choice in list_further(best)}
    rows = {"one human reference": _measure_set(data, single), **{str(one): tried[one] for one in tried}}
    rows |= {str(one): further[one] for one in further}
    figures = [*_share_figures(corpus), *_proxy_figures(rows)]
    notes = [
        *_NOTES.paragraphs("choice", contexts=len(items), close=CLOSE, best=best, further=choose(further)),
    ]
    return Reproduction("scarce-choice", "SCARCE: the choice of our references", figures, notes)


def list_further(best: ReferenceSelection) -> list[ReferenceSelection]:
    """The sets beyond the paper: of the longest lists, filtered and weighted; the simplest first."""
    return [
        ReferenceSelection(max(SIZES), best.longest, least, alike, weighted)
        for weighted in _WEIGHTED
        for alike in _ALIKE
        for least in _LEAST
    ]


def choose(tried: Mapping[ReferenceSelection, Mapping[str, Interval]]) -> ReferenceSelection:
    """Return the first set whose mean over both cases is at most CLOSE below the best one's."""
    means = {choice: sum(one.value for one in cases.values()) / len(cases) for choice, cases in tried.items()}
    return next(choice for choice, mean in means.items() if mean >= max(means.values()) - CLOSE)


def unrated_items() -> tuple[list[Item], dict[str, tuple[Reference, ...]]]:
    """Contexts of dialogues that no rated context comes from, one per dialogue, and their human references."""
    rated = {record.dialogue for record in read_dataset("gupta/single") if isinstance(record, Item)}
    every = (record for record in read_dataset("multirefeval") if isinstance(record, Item))
    by_dialogue: dict[str, list[Item]] = {}
    for item in every:
        if item.dialogue is not None and item.dialogue not in rated and len(item.references) > 1:
            by_dialogue.setdefault(item.dialogue, []).append(item)
    chosen = [
        stable_shuffle(by_dialogue[dialogue], "scarce-choice")[0]
        for dialogue in stable_shuffle(by_dialogue, "scarce-choice")[:CONTEXTS]
    ]
    return restore_spelling(chosen, read_daily_dialogues("test")), {item.id: item.references for item in chosen}


def _collect_replies(
    items: Sequence[Item], people: Mapping[str, Sequence[Reference]], corpus: Sequence[Dialogue]
) -> Collection:
    """The five replies to each item, spelled like the rated ones."""
    found = rate_aptness(items, AS_PRINTED.over(corpus).search(items, CANDIDATES, ("past",)))
    turns = [turn.text for dialogue in corpus for turn in dialogue.turns]
    data = Collection(items={item.id: item for item in items})
    for item, hits in zip(items, found, strict=True):
        texts = {
            "person": people[item.id][1].text,
            "BM25": hits[0].text,
            "bi-encoder": max(hits, key=lambda hit: hit.score or 0.0).text,
            "most usual": _most_usual(hits),
            "random": turns[stable_hash("random", item.id) % len(turns)],
        }
        for system, text in texts.items():
            data.add(Response(f"{item.id}/{system}", item.id, system, spell_like_rated(text)))
    return data


def _most_usual(hits: Sequence[Proposal]) -> str:
    """The hit with the largest overlap with all others."""
    grams = [extract_ngrams(spell_like_rated(hit.text)) for hit in hits]
    sums = [sum(dice_similarity(own, other) for other in grams) for own in grams]
    return hits[sums.index(max(sums))].text


def _measure_set(
    data: Collection, references: Mapping[str, tuple[Reference, ...]], weighted: bool = False
) -> dict[str, Interval]:
    """By case, the correlation of BLEU-4 with the grades of the replies."""
    items = {name: replace(item, references=references[name]) for name, item in data.items.items()}
    template = WEIGHTED if weighted else OVERLAP["BLEU-4"]
    specs = {case: str(parse(template.format(lower=bool(n)))) for n, case in enumerate(CASES)}
    scores = score(Collection(items=items, responses=data.responses), list(specs.values()))
    grades = [GRADES[scores.systems[code]] for code in scores.system_codes]
    columns = {case: scores[spec] for case, spec in specs.items()}
    return correlation_intervals(columns, grades, BootstrapPlan(method="spearman"), items=scores.items)


def _proxy_figures(rows: Mapping[str, Mapping[str, Interval]]) -> Iterator[Figure]:
    for row, cases in rows.items():
        for case, one in cases.items():
            yield Figure(PROXY, row, case, None, one.value, one.low, one.high, one.n)


def _share_figures(corpus: Sequence[Dialogue]) -> Iterator[Figure]:
    """How many of the authors' hits each search has, by the texts of the rated contexts alone."""
    items, lists = items_to_augment(), read_released()
    theirs = [lists[item.id] for item in items]
    searches = {
        "BM25 as printed": AS_PRINTED,
        "white space tokens, case as it is": replace(AS_PRINTED, tokenizer="whitespace", lowercase=False),
        "and each query word once": replace(AS_RELEASED, k1=AS_PRINTED.k1, b=AS_PRINTED.b, once="query"),
        "and k1 = 1.5, b = 0.75": replace(AS_RELEASED, once="query"),
        "and each word of a field once (used)": AS_RELEASED,
    }
    for row, how in searches.items():
        source = replace(how, past_alone=False).over(corpus)
        for column, fields in (("past alone", ("past",)), ("all fields", ("past", "response", "future"))):
            hits = source.search(items, HITS, fields)
            wanted = [one.past_alone if column == "past alone" else one.all_fields for one in theirs]
            yield Figure(SHARES, row, column, None, share_of_hits(wanted, hits), n=len(items))
