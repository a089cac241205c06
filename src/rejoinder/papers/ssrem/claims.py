"""What the SSREM paper claims, each in a sentence with what was measured here: confirmed or refuted.

What counts was set before ``test`` or a rated row was measured: the order of two scorers at the same places, said to be
apart where the interval of their difference leaves out 0; and the floors that were asked of SSREM. Scorers over the
shipped encoder stand beside and decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from rejoinder.indexes.speakers import SETS
from rejoinder.papers.base import Figure
from rejoinder.papers.ssrem.correlations import Found, difference, mean_over
from rejoinder.papers.ssrem.published import KINDS, SHORT, SHOWN
from rejoinder.papers.ssrem.rows import BASELINES
from rejoinder.papers.ssrem.scorers import BOTH, CORPORA, Reading, Scorer
from rejoinder.papers.ssrem.scores import Held, Told
from rejoinder.stats.interval import Interval

FLOORS = {"random": 0.80, "same_conversation": 0.58}  # of SSREM's AUC
SC, RAND = "same_conversation", "random"


def said(held: Sequence[bool]) -> str:
    """What cells that hold or do not hold make of a claim."""
    if not held:
        return "not measured"
    return "confirmed" if all(held) else "confirmed in part" if any(held) else "refuted"


class Ahead(NamedTuple):
    """Whether a scorer is ahead of all others that it is compared with, and whether it is surely so."""

    order: bool
    apart: bool

    @property
    def mark(self) -> str:
        """What is said behind a cell."""
        return "" if self.apart else " (ahead, not apart)" if self.order else " (not ahead)"


def ahead_by(differences: Sequence[Interval]) -> Ahead:
    """From the differences to each other scorer."""
    return Ahead(all(one.value > 0 for one in differences), all(one.low > 0 for one in differences))


def said_of(cells: Sequence[Ahead]) -> str:
    """What comparisons make of a claim."""
    if cells and all(cell.order for cell in cells) and not all(cell.apart for cell in cells):
        return "confirmed in order, not apart everywhere"
    return said([cell.order for cell in cells])


def similar(figures: Sequence[Figure]) -> Iterator[str]:
    """Table 2: on which corpora the similarity falls from set to set."""
    parts, held = [], []
    for table in dict.fromkeys(figure.table for figure in figures):
        rows: dict[str, list[float]] = {}
        for figure in figures:
            if figure.table == table and figure.measured == figure.measured:
                rows.setdefault(figure.row, []).append(figure.measured)
        falling = [row for row, values in rows.items() if all(a > b for a, b in pairwise(values))]
        held += [row in falling for row in rows]
        parts.append(f"{table.removeprefix('Table 2: ')}: {', '.join(falling) or 'none'} of {len(rows)} corpora")
    yield (
        f"The nearer two utterances' speakers, the more alike they are, SC above SP above SS above Rand (Table 2): "
        f"{said(held)}; it falls in this order in {'; '.join(parts)}."
    )


def told_apart(held: Held, readings: Sequence[Reading]) -> Iterator[str]:
    """Section 6."""
    yield _separates(held, readings)
    yield _first(held, readings)
    yield _floors(held, readings)
    yield _random(held, readings)
    yield _falls(held, readings)
    yield _others(held, readings)


def _separates(held: Held, readings: Sequence[Reading]) -> str:
    parts, holds = [], []
    for reading, corpus in cells(readings):
        own, *others = three(held, reading, corpus)
        gaps = ", ".join(f"{one.gap(SC).value:.2f}" for one in (own, *others))
        ahead = ahead_by([own.ahead(other, SC) for other in others])
        holds += [ahead] if not reading.shipped else []
        parts.append(f"{CORPORA[corpus]}, {reading.label} {gaps}{ahead.mark}")
    return (
        f"SSREM separates true replies from SC better than RSREM and RUBER: {said_of(holds)}; standardised gaps of "
        f"SSREM, RSREM, RUBER: {'; '.join(parts)}."
    )


def _first(held: Held, readings: Sequence[Reading]) -> str:
    parts, holds = [], []
    for reading, corpus in cells(readings):
        own, *others = three(held, reading, corpus)
        shares = ", ".join(f"{100 * one.first().value:.1f}" for one in (own, *others))
        ahead = ahead_by([own.more_often(other) for other in others])
        holds += [ahead] if not reading.shipped else []
        parts.append(f"{CORPORA[corpus]}, {reading.label} {shares}{ahead.mark}")
    return (
        f"SSREM ranks the true reply first of five more often than RSREM and RUBER: {said_of(holds)}; per cent by "
        f"SSREM, RSREM, RUBER (chance 20): {'; '.join(parts)}."
    )


def _floors(held: Held, readings: Sequence[Reading]) -> str:
    parts = []
    for reading, corpus in cells(readings):
        own = held[Scorer("ssrem", reading), corpus]
        for name, floor in FLOORS.items():
            value = own.auc(name).value
            reached = "reaches" if value >= floor else "misses"
            parts.append(f"{CORPORA[corpus]}, {reading.label}, {SHORT[name]} {value:.3f} ({reached} {floor:.2f})")
    return f"Asked of SSREM's AUC before it was measured: {'; '.join(parts)}."


def _random(held: Held, readings: Sequence[Reading]) -> str:
    parts, holds = [], []
    for reading, corpus in cells(readings):
        found = three(held, reading, corpus)
        holds += [one.gap(RAND).low > 0 for one in found] if not reading.shipped else []
        parts.append(f"{CORPORA[corpus]}, {reading.label} {', '.join(f'{one.gap(RAND).value:.2f}' for one in found)}")
    largest = [
        ahead_by([own.ahead(other, RAND) for other in others])
        for reading, corpus in cells(readings)
        if not reading.shipped
        for own, *others in [three(held, reading, corpus)]
    ]
    return (
        f"All three tell true replies from Rand: {said(holds)}; and SSREM has the largest gap: {said_of(largest)}; "
        f"gaps of SSREM, RSREM, RUBER: {'; '.join(parts)}."
    )


def _falls(held: Held, readings: Sequence[Reading]) -> str:
    parts, holds = [], []
    for reading, corpus in cells(readings):
        own = held[Scorer("ssrem", reading), corpus]
        means = [own.mean(name).value for name in SHORT]
        falling = all(a > b for a, b in pairwise(means))
        holds += [falling] if not reading.shipped else []
        parts.append(f"{CORPORA[corpus]}, {reading.label} {', '.join(f'{mean:.3f}' for mean in means)}")
    return (
        f"SSREM's mean score falls from true over SC, SP and SS to Rand (section 6.2): {said(holds)}; "
        f"{'; '.join(parts)}."
    )


def _others(held: Held, readings: Sequence[Reading]) -> str:
    parts, holds = [], []
    for reading, corpus in cells(readings):
        _, rsrem, ruber = three(held, reading, corpus)
        if not reading.shipped:
            holds += [rsrem.gap(SC).low <= 0, *(ruber.gap(name).low <= 0 for name in SETS[:3])]
        values = [rsrem.auc(SC).value, *(ruber.auc(name).value for name in SETS[:3])]
        parts.append(f"{CORPORA[corpus]}, {reading.label} {', '.join(f'{value:.3f}' for value in values)}")
    return (
        f"RSREM cannot tell true replies from SC, nor RUBER from SC, SP and SS (section 6.2): {said(holds)}; AUC of "
        f"RSREM for SC and of RUBER for SC, SP, SS: {'; '.join(parts)}."
    )


def cells(readings: Sequence[Reading]) -> Iterator[tuple[Reading, str]]:
    """Every corpus with every reading."""
    for corpus in CORPORA:
        for reading in readings:
            yield reading, corpus


def three(held: Held, reading: Reading, corpus: str, on: tuple[str, ...] = BOTH) -> list[Told]:
    """SSREM, RSREM, RUBER."""
    return [held[Scorer(kind, reading, on), corpus] for kind in reversed(KINDS)]


def agreement(whole: Found, alone: Found, readings: Sequence[Reading]) -> Iterator[str]:
    """The sentences; both of Spearman's correlation."""
    yield _order(
        "SSREM agrees with people more than RSREM, and RSREM more than RUBER (Tables 4 and 5)", whole, readings
    )
    yield _order("The same of f alone, on the six columns", alone, readings)
    yield _above(whole, readings)
    yield _baselines(whole)


def _order(claim: str, found: Found, readings: Sequence[Reading]) -> str:
    parts, holds = [], []
    for reading in readings:
        values = [_mean(found, Scorer(kind, reading).row) for kind in reversed(KINDS)]
        holds += [values[0] > values[1] > values[2]] if not reading.shipped else []
        own, rsrem, _ = (Scorer(kind, reading).row for kind in reversed(KINDS))
        ahead = difference(found, own, rsrem, "spearman")
        shown = f"SSREM less RSREM {ahead.value:.3f} [{ahead.low:.3f}, {ahead.high:.3f}]"
        parts.append(f"{reading.label} {_order_of(values)} ({shown})")
    return f"{claim}: {said(holds)} by order; mean Spearman over {len(found)} sets: {'; '.join(parts)}."


def _above(found: Found, readings: Sequence[Reading]) -> str:
    best = max(BASELINES, key=lambda row: _mean(found, row))
    parts, holds = [], []
    for reading in readings:
        value = _mean(found, Scorer("ssrem", reading).row)
        holds += [value > _mean(found, best)] if not reading.shipped else []
        parts.append(f"{reading.label} {value:.3f}")
    return (
        f"SSREM agrees with people more than BLEU, ROUGE and EMB: {said(holds)}; mean Spearman {', '.join(parts)} "
        f"against {_mean(found, best):.3f} of the best of them, {best}."
    )


def _baselines(found: Found) -> str:
    parts, holds = [], []
    for row in BASELINES:
        for name, rows in found.items():
            interval = rows[row].interval
            holds.append(not (interval.low > 0 or interval.high < 0))
            parts.append(f"{row} on {name} {interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]")
    return f"BLEU, ROUGE and EMB do not correlate with people (section 5.2): {said(holds)}; {'; '.join(parts)}."


def _mean(found: Found, row: str) -> float:
    return mean_over(found, row, "spearman").value


def _order_of(values: Sequence[float]) -> str:
    """SSREM, RSREM, RUBER with the sign between each two."""
    names = [SHOWN[kind] for kind in reversed(KINDS)]
    shown = f"{names[0]} {values[0]:.3f}"
    for before, value, name in zip(values, values[1:], names[1:], strict=False):
        shown += f" {'>' if before > value else '<' if before < value else '='} {name} {value:.3f}"
    return shown
