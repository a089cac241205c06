"""An explanation for a reader: lines of marked text for a terminal, one table, or a JSON object."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import NamedTuple

from rejoinder.escape import escape_terminal
from rejoinder.probes.explanation import Explanation, Part, Span
from rejoinder.table import Table, decimal

_LONGEST = 200  # characters of an utterance that are shown
_STRONG = 1 / 3  # of the strongest: weaker words stay unmarked in plain text
_SHADES = {1: ("cyan", "bold cyan", "black on cyan"), -1: ("red", "bold red", "white on red")}  # earned, cost
_ALL = {"word": "words", "sentence": "sentences", "stretch": "stretches"}


class Segment(NamedTuple):
    """Some text and how strongly it is marked: from -1, cost most, over 0 to 1, earned most."""

    text: str
    mark: float = 0.0


def lines(found: Explanation) -> Iterator[list[Segment]]:
    """What is shown, line by line."""
    yield [Segment(f"{found.metric}: {_number(found.score)}")]
    if found.context:
        yield from _context(found)
    yield []
    yield [Segment("Reply, by what each of its " + _ALL[found.unit] + " earned or cost:")]
    yield [Segment("  "), *_reply(found)]
    yield []
    for head, spans in (("cost most", found.costly()), ("earned most", found.earning())):
        listed = ", ".join(f"“{_short(span.text, 60)}” {_signed(span.worth)}" for span in spans)
        yield [Segment(f"{head}: {listed or 'nothing'}")]
    for note in found.notes:
        yield [Segment(note)]


def plain(found: Explanation) -> str:
    """The lines as plain text: ``[-cost-]`` and ``{+earned+}``."""
    return escape_terminal("\n".join("".join(_bracketed(segment) for segment in line) for line in lines(found)))


def show(found: Explanation) -> None:
    """Print the lines on a terminal, shaded."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in lines(found):
        marked = ((escape_terminal(segment.text), _style(segment.mark)) for segment in line)
        console.print(Text.assemble(*marked))
    legend = ((" earned ", _style(1)), " ", (" cost ", _style(-1)))
    console.print(Text.assemble(*legend))


def table(found: Explanation) -> Table:
    """All parts, words and spans in one table."""
    rows: list[list[str | float | None]] = []
    for part in found.context:
        kind = "piece" if part.is_piece else "utterance" if part.n_utterances == 1 else "utterances"
        rows.append([kind, _place(part), part.text, part.without, part.alone, part.share])
    for kind, spans in ((found.unit, found.words), ("neighbours", found.spans)):
        rows += [[kind, str(span.start), span.text, span.without, None, span.worth] for span in spans]
    heads = ["what", "where", "text", "score without", "score alone", "share or worth"]
    title = f"{found.metric} of {found.response}: {_number(found.score)}"
    return Table(title, heads, rows, found.notes, decimals=4)


def to_json(found: Explanation) -> str:
    """Everything, with what the reply leans on and its costliest spans; NaN is null."""
    chosen: dict[str, Sequence[Part | Span]] = {
        "answers": found.answers(),
        "costly": found.costly(),
        "earning": found.earning(),
    }
    listed = {name: [asdict(one) for one in values] for name, values in chosen.items()}
    return json.dumps(_without_nan({**asdict(found), **listed}), indent=2, ensure_ascii=False)


def _context(found: Explanation) -> Iterator[list[Segment]]:
    leaned = found.answers()
    strongest = _strongest([part.share for part in found.context])
    yield []
    yield [Segment("     share    alone  context")]
    for part in found.context:
        arrow = ">" if part in leaned else " "
        speaker = f"{part.speaker}: " if part.speaker and not part.is_piece else ""
        place = "    · " if part.is_piece else f"{_place(part)}  {speaker}"
        numbers = f"{arrow} {_signed(part.share):>8} {_number(part.alone):>8}  {place}"
        yield [Segment(numbers), Segment(_short(part.text, _LONGEST), _mark(part.share, strongest))]
    if leaned:
        yield [Segment(f"It leans most on “{_short(leaned[-1].text, 80)}”.")]
    elif sum(not part.is_piece for part in found.context) > 1 and not math.isnan(found.score):
        yield [Segment("No single utterance is needed: without any one of them the score is no worse.")]


def _reply(found: Explanation) -> Iterator[Segment]:
    strongest = _strongest([word.worth for word in found.words])
    at = 0
    for word in found.words:
        yield Segment(found.reply[at : word.start])
        yield Segment(word.text, _mark(word.worth, strongest))
        at = word.end
    yield Segment(found.reply[at:])


def _strongest(values: Sequence[float]) -> float:
    return max((abs(value) for value in values if not math.isnan(value)), default=0.0)


def _mark(value: float, strongest: float) -> float:
    return 0.0 if math.isnan(value) or strongest < 1e-9 else value / strongest


def _bracketed(segment: Segment) -> str:
    if abs(segment.mark) < _STRONG:
        return segment.text
    return f"{{+{segment.text}+}}" if segment.mark > 0 else f"[-{segment.text}-]"


def _style(mark: float) -> str:
    if abs(mark) < 0.1:
        return ""
    return _SHADES[1 if mark > 0 else -1][min(2, int(abs(mark) * 3))]


def _place(part: Part) -> str:
    first = part.utterance - part.n_utterances + 2
    return f"{first}" if part.n_utterances == 1 else f"{first}-{part.utterance + 1}"


def _short(text: str, longest: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else decimal(value, 4)


def _signed(value: float) -> str:
    return "–" if math.isnan(value) else decimal(value, 4, sign="+")


def _without_nan(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value
