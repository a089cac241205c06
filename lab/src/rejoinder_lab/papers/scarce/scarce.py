"""SCARCE (Gangal et al. 2021) from our own augmentation: Tables 1, 2 and 4 and Appendix A.

One human reference becomes many: what was said in similar places of DailyDialog's train file, some of it adapted to
the context, and what common sense says. Then Gupta's 500 rated replies are measured with them. What was computed is
stored in this folder, and the tables are made from it; with ``adapt`` everything is computed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rejoinder.augmentation.acceptance import AdaptationOutcome
from rejoinder.augmentation.adaptation import adapt
from rejoinder.augmentation.augmenter import to_references
from rejoinder.augmentation.paraphrase import Paraphraser
from rejoinder.augmentation.store import cached_back_translation
from rejoinder.data.datasets import read_dataset
from rejoinder.data.inputs import read
from rejoinder.errors import InputError
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import is_model_available
from rejoinder.types import Dialogue, Item
from rejoinder_lab.papers.base import Figure, Reproduction
from rejoinder_lab.papers.loader import load_notes
from rejoinder_lab.papers.scarce import tables
from rejoinder_lab.papers.scarce.findings import PARAPHRASE, list_part_findings, list_scarce_findings
from rejoinder_lab.papers.scarce.measures import (
    RatedResponses,
    collect_rated,
    score_with_references,
    weighted_specs,
)
from rejoinder_lab.papers.scarce.proposals import (
    AS_PRINTED,
    COUNTS,
    OTHER,
    OTHER_CORPORA,
    PART,
    PRINTED,
    RETRIEVAL,
    SENSE,
    WIDER,
    Proposals,
    draw_corpus_part,
    infer_proposals,
    list_adaptations,
    restore_spelling,
    retrieve_proposals,
    space_punctuation,
)
from rejoinder_lab.papers.scarce.selection import CHOSEN, CHOSEN_FURTHER, rate_aptness
from rejoinder_lab.papers.scarce.sets import (
    BACK_TRANSLATION,
    FURTHER,
    OURS,
    OURS_SINGLE,
    PARAPHRASE_SINGLE,
    TABLE_1,
    TABLE_2,
    TRANSLATED,
    WHOLE,
    AugmentedReferences,
    PublishedReferences,
    References,
    combine_outcomes,
    human_references,
    merge_references,
    paraphrase_columns,
    paraphrase_references,
    table_1_references,
    table_2_references,
)
from rejoinder_lab.papers.scarce.stored import (
    PATH,
    StoredScarce,
    check_responses,
    digest_references,
    read_stored,
)

SUMMARY = (
    "SCARCE from our own augmentation: Tables 1, 2 and 4, self-BLEU and reference quality, from stored scores; "
    "--adapt N computes them again and adapts N texts"
)
NEEDED = ("smollm2-135m", "opus-mt-fr", "minilm", "glove-6b-50d")
_N_NOTES = 2  # sentences that are stored without paraphrases
_NOTES = load_notes("scarce")


def reproduce(adapt: int | None = None) -> Reproduction:
    """Make the tables from what is stored; with ``adapt``, augment and score again and adapt so many texts."""
    if adapt is not None and adapt < 0:
        raise InputError(f"adapt must be 0 or more, not {adapt}")
    replies = collect_rated(read("dataset:gupta/single"))
    stored = read_stored(PATH) if adapt is None else compute_scarce(replies, adapt)
    check_responses(stored, list(replies.data.responses))
    return assemble_scarce(replies, stored)


def compute_scarce(replies: RatedResponses, most: int) -> StoredScarce:
    """Augment the items, adapt the first ``most`` retrieved texts, and score the replies with every set."""
    check_models()
    items = items_to_augment()
    augmented = adapt_first(items, propose_from_sources(items), most)
    method = cached_back_translation(BACK_TRANSLATION)
    return score_sets(replies, items, read_published_references(), augmented, method)


def add_paraphrases(stored: StoredScarce, replies: RatedResponses, method: str | Paraphraser) -> StoredScarce:
    """Return what is stored with the columns and figures of paraphrases, computed now; the rest stays as it is."""
    check_responses(stored, list(replies.data.responses))
    published = read_published_references()
    references = paraphrase_columns(published, method)
    scored = {name: score_with_references(replies, of_set) for name, of_set in references.items()}
    columns = {**stored.columns, **scored}
    paraphrases = {PARAPHRASE: paraphrase_references(published.single, method)}
    items = replies.data.items
    figures = [*tables.diversity_figures(items, paraphrases), *tables.quality_figures(items, paraphrases)]
    return replace(
        stored,
        columns={name: columns[name] for name in TABLE_1 if name in columns},
        rows={**stored.rows, TRANSLATED: scored[PARAPHRASE_SINGLE].only(tables.IN_TABLE_2)},
        appendix=[*(figure for figure in stored.appendix if figure.row != PARAPHRASE), *figures],
        digests={**stored.digests, **{name: digest_references(of_set) for name, of_set in references.items()}},
        notes=[*stored.notes[:_N_NOTES], _describe_sizes(references)],
    )


def read_published_references() -> PublishedReferences:
    """The sets of references as they were published."""
    return PublishedReferences(
        *(human_references(read(f"dataset:gupta/{name}").items.values()) for name in _PUBLISHED_SETS)
    )


_PUBLISHED_SETS = ("single", "multi", "scarce-single", "scarce-multi")


def check_models() -> None:
    """Raise before any work if a model is missing, and name all that are."""
    if missing := [name for name in NEEDED if not is_model_available(MODELS[name])]:
        raise InputError(
            f"computing the scores of scarce again needs {', '.join(missing)}; get each with: rejoinder models get "
            "NAME; without --adapt the tables are made from stored scores, which needs no model"
        )


def items_to_augment() -> list[Item]:
    """The 100 items, in the spelling of DailyDialog's test file and with the turns that follow."""
    items = (record for record in read_dataset("gupta/single") if isinstance(record, Item))
    return restore_spelling(items, read_daily_dialogues("test"))


def read_daily_dialogues(split: str) -> dict[str, Dialogue]:
    """The dialogues of one of DailyDialog's files by id."""
    return {one.id: one for one in read_dataset(f"dailydialog/{split}") if isinstance(one, Dialogue)}


def retrieve_chosen(items: Sequence[Item]) -> Proposals:
    """The retrieved texts of OURS."""
    return _take_chosen(retrieve_proposals(items, _train_dialogues(), n=CHOSEN.size))


def propose_from_sources(items: Sequence[Item]) -> dict[str, Proposals]:
    """What every source proposes for each item."""
    corpus = _train_dialogues()
    return {
        RETRIEVAL: retrieve_chosen(items),
        SENSE: infer_proposals(items),
        PART: _take_chosen(retrieve_proposals(items, draw_corpus_part(corpus), n=CHOSEN.size)),
        PRINTED: _take_chosen(retrieve_proposals(items, corpus, AS_PRINTED, CHOSEN.size)),
        OTHER: _take_chosen(retrieve_proposals(items, _other_dialogues(), n=CHOSEN.size)),
        WIDER: retrieve_proposals(items, corpus, n=CHOSEN_FURTHER.size),
    }


def _take_chosen(proposals: Proposals) -> Proposals:
    return [CHOSEN.select(of_item) for of_item in proposals]


def _train_dialogues() -> list[Dialogue]:
    return list(read_daily_dialogues("train").values())


def _other_dialogues() -> list[Dialogue]:
    """Everyday dialogues that the judged systems, trained on DailyDialog, never saw, spaced like its turns."""
    dialogues = (one for one in read_dataset("corpus/dialogues") if isinstance(one, Dialogue))
    return [
        replace(one, turns=tuple(replace(turn, text=space_punctuation(turn.text)) for turn in one.turns))
        for one in dialogues
        if one.corpus in OTHER_CORPORA and one.split == "train"
    ]


def adapt_first(
    items: Sequence[Item], proposals: Mapping[str, Proposals], most: int | None = None
) -> AugmentedReferences:
    """Return the proposals, the first ``most`` retrieved ones adapted (None: all).

    Cached adaptations count too, so that the result does not depend on what is in the cache.
    """
    places = list_adaptations(proposals[RETRIEVAL])
    outcomes: list[AdaptationOutcome] = []
    if wanted := places[:most]:
        outcomes = adapt([(items[at.item].context, proposals[RETRIEVAL][at.item][at.rank]) for at in wanted])
    return combine_outcomes([item.id for item in items], proposals, places, outcomes)


def count_cached(items: Sequence[Item], retrieved: Proposals) -> tuple[int, int]:
    """Return how many texts are cached up to the first one that is missing, and how many there are."""
    places = list_adaptations(retrieved)
    pairs = [(items[at.item].context, retrieved[at.item][at.rank]) for at in places]
    outcomes = adapt(pairs, most=0) if pairs else []
    lacking = (number for number, outcome in enumerate(outcomes) if outcome.verdict == "not tried")
    return next(lacking, len(places)), len(places)


def score_sets(
    replies: RatedResponses,
    items: Sequence[Item],
    published: PublishedReferences,
    augmented: AugmentedReferences,
    method: str | Paraphraser,
) -> StoredScarce:
    """The scores of the replies with every set of references, and what else the page shows."""
    columns = table_1_references(published, augmented, method)
    rows = table_2_references(published.single, augmented)
    further = merge_references(published.single, further_references(items, augmented))
    scored = {name: score_with_references(replies, references) for name, references in columns.items()}
    parts = {WHOLE: scored[OURS_SINGLE].only(tables.IN_TABLE_2)}
    for name, references in rows.items():
        parts[name] = parts.get(name) or score_with_references(replies, references, tables.IN_TABLE_2)
    parts[TRANSLATED] = scored[PARAPHRASE_SINGLE].only(tables.IN_TABLE_2)
    specs = weighted_specs() if CHOSEN_FURTHER.weighted else None
    beyond = score_with_references(replies, further, ["BLEU-4"], specs)
    sets = {**columns, **rows, FURTHER: further}
    return StoredScarce(
        list(replies.data.responses),
        scored,
        parts,
        {WHOLE: scored[OURS_SINGLE].only(["BLEU-4"]), FURTHER: beyond},
        _appendix_figures(replies.data.items, published, augmented, method),
        {name: digest_references(references) for name, references in sets.items()},
        [_describe_adaptation(augmented), _describe_sizes(sets)],
    )


def further_references(items: Sequence[Item], augmented: AugmentedReferences) -> References:
    """Longer lists, filtered by aptness and likeness, with aptness as the score of each reference."""
    parts = [augmented.proposals[WIDER], augmented.proposals[SENSE]]
    chosen = [[CHOSEN_FURTHER.select(of_item) for of_item in rate_aptness(items, proposals)] for proposals in parts]
    return {item.id: to_references([*first, *second]) for item, first, second in zip(items, *chosen, strict=True)}


def _appendix_figures(
    items: Mapping[str, Item],
    published: PublishedReferences,
    augmented: AugmentedReferences,
    method: str | Paraphraser,
) -> list[Figure]:
    """Appendix A: diversity and quality of the references."""
    paraphrases = paraphrase_references(published.single, method)
    released = {
        name: tuple(one for one in of_item if one.source != "human")
        for name, of_item in published.released_single.items()
    }
    diverse = {
        "ours": augmented.added(*OURS),
        PARAPHRASE: paraphrases,
        "paraphrase by rewording": paraphrase_references(published.single, "rewording"),
        "multi": published.multi,
        "the authors' released references": released,
    }
    good = {
        "single": published.single,
        "multi": published.multi,
        **{source: augmented.added(source, adapted=False) for source in (RETRIEVAL, SENSE, OTHER)},
        "retrieval, adapted": augmented.changed(),
        PARAPHRASE: paraphrases,
        "the authors' released references": released,
    }
    return [*tables.diversity_figures(items, diverse), *tables.quality_figures(items, good)]


def _describe_adaptation(augmented: AugmentedReferences) -> str:
    """How many texts were adapted, and with what outcomes."""
    verdicts = dict(augmented.verdicts)
    whole, untried = sum(verdicts.values()), verdicts.pop("not tried", 0)
    if untried == whole:
        return _NOTES.text("no adaptation")
    adapted = verdicts.pop("adapted", 0)
    others = ", ".join(f"{verdict} {count:,}" for verdict, count in sorted(verdicts.items(), key=lambda one: -one[1]))
    return _NOTES.text("adaptation", tried=whole - untried, whole=whole, adapted=adapted, others=others)


def _describe_sizes(sets: Mapping[str, References]) -> str:
    """The mean number of references per item, by set."""
    means = {
        column: sum(map(len, references.values())) / max(1, len(references)) for column, references in sets.items()
    }
    return _NOTES.text("references", sizes=", ".join(f"{column} {mean:.1f}" for column, mean in means.items()))


def assemble_scarce(replies: RatedResponses, stored: StoredScarce) -> Reproduction:
    """The figures and sentences of the reproduction."""
    figures = [
        *tables.scarce_table_1(replies, stored.columns),
        *tables.gain_figures(replies, {**stored.columns, **stored.rows}),
        *tables.scarce_table_2(replies, stored.rows),
        *tables.further_figures(replies, stored.further),
        *tables.scarce_table_4(replies, stored.columns),
        *stored.appendix,
    ]
    counts = ", ".join(f"{count} per relation of {name}" for name, count in COUNTS.items())
    notes = [
        _NOTES.text("how", retrieved=CHOSEN, counts=counts),
        _NOTES.text("further", choice=CHOSEN_FURTHER),
        *_NOTES.paragraphs("history"),
        *stored.notes,
        *_describe_missing(stored),
        *_NOTES.paragraphs("reading"),
        *list_scarce_findings(figures),
        *list_part_findings(figures),
        _NOTES.text("models"),
        _NOTES.text("appendix"),
        _NOTES.text("stored"),
    ]
    return Reproduction("scarce", "SCARCE, from our own augmentation", figures, notes)


def _describe_missing(stored: StoredScarce) -> list[str]:
    """Which columns and rows were not computed, if any."""
    known = {**stored.columns, **stored.rows}
    missing = [name for name in (*TABLE_1, *TABLE_2) if name not in known]
    return [_NOTES.text("missing", names=", ".join(missing))] if missing else []
