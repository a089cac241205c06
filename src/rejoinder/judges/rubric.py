"""A rubric: the instructions for a judge, and the scale with its anchors; a TOML file, packaged or the user's own.

Its digest is that of the file up to the card, which no judge reads: a better description changes no score, and answers
that were paid for stay valid.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, SpecError, brief, nearest
from rejoinder.files import sha256_of_bytes
from rejoinder.metric import Unit

PACKAGED = Path(__file__).parent / "rubrics"
ALIASES = {"default": "appropriate"}
# What a rubric may need or show besides the conversation and the reply; see data/parts.py.
PARTS = ("system_prompt", "documents", "situation", "tool_calls", "references", "earlier_turns")
CARD = ("purpose", "tried_on", "not_for")
_KEYS = {"extends", "unit", "rate", "compare", "needs", "shows", "scale", "anchors", "card"}
_UNITS: tuple[Unit, ...] = ("reply", "dialogue")
_SHOWN = ("system_prompt",)  # where a rubric does not say what it shows
_LOWEST, _HIGHEST = 0, 100
_CARD_START = re.compile(rb"(?:\r?\n)?^\[card\]", re.MULTILINE)
_MOST_BASES = 8


@dataclass(frozen=True)
class Rubric:
    """Instructions, a scale of whole numbers, what they mean, and what the judge sees besides the conversation.

    ``needs`` are parts without which an item is not judged, ``shows`` those that are shown where an item has them. The
    card says what the rubric is for (``purpose``), what it was tried on and what it is not for.
    """

    rate: str
    compare: str
    low: int
    high: int
    anchors: tuple[tuple[int, str], ...]  # from the lowest
    digest: str
    unit: Unit = "reply"
    needs: tuple[str, ...] = ()
    shows: tuple[str, ...] = _SHOWN
    card: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def levels(self) -> range:
        """The possible scores."""
        return range(self.low, self.high + 1)

    @property
    def parts(self) -> tuple[str, ...]:
        """What the judge may see besides the conversation and the reply, in the order of the prompt."""
        return tuple(part for part in PARTS if part in self.needs or part in self.shows)


def rubric_names() -> list[str]:
    """The names of the packaged rubrics.

    >>> import rejoinder
    >>> "faithful" in rejoinder.judges.rubric_names()
    True
    """
    return sorted(path.stem for path in PACKAGED.glob("*.toml"))


def load_rubric(name: str) -> Rubric:
    """The packaged rubric with this name, or the rubric in a file.

    - ``name``: the name, or a path that ends in .toml.

    >>> import rejoinder
    >>> rubric = rejoinder.judges.load_rubric("faithful")
    >>> rubric.needs, rubric.low, rubric.high
    (('documents',), 1, 5)
    """
    content, digest = _read_rubric(name, None, _MOST_BASES)
    return _build_rubric(content, name, digest)


def _read_rubric(name: str, beside: Path | None, bases: int) -> tuple[dict[str, Any], str]:
    """The keys of a rubric, with those of the rubric that it extends, and its digest."""
    path = _find_rubric(name, beside)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the rubric cannot be read ({error.strerror}); check the path") from None
    content, digest = _parse_toml(raw, str(path)), sha256_of_bytes(_cut_card(raw, str(path)))
    _check_keys(content, str(path))
    base = content.pop("extends", None)
    if base is None:
        return content, digest
    if not isinstance(base, str) or not bases:
        raise InputError(f"{path}: extends must be the name or the path of another rubric; found {brief(base)}")
    inherited, base_digest = _read_rubric(base, path.parent, bases - 1)
    inherited.pop("card", None)  # what was tried with another wording says little about this one
    if "scale" in content:
        inherited.pop("anchors", None)
    return inherited | content, sha256_of_bytes(f"{base_digest}\n{digest}".encode())


def _find_rubric(name: str, beside: Path | None) -> Path:
    if name.endswith(".toml"):
        return Path(name) if beside is None else beside / name
    known = rubric_names()
    if ALIASES.get(name, name) not in known:
        near = nearest(name, [*known, *ALIASES])
        raise SpecError(f"no rubric is called {name!r}; {near}; the path of your own file must end in .toml")
    return PACKAGED / f"{ALIASES.get(name, name)}.toml"


def _cut_card(raw: bytes, place: str) -> bytes:
    """The file up to the card, which must be its last table."""
    start = _CARD_START.search(raw)
    if start is None:
        return raw
    if re.search(rb"^\s*\[", raw[start.end() :], re.MULTILINE):
        raise InputError(f"{place}: a table follows [card]; put [card] at the end of the file")
    return raw[: start.start()]


def _parse_toml(raw: bytes, place: str) -> dict[str, Any]:
    try:
        content: dict[str, Any] = tomllib.loads(raw.decode())
    except ValueError as error:  # in the encoding or the syntax
        raise InputError(f"{place}: is not valid TOML ({error}); see docs/judge.md for the keys of a rubric") from None
    return content


def _check_keys(content: dict[str, Any], place: str) -> None:
    required: set[str] = set() if "extends" in content else {"rate", "scale"}
    unknown, missing = content.keys() - _KEYS, required - content.keys()
    if unknown or missing:
        what = f"a rubric has no key {min(unknown)!r}" if unknown else f"a rubric needs the key {min(missing)!r}"
        raise InputError(f"{place}: {what}; its keys are: {', '.join(sorted(_KEYS))}")


def _build_rubric(content: dict[str, Any], place: str, digest: str) -> Rubric:
    rate, compare = (_rubric_text(content, key, place) for key in ("rate", "compare"))
    scale = content["scale"] if isinstance(content["scale"], dict) else {}
    low, high = scale.get("low"), scale.get("high")
    if type(low) is not int or type(high) is not int or not _LOWEST <= low < high <= _HIGHEST:
        raise InputError(
            f"{place}: scale must have low and high, whole numbers from {_LOWEST} to {_HIGHEST} with low below high; "
            f"found {brief(content['scale'])}"
        )
    unit = content.get("unit", "reply")
    if unit not in _UNITS:
        raise InputError(f"{place}: unit must be {' or '.join(map(repr, _UNITS))}; found {brief(unit)}")
    needs, shows = (_list_parts(content, key, place) for key in ("needs", "shows"))
    return Rubric(
        rate,
        compare or rate,
        low,
        high,
        _list_anchors(content.get("anchors", {}), low, high, place),
        digest,
        unit,
        needs,
        shows if "shows" in content else _SHOWN,
        _read_card(content.get("card", {}), place),
    )


def _list_anchors(anchors: Any, low: int, high: int, place: str) -> tuple[tuple[int, str], ...]:
    levels = {str(level): level for level in range(low, high + 1)}
    if not isinstance(anchors, dict) or any(k not in levels or not isinstance(v, str) for k, v in anchors.items()):
        raise InputError(f"{place}: anchors must be texts under numbers from {low} to {high}; found {brief(anchors)}")
    return tuple(sorted((levels[key], " ".join(text.split())) for key, text in anchors.items()))


def _list_parts(content: dict[str, Any], key: str, place: str) -> tuple[str, ...]:
    parts = content.get(key, [])
    if not isinstance(parts, list) or any(part not in PARTS for part in parts):
        raise InputError(f"{place}: {key} must be a list of some of: {', '.join(PARTS)}; found {brief(parts)}")
    return tuple(part for part in PARTS if part in parts)


def _read_card(card: Any, place: str) -> dict[str, str]:
    if not isinstance(card, dict) or any(k not in CARD or not isinstance(v, str) for k, v in card.items()):
        raise InputError(f"{place}: card must hold texts under: {', '.join(CARD)}; found {brief(card)}")
    return {key: " ".join(text.split()) for key, text in card.items()}


def _rubric_text(content: dict[str, Any], key: str, place: str) -> str:
    text = content.get(key, "")
    if not isinstance(text, str) or (key == "rate" and not text.strip()):
        raise InputError(f"{place}: {key!r} must be a text; found {brief(text)}")
    return text.strip()
