"""The sentences that belong to the figures of `reproduce scarce`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder.papers.base import Figure
from rejoinder.papers.scarce import published
from rejoinder.papers.scarce.measures import CASES
from rejoinder.papers.scarce.proposals import EACH, MIN_APTNESS, ORDER, RETRIEVED, WIDE_HITS
from rejoinder.papers.scarce.sets import AugmentedReferences, References
from rejoinder.papers.scarce.tables import SPEARMAN, WITHIN, gain_title

HOW = (
    "How: the 100 contexts as DailyDialog's test file writes them, with the turns that follow; the corpus is its train "
    f"file. Retrieval: {RETRIEVED} turns an item by BM25, half of them over past, reply and future and half over the "
    "past alone, as they are written there: the lists that the authors released are made so. Wide: "
    f"{WIDE_HITS} in the same way by BM25 and {WIDE_HITS} by the vectors of our encoder, of which those stay that "
    f"aptness(model='bi') gives {MIN_APTNESS} or more; this was chosen on other contexts, which nobody rated "
    f"(docs/augmenting.md). Common sense: {EACH} inferences of each of five relations by our own COMET; in a row of "
    "its own, by matching knowledge files. Adapted: retrieval and common sense, not what the wide search found; the "
    "text before and the text after are both references. Paraphrase: five a human reference, by synonyms and other "
    "orders (the paper translated back and forth). What was made is spaced like the rated replies, with a space before "
    "a full stop."
)
HISTORY = (
    "All of this was fixed before the ratings were opened, for the third time. The first time 20 turns were retrieved "
    "over all three fields: BLEU-4 .189 with OURS-SINGLE, .257 with OURS-MULTI. The second time there was no wide "
    "search: .228 and .277. Neither change was chosen by ratings: the one was read off the authors' lists, the other "
    "was chosen on unrated contexts."
)
READING = (
    "Intervals: 95% bootstrap over the 100 contexts, 1,000 resamples. Within systems: the mean of the correlations "
    "inside each of the five systems. The p of Table 4 counts 500 replies as if each stood alone, as the paper does."
)
MODELS = (
    "METEOR is ours and the vectors are of GloVe 50d and MiniLM (there METEOR 1.5, GloVe 300d, Skip-Thought, "
    "roberta-large): published figures of these rows are neighbours to look at. They read lower-case by themselves, so "
    "the lower-cased tables hold the overlap metrics alone."
)
APPENDIX = (
    "Self-BLEU: the paper does not say how it was smoothed; the published figure stands beside the settings of its "
    "BLEU. A row tells what these give for the references that the authors released."
)


def list_notes(
    figures: Sequence[Figure], sets: Mapping[str, References], augmented: AugmentedReferences, most: int | None
) -> list[str]:
    """All sentences."""
    return [
        HOW,
        HISTORY,
        describe_adaptation(augmented, most),
        _describe_sizes(sets),
        READING,
        *list_findings(figures),
        MODELS,
        APPENDIX,
    ]


def describe_adaptation(augmented: AugmentedReferences, most: int | None) -> str:
    """How much was adapted, and what came of it."""
    told = []
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
        came = f" ({verdicts.get('adapted', 0):,} taken{', ' * bool(others)}{others})" if tried else ""
        told.append(f"{source}: {tried:,} of {whole:,}{came}")
    asked = "" if most is None else f" No more than the first {most:,} were asked for (--adapt {most})."
    return f"Adaptation: {'; '.join(told)}.{asked}"


def _describe_sizes(sets: Mapping[str, References]) -> str:
    """How many references an item has."""
    means = {column: sum(map(len, found.values())) / max(1, len(found)) for column, found in sets.items()}
    return f"References an item: {', '.join(f'{column} {mean:.1f}' for column, mean in means.items())}."


def list_findings(figures: Sequence[Figure]) -> list[str]:
    """What the figures say of BLEU-4."""
    found = {(figure.table, figure.row, figure.column): figure for figure in figures}
    row = "BLEU-4"

    def rho(case: str, column: str) -> float:
        return found[f"Table 1: {SPEARMAN}, {case}", row, column].measured

    def gain(case: str, way: str) -> str:
        one = found[gain_title(published.OURS_SINGLE, published.SINGLE), row, f"{way}, {case}"]
        if one.low is None or one.high is None or one.low != one.low:
            return f"{one.measured:.3f}, without an interval"
        side = "excludes" if one.low > 0 or one.high < 0 else "includes"
        return f"{one.measured:.3f} [{one.low:.3f}, {one.high:.3f}], which {side} zero"

    one, ours, many, both = published.SINGLE, published.OURS_SINGLE, published.MULTI, published.OURS_MULTI
    return [
        f"{row}: {one} {rho(CASES[0], one):.3f}, {ours} {rho(CASES[0], ours):.3f}, {many} {rho(CASES[0], many):.3f}, "
        f"{both} {rho(CASES[0], both):.3f}; lower-cased {rho(CASES[1], one):.3f}, {rho(CASES[1], ours):.3f}, "
        f"{rho(CASES[1], many):.3f}, {rho(CASES[1], both):.3f}.",
        f"Gain of {ours} over {one} within systems, {row}: {gain(CASES[0], WITHIN)}; lower-cased "
        f"{gain(CASES[1], WITHIN)}.",
    ]
