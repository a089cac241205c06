"""SSREM's speaker sets in a corpus: how many there are and how similar, as tables and as a drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder.escape import escape_html
from rejoinder.indexes.speaker_coverage import SpeakerCoverage
from rejoinder.indexes.speaker_sets import Design
from rejoinder.indexes.speaker_similarity import SpeakerSimilarity, are_first_and_last_apart, is_similarity_decreasing
from rejoinder.indexes.speakers import SpeakerSet
from rejoinder.reports.chart import ChartAxis, make_axis, tick_label
from rejoinder.stats.interval import interval_estimate
from rejoinder.table import Cell, Table

_WIDTH, _LEFT, _RIGHT, _LINE, _HEAD = 720, 210, 30, 24, 34
_COLOURS = ("#1b6ca8", "#2a9d8f", "#e9a23b", "#8a8a8a")
_MEANS = {
    "each set once": "every conversation, pair of partners and speaker once, as in SSREM's Table 2",
    "matched": "the sets of the same conversations, with the same number of utterances from each",
}


def set_name(speaker_set: SpeakerSet) -> str:
    """The name of a set for readers."""
    return speaker_set.name.replace("_", " ") + (", exclusive" if speaker_set.exclusive else "")


def coverage_table(coverage: SpeakerCoverage, corpus: str) -> Table:
    """How many moments of a corpus have each set, and how large the sets are."""
    rows: list[list[Cell]] = [
        [set_name(offer.of), offer.moments, 100 * offer.share, offer.median_size, offer.largest_size]
        for offer in coverage.offers
    ]
    notes = [
        f"{coverage.dialogues:,} dialogues, {coverage.turns:,} turns, {coverage.moments:,} moments (turns with a "
        "context)."
    ]
    if coverage.speakers:
        notes.append(
            f"{coverage.speakers:,} permanent speakers (counted in each split): {coverage.one_dialogue:,} speak in one "
            f"dialogue, {coverage.one_partner:,} with one partner; for these the larger sets equal the smaller ones, "
            "and the exclusive sets are empty."
        )
    if coverage.not_lasting:
        notes.append(
            f"{coverage.not_lasting:,} moments have a speaker label that is not the same from dialogue to dialogue."
        )
    if coverage.without_label:
        notes.append(f"{coverage.without_label:,} moments have no speaker.")
    if coverage.without_partner:
        notes.append(f"{coverage.without_partner:,} moments have no partner: nobody else speaks in the dialogue.")
    heads = ["set", "moments with it", "% of moments", "median size", "largest"]
    return Table(f"{corpus}: coverage of each set", heads, rows, notes, decimals=1)


def similarity_table(similarities: Sequence[SpeakerSimilarity], design: Design, corpus: str, encoder: str) -> Table:
    """The mean similarity within each kind of set."""
    matched = design == "matched"
    heads = ["set", "sets", "speakers", "utterances", "mean cosine", "Frobenius norm / n"]
    rows: list[list[Cell]] = [
        [
            similarity.of.replace("_", " "),
            similarity.n_sets,
            similarity.n_speakers,
            similarity.n_utterances,
            interval_estimate(similarity.cosine),
            interval_estimate(similarity.frobenius),
            *([interval_estimate(similarity.step) if similarity.step else None] if matched else []),
        ]
        for similarity in similarities
    ]
    notes = [
        f"{_MEANS[design]}; vectors: {encoder}; 95% intervals, clustered by speaker.",
        similarity_verdict(similarities),
    ]
    title = f"{corpus}: similarity within sets, {design}"
    return Table(title, [*heads, *(["below the set before"] if matched else [])], rows, notes)


def similarity_verdict(similarities: Sequence[SpeakerSimilarity]) -> str:
    """Whether similarity falls as SSREM claims, in one sentence."""
    if not any(similarity.n_sets for similarity in similarities[:-1]):
        return "No set has two utterances with different texts."
    order = "falls" if is_similarity_decreasing(similarities) else "does not fall"
    missing = [similarity.of.replace("_", " ") for similarity in similarities if not similarity.n_sets]
    lies = "lies" if are_first_and_last_apart(similarities) else "does not lie"
    rest = f" (there is no {' and no '.join(missing)})" if missing else ""
    return f"The mean cosine {order} from set to set{rest}; the interval of the first {lies} above that of the last."


def plot_similarity(by_corpus: Mapping[str, Sequence[SpeakerSimilarity]], encoder: str) -> str:
    """An SVG file with the mean cosine and interval of each kind of set, by corpus."""
    drawn_sets = {
        corpus: [similarity for similarity in kinds if similarity.n_sets] for corpus, kinds in by_corpus.items()
    }
    ends = [end for kinds in drawn_sets.values() for similarity in kinds for end in similarity.cosine[:3]]
    axis = make_axis(ends) or ChartAxis(0.0, 1.0, (0.0, 0.5, 1.0))
    parts, y = [], _HEAD + _LINE
    for corpus, kinds in drawn_sets.items():
        parts.append(f'<text x="12" y="{y + 5}" font-weight="bold">{escape_html(corpus)}</text>')
        y += _LINE
        for similarity in kinds:
            parts += _draw_interval(similarity, axis, y)
            y += _LINE
        y += _LINE // 2
    grid = [
        f'<line x1="{_axis_x(axis, tick)}" x2="{_axis_x(axis, tick)}" y1="{_HEAD}" y2="{y}" stroke="#dddddd"/>'
        f'<text x="{_axis_x(axis, tick)}" y="{y + 16}" text-anchor="middle">{tick_label(tick)}</text>'
        for tick in axis.ticks
    ]
    title = escape_html(f"Mean cosine within speaker sets, with 95% intervals ({encoder})")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{y + 28}" viewBox="0 0 {_WIDTH} {y + 28}" '
        f'font-family="sans-serif" font-size="13" role="img" aria-label="{title}">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n<text x="12" y="22" font-size="15">{title}</text>\n'
        + "\n".join([*grid, *parts])
        + "\n</svg>\n"
    )


def _draw_interval(similarity: SpeakerSimilarity, axis: ChartAxis, y: int) -> list[str]:
    """A dot for the mean and a line for its interval, after the set's name."""
    colour = _COLOURS[("same_conversation", "same_partner", "same_speaker", "random").index(similarity.of)]
    low, value, high = (
        _axis_x(axis, v) for v in (similarity.cosine.low, similarity.cosine.value, similarity.cosine.high)
    )
    name = escape_html(similarity.of.replace("_", " "))
    cosine = similarity.cosine
    label = escape_html(f"{cosine.value:.3f} [{cosine.low:.3f}, {cosine.high:.3f}], {similarity.n_sets:,} sets")
    return [
        f'<text x="28" y="{y + 5}">{name}</text>',
        f'<line x1="{low}" x2="{high}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3"/>',
        f'<circle cx="{value}" cy="{y}" r="5" fill="{colour}"><title>{name}: {label}</title></circle>',
    ]


def _axis_x(axis: ChartAxis, value: float) -> str:
    return f"{_LEFT + axis.share(value) * (_WIDTH - _LEFT - _RIGHT):.1f}"
