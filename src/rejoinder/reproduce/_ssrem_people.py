"""What the SSREM paper claims of agreement with people (Tables 4 and 5), and what was measured here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rejoinder.reproduce._ssrem_correlations import Found, difference, mean_over
from rejoinder.reproduce._ssrem_findings import said
from rejoinder.reproduce._ssrem_judged import BASELINES
from rejoinder.reproduce._ssrem_published import KINDS, SHOWN
from rejoinder.reproduce._ssrem_scorers import Reading, Scorer


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
