"""An explanation for a reader: lines of marked text for a terminal, one table, or a JSON object."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import NamedTuple

from rejoinder.escape import escape_terminal
from rejoinder.probes.explanation import ContextPart, Explanation, ReplySpan
from rejoinder.table import Table, format_decimal, shorten_text

_LONGEST = 200  # characters of an utterance that are shown
_STRONG = 1 / 3  # of the strongest mark: weaker words stay unmarked in plain text
# The codes of a terminal for earned (cyan) and cost (red): coloured, bold, on a coloured ground.
_SHADES = {1: ("36", "1;36", "30;46"), -1: ("31", "1;31", "37;41")}
_UNIT_PLURALS = {"word": "words", "sentence": "sentences", "stretch": "groups of words"}


class MarkedText(NamedTuple):
    """Some text and how strongly it is marked: from -1 (cost most) through 0 to 1 (earned most)."""

    text: str
    mark: float = 0.0


def render_lines(explanation: Explanation) -> Iterator[list[MarkedText]]:
    """The explanation, line by line."""
    yield [MarkedText(f"{explanation.metric}: {_format_number(explanation.score)}")]
    if explanation.context:
        yield from _render_context(explanation)
    yield []
    yield [MarkedText("Reply, by what its " + _UNIT_PLURALS[explanation.unit] + " earned or cost:")]
    yield [MarkedText("  "), *_render_reply(explanation)]
    yield []
    for head, spans in (("cost most", explanation.costly()), ("earned most", explanation.earning())):
        listed = ", ".join(f"“{shorten_text(span.text, 60)}” {_format_signed(span.worth)}" for span in spans)
        yield [MarkedText(f"{head}: {listed or 'nothing'}")]
    for note in explanation.notes:
        yield [MarkedText(note)]


def render_plain(explanation: Explanation) -> str:
    """The lines as plain text: ``[-cost-]`` and ``{+earned+}``."""
    return escape_terminal(
        "\n".join("".join(_bracket_marked(segment) for segment in line) for line in render_lines(explanation))
    )


def print_explanation(explanation: Explanation) -> None:
    """Print the lines on a terminal, shaded."""
    out = getattr(sys.stdout, "unescaped", sys.stdout)
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    is_shaded = not is_plain and (out.isatty() or bool(os.environ.get("FORCE_COLOR")))
    legend = [MarkedText(" earned ", 1), MarkedText(" "), MarkedText(" cost ", -1)]
    for line in (*render_lines(explanation), legend):
        out.write("".join(_shade(segment) if is_shaded else escape_terminal(segment.text) for segment in line) + "\n")


def explanation_table(explanation: Explanation) -> Table:
    """All parts, words and spans in one table."""
    rows: list[list[str | float | None]] = []
    for part in explanation.context:
        kind = "piece" if part.is_piece else "utterance" if part.n_utterances == 1 else "utterances"
        rows.append([kind, _format_place(part), part.text, part.without, part.alone, part.share])
    for kind, spans in ((explanation.unit, explanation.words), ("neighbours", explanation.spans)):
        rows += [[kind, str(span.start), span.text, span.without, None, span.worth] for span in spans]
    heads = ["what", "where", "text", "score without", "score alone", "share or worth"]
    title = f"{explanation.metric} of {explanation.response}: {_format_number(explanation.score)}"
    return Table(title, heads, rows, explanation.notes, decimals=4)


def explanation_to_json(explanation: Explanation) -> str:
    """The explanation as JSON, with what the reply leans on and its costliest spans; NaN is null."""
    selected: dict[str, Sequence[ContextPart | ReplySpan]] = {
        "answers": explanation.answers(),
        "costly": explanation.costly(),
        "earning": explanation.earning(),
    }
    listed = {name: [asdict(part) for part in values] for name, values in selected.items()}
    return json.dumps(_without_nan({**asdict(explanation), **listed}), indent=2, ensure_ascii=False)


def _render_context(explanation: Explanation) -> Iterator[list[MarkedText]]:
    answers = explanation.answers()
    strongest = _strongest([part.share for part in explanation.context])
    yield []
    yield [MarkedText("     share    alone  context")]
    for part in explanation.context:
        arrow = ">" if part in answers else " "
        speaker = f"{part.speaker}: " if part.speaker and not part.is_piece else ""
        place = "    · " if part.is_piece else f"{_format_place(part)}  {speaker}"
        numbers = f"{arrow} {_format_signed(part.share):>8} {_format_number(part.alone):>8}  {place}"
        yield [
            MarkedText(numbers),
            MarkedText(shorten_text(part.text, _LONGEST), _mark_strength(part.share, strongest)),
        ]
    if answers:
        yield [MarkedText(f"It leans most on “{shorten_text(answers[-1].text, 80)}”.")]
    elif sum(not part.is_piece for part in explanation.context) > 1 and not math.isnan(explanation.score):
        yield [MarkedText("No single utterance is needed: leaving out any one of them does not make the score worse.")]


def _render_reply(explanation: Explanation) -> Iterator[MarkedText]:
    strongest = _strongest([word.worth for word in explanation.words])
    end = 0
    for word in explanation.words:
        yield MarkedText(explanation.reply[end : word.start])
        yield MarkedText(word.text, _mark_strength(word.worth, strongest))
        end = word.end
    yield MarkedText(explanation.reply[end:])


def _strongest(values: Sequence[float]) -> float:
    return max((abs(value) for value in values if not math.isnan(value)), default=0.0)


def _mark_strength(value: float, strongest: float) -> float:
    return 0.0 if math.isnan(value) or strongest < 1e-9 else value / strongest


def _bracket_marked(segment: MarkedText) -> str:
    if abs(segment.mark) < _STRONG:
        return segment.text
    return f"{{+{segment.text}+}}" if segment.mark > 0 else f"[-{segment.text}-]"


def _shade(segment: MarkedText) -> str:
    text = escape_terminal(segment.text)
    if abs(segment.mark) < 0.1:
        return text
    return f"\x1b[{_SHADES[1 if segment.mark > 0 else -1][min(2, int(abs(segment.mark) * 3))]}m{text}\x1b[0m"


def _format_place(part: ContextPart) -> str:
    first = part.utterance - part.n_utterances + 2
    return f"{first}" if part.n_utterances == 1 else f"{first}-{part.utterance + 1}"


def _format_number(value: float) -> str:
    return "–" if math.isnan(value) else format_decimal(value, 4)


def _format_signed(value: float) -> str:
    return "–" if math.isnan(value) else format_decimal(value, 4, sign="+")


def _without_nan(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value
