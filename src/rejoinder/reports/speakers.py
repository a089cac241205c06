"""What a corpus offers of SSREM's speaker sets and how alike they are, as tables and as a drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder.indexes.speaker_coverage import Coverage
from rejoinder.indexes.speaker_sets import Design
from rejoinder.indexes.speaker_similarity import Similarity, is_decreasing, is_separated
from rejoinder.indexes.speakers import SpeakerSet
from rejoinder.reports.chart import Axis, escape_html, make_axis, tick_label
from rejoinder.stats.interval import Interval
from rejoinder.table import Cell, Estimate, Table

_WIDTH, _LEFT, _RIGHT, _LINE, _HEAD = 720, 210, 30, 24, 34
_COLOURS = ("#1b6ca8", "#2a9d8f", "#e9a23b", "#8a8a8a")
_MEANS = {
    "each set once": "every conversation, pair of partners and speaker once, as in SSREM's Table 2",
    "matched": "the sets of the same conversations, equally many utterances from each",
}


def set_name(of: SpeakerSet) -> str:
    """A set as people read it."""
    return of.name.replace("_", " ") + (", exclusive" if of.exclusive else "")


def coverage_table(found: Coverage, corpus: str) -> Table:
    """For how many moments a corpus has each set, and how large the sets are."""
    rows: list[list[Cell]] = [
        [set_name(offer.of), offer.moments, 100 * offer.share, offer.median_size, offer.largest_size]
        for offer in found.offers
    ]
    notes = [f"{found.dialogues:,} dialogues, {found.turns:,} turns, {found.moments:,} moments (turns with a context)."]
    if found.speakers:
        notes.append(
            f"{found.speakers:,} lasting speakers (counted in each split): {found.one_dialogue:,} speak in one "
            f"dialogue, {found.one_partner:,} with one partner; their larger sets are the smaller ones again, and the "
            "exclusive ones are empty."
        )
    if found.not_lasting:
        notes.append(f"{found.not_lasting:,} moments have a label that does not last from dialogue to dialogue.")
    if found.without_label:
        notes.append(f"{found.without_label:,} moments have no speaker.")
    if found.without_partner:
        notes.append(f"{found.without_partner:,} moments have no partner: nobody else speaks in the dialogue.")
    heads = ["set", "moments that have it", "% of moments", "median size", "largest"]
    return Table(f"{corpus}: what there is of each set", heads, rows, notes, decimals=1)


def similarity_table(found: Sequence[Similarity], design: Design, corpus: str, encoder: str) -> Table:
    """The mean similarity within each kind of set."""
    matched = design == "matched"
    heads = ["set", "sets", "speakers", "utterances", "mean cosine", "Frobenius norm / n"]
    rows: list[list[Cell]] = [
        [
            one.of.replace("_", " "),
            one.n_sets,
            one.n_speakers,
            one.n_utterances,
            interval_estimate(one.cosine),
            interval_estimate(one.frobenius),
            *([interval_estimate(one.step) if one.step else None] if matched else []),
        ]
        for one in found
    ]
    notes = [f"{_MEANS[design]}; vectors: {encoder}; 95% intervals, clustered by speaker.", similarity_verdict(found)]
    title = f"{corpus}: similarity within sets, {design}"
    return Table(title, [*heads, *(["below the set before"] if matched else [])], rows, notes)


def similarity_verdict(found: Sequence[Similarity]) -> str:
    """Whether similarity falls as SSREM says, in one sentence."""
    if not any(one.n_sets for one in found[:-1]):
        return "No set has two utterances that say different things."
    order = "falls" if is_decreasing(found) else "does not fall"
    missing = [one.of.replace("_", " ") for one in found if not one.n_sets]
    ends = "are apart" if is_separated(found) else "are not apart"
    rest = f" (there is no {' and no '.join(missing)})" if missing else ""
    return f"The mean cosine {order} from set to set{rest}; the first and the last {ends} by their intervals."


def interval_estimate(found: Interval) -> Estimate:
    """An interval as a cell."""
    return Estimate(found.value, found.low, found.high)


def plot_similarity(found: Mapping[str, Sequence[Similarity]], encoder: str) -> str:
    """The mean cosine within each kind of set with its interval, under the name of each corpus, as an SVG file."""
    shown = {corpus: [one for one in kinds if one.n_sets] for corpus, kinds in found.items()}
    ends = [end for kinds in shown.values() for one in kinds for end in one.cosine[:3]]
    along = make_axis(ends) or Axis(0.0, 1.0, (0.0, 0.5, 1.0))
    parts, y = [], _HEAD + _LINE
    for corpus, kinds in shown.items():
        parts.append(f'<text x="12" y="{y + 5}" font-weight="bold">{escape_html(corpus)}</text>')
        y += _LINE
        for one in kinds:
            parts += _draw_interval(one, along, y)
            y += _LINE
        y += _LINE // 2
    grid = [
        f'<line x1="{_x(along, tick)}" x2="{_x(along, tick)}" y1="{_HEAD}" y2="{y}" stroke="#dddddd"/>'
        f'<text x="{_x(along, tick)}" y="{y + 16}" text-anchor="middle">{tick_label(tick)}</text>'
        for tick in along.ticks
    ]
    title = escape_html(f"Mean cosine within speaker sets, with 95% intervals ({encoder})")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{y + 28}" viewBox="0 0 {_WIDTH} {y + 28}" '
        f'font-family="sans-serif" font-size="13" role="img" aria-label="{title}">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n<text x="12" y="22" font-size="15">{title}</text>\n'
        + "\n".join([*grid, *parts])
        + "\n</svg>\n"
    )


def _draw_interval(one: Similarity, along: Axis, y: int) -> list[str]:
    """A dot for the mean and a line for its interval, with the set's name before and the number behind."""
    colour = _COLOURS[("same_conversation", "same_partner", "same_speaker", "random").index(one.of)]
    low, value, high = (_x(along, v) for v in (one.cosine.low, one.cosine.value, one.cosine.high))
    name = escape_html(one.of.replace("_", " "))
    said = escape_html(f"{one.cosine.value:.3f} [{one.cosine.low:.3f}, {one.cosine.high:.3f}], {one.n_sets:,} sets")
    return [
        f'<text x="28" y="{y + 5}">{name}</text>',
        f'<line x1="{low}" x2="{high}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3"/>',
        f'<circle cx="{value}" cy="{y}" r="5" fill="{colour}"><title>{name}: {said}</title></circle>',
    ]


def _x(along: Axis, value: float) -> str:
    return f"{_LEFT + along.share(value) * (_WIDTH - _LEFT - _RIGHT):.1f}"
