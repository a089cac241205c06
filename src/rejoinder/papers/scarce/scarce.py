"""SCARCE (Gangal et al. 2021) from our own augmentation: Tables 1, 2 and 4 and Appendix A.

One human reference becomes many: what was said in similar places of DailyDialog's train file, what common sense says,
both adapted to the context. Then Gupta's 500 rated replies are measured with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder.augmentation.acceptance import AdaptationOutcome
from rejoinder.augmentation.adaptation import adapt
from rejoinder.augmentation.commonsense.inference import TailGenerator
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.store import cached_comet
from rejoinder.data.datasets import read_dataset
from rejoinder.data.inputs import read
from rejoinder.errors import InputError
from rejoinder.papers.base import Figure, Reproduction
from rejoinder.papers.loader import load_notes
from rejoinder.papers.scarce import tables
from rejoinder.papers.scarce.measures import CASES, RatedResponses, collect_rated, score_with_references
from rejoinder.papers.scarce.proposals import (
    COMET,
    EACH,
    MATCHED,
    MIN_APTNESS,
    ORDER,
    PART,
    RETRIEVAL,
    RETRIEVED,
    WIDE,
    WIDE_HITS,
    WIDE_PART,
    ProposalPlace,
    Proposals,
    draw_corpus_part,
    generate_proposals,
    list_adaptations,
    match_proposals,
    restore_spelling,
    retrieve_proposals,
    retrieve_widely,
)
from rejoinder.papers.scarce.sets import (
    MULTI,
    OURS,
    OURS_MULTI,
    OURS_SINGLE,
    SINGLE,
    WHOLE,
    AugmentedReferences,
    References,
    combine_outcomes,
    human_references,
    paraphrase_references,
    table_1_references,
    table_2_references,
)
from rejoinder.types import Dialogue, Item, Turn

SUMMARY = (
    "SCARCE from our own augmentation: Tables 1, 2 and 4, self-BLEU and reference quality; --adapt N adapts N texts"
)
_NOTES = load_notes("scarce")


def reproduce(adapt: int | None = None) -> Reproduction:
    """Augment, score and compare; ``adapt`` is how many texts are adapted (0: none, None: all)."""
    if adapt is not None and adapt < 0:
        raise InputError(f"adapt must be 0 or more, not {adapt}")
    replies = collect_rated(read("dataset:gupta/single"))
    multi = human_references(read("dataset:gupta/multi").items.values())
    released = human_references(read("dataset:gupta/scarce-single").items.values())
    items = items_to_augment()
    augmented = adapt_first(items, propose_from_sources(items, cached_comet()), adapt)
    return assemble_scarce(replies, multi, released, augmented, adapt)


def items_to_augment() -> list[Item]:
    """The 100 items, in the spelling of DailyDialog's test file and with the turns that follow."""
    items = (record for record in read_dataset("gupta/single") if isinstance(record, Item))
    return restore_spelling(items, _read_daily_dialogues("test"))


def propose_from_sources(items: Sequence[Item], generator: TailGenerator) -> dict[str, list[list[Proposal]]]:
    """What every source proposes for each item."""
    corpus = list(_read_daily_dialogues("train").values())
    return {
        RETRIEVAL: retrieve_proposals(items, corpus),
        COMET: generate_proposals(items, generator),
        PART: retrieve_proposals(items, draw_corpus_part(corpus)),
        MATCHED: match_proposals(items),
        WIDE: retrieve_widely(items, corpus),
        WIDE_PART: retrieve_widely(items, draw_corpus_part(corpus)),
    }


def assemble_scarce(
    replies: RatedResponses, multi: References, released: References, augmented: AugmentedReferences, adapt: int | None
) -> Reproduction:
    """The figures and sentences of the reproduction."""
    single = human_references(replies.data.items.values())
    columns, rows = table_1_references(single, multi, augmented), table_2_references(single, augmented)
    sets = {name: score_with_references(replies, references) for name, references in columns.items()}
    parts = {WHOLE: sets[OURS_SINGLE].only(tables.IN_TABLE_2)}
    for name, references in rows.items():
        parts[name] = parts.get(name) or score_with_references(replies, references, tables.IN_TABLE_2)
    figures = [
        *tables.scarce_table_1(replies, sets),
        *tables.gain_figures(replies, sets),
        *tables.scarce_table_2(replies, parts),
        *tables.scarce_table_4(replies, sets),
        *_appendix_figures(replies.data.items, single, multi, released, augmented),
    ]
    sentences = list_scarce_notes(figures, {**columns, **rows}, augmented, adapt)
    return Reproduction("scarce", "SCARCE, from our own augmentation", figures, sentences)


def _appendix_figures(
    items: Mapping[str, Item],
    single: References,
    multi: References,
    released: References,
    augmented: AugmentedReferences,
) -> list[Figure]:
    """Appendix A: diversity and quality of the references."""
    paraphrases = paraphrase_references(single)
    own = {name: tuple(one for one in of_item if one.source != "human") for name, of_item in released.items()}
    diverse = {
        "ours": augmented.added(*OURS),
        "paraphrase": paraphrases,
        "multi": multi,
        "the authors' released references": own,
    }
    good = {
        "single": single,
        "multi": multi,
        **{source: augmented.added(source, adapted=False) for source in (RETRIEVAL, WIDE, COMET, MATCHED)},
        **{f"{source}, adapted": augmented.changed(source) for source in (RETRIEVAL, COMET, MATCHED)},
        "paraphrase": paraphrases,
    }
    return [*tables.diversity_figures(items, diverse), *tables.quality_figures(items, good)]


def _read_daily_dialogues(split: str) -> dict[str, Dialogue]:
    return {one.id: one for one in read_dataset(f"dailydialog/{split}") if isinstance(one, Dialogue)}


def adapt_first(
    items: Sequence[Item], proposals: Mapping[str, Proposals], most: int | None = None
) -> AugmentedReferences:
    """Return the proposals, the first ``most`` of them adapted (None: all).

    Cached adaptations count too, so that the result does not depend on what is in the cache.
    """
    places = list_adaptations(proposals)
    outcomes: list[AdaptationOutcome] = []
    if wanted := places[:most]:
        outcomes = adapt([_context_and_proposal(items, proposals, place) for place in wanted])
    return combine_outcomes([item.id for item in items], proposals, places, outcomes)


def count_cached(items: Sequence[Item], proposals: Mapping[str, Proposals]) -> tuple[int, int]:
    """Return how many texts are cached up to the first one that is missing, and how many there are."""
    places = list_adaptations(proposals)
    outcomes = adapt([_context_and_proposal(items, proposals, place) for place in places], most=0) if places else []
    lacking = (number for number, outcome in enumerate(outcomes) if outcome.verdict == "not tried")
    return next(lacking, len(places)), len(places)


def _context_and_proposal(
    items: Sequence[Item], proposals: Mapping[str, Proposals], place: ProposalPlace
) -> tuple[Sequence[Turn], Proposal]:
    return items[place.item].context, proposals[place.source][place.item][place.rank]


def list_scarce_notes(
    figures: Sequence[Figure], sets: Mapping[str, References], augmented: AugmentedReferences, most: int | None
) -> list[str]:
    """Return all sentences."""
    return [
        _NOTES.text("how", retrieved=RETRIEVED, wide=WIDE_HITS, aptness=MIN_APTNESS, each=EACH),
        _NOTES.text("history"),
        describe_adaptation(augmented, most),
        _describe_sizes(sets),
        _NOTES.text("reading"),
        *list_scarce_findings(figures),
        _NOTES.text("models"),
        _NOTES.text("appendix"),
    ]


def describe_adaptation(augmented: AugmentedReferences, most: int | None) -> str:
    """How many texts were adapted, and with what outcomes."""
    parts = []
    for source, verdicts in augmented.verdicts.items():
        if source not in ORDER:
            continue
        whole = sum(verdicts.values())
        tried = whole - verdicts.get("not tried", 0)
        others = ", ".join(
            f"{count:,} {verdict}"
            for verdict, count in sorted(verdicts.items())
            if verdict not in ("adapted", "not tried")
        )
        outcome = f" ({verdicts.get('adapted', 0):,} accepted{', ' * bool(others)}{others})" if tried else ""
        parts.append(f"{source}: {tried:,} of {whole:,}{outcome}")
    if most is None:
        return _NOTES.text("adaptation", sources="; ".join(parts))
    return _NOTES.text("adaptation, limited", sources="; ".join(parts), most=most)


def _describe_sizes(sets: Mapping[str, References]) -> str:
    """The mean number of references per item, by set."""
    means = {
        column: sum(map(len, references.values())) / max(1, len(references)) for column, references in sets.items()
    }
    return _NOTES.text("references", sizes=", ".join(f"{column} {mean:.1f}" for column, mean in means.items()))


def list_scarce_findings(figures: Sequence[Figure]) -> list[str]:
    """What the figures show for BLEU-4."""
    by_cell = {(figure.table, figure.row, figure.column): figure for figure in figures}
    row = "BLEU-4"

    def rho(case: str, column: str) -> float:
        return by_cell[f"Table 1: {tables.SPEARMAN}, {case}", row, column].measured

    def gain(case: str, way: str) -> str:
        one = by_cell[tables.gain_title(OURS_SINGLE, SINGLE), row, f"{way}, {case}"]
        if one.low is None or one.high is None or one.low != one.low:
            return f"{one.measured:.3f}, without an interval"
        side = "excludes" if one.low > 0 or one.high < 0 else "includes"
        return f"{one.measured:.3f} [{one.low:.3f}, {one.high:.3f}], which {side} zero"

    columns = {"one": SINGLE, "ours": OURS_SINGLE, "many": MULTI, "both": OURS_MULTI}
    return _NOTES.paragraphs(
        "findings",
        row=row,
        **columns,
        **{f"rho_{name}": rho(CASES[0], column) for name, column in columns.items()},
        **{f"lower_{name}": rho(CASES[1], column) for name, column in columns.items()},
        gain=gain(CASES[0], tables.WITHIN),
        lower_gain=gain(CASES[1], tables.WITHIN),
    )
