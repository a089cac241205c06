"""A rubric: the instructions for a judge, and the scale with its anchors; a TOML file, packaged or the user's own."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, SpecError, brief, nearest
from rejoinder.files import sha256_of_bytes

PACKAGED = Path(__file__).parent / "rubrics"
_KEYS = {"rate", "compare", "scale", "anchors"}
_LOWEST, _HIGHEST = 0, 100


@dataclass(frozen=True)
class Rubric:
    """Instructions, a scale of whole numbers, and what some of them mean; the digest is the file's."""

    rate: str
    compare: str
    low: int
    high: int
    anchors: tuple[tuple[int, str], ...]  # from the lowest
    digest: str

    @property
    def levels(self) -> range:
        """The possible scores."""
        return range(self.low, self.high + 1)


def load_rubric(name: str) -> Rubric:
    """The packaged rubric with this name, or the rubric in a file (a path that ends in .toml)."""
    path = Path(name) if name.endswith(".toml") else PACKAGED / f"{name}.toml"
    if not name.endswith(".toml") and name not in (known := sorted(p.stem for p in PACKAGED.glob("*.toml"))):
        raise SpecError(
            f"no rubric is called {name!r}; {nearest(name, known)}; the path of your own file must end in .toml"
        )
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the rubric cannot be read ({error.strerror}); check the path") from None
    return _build_rubric(_parse_toml(raw, str(path)), str(path), sha256_of_bytes(raw))


def _parse_toml(raw: bytes, place: str) -> dict[str, Any]:
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        content: dict[str, Any] = toml.loads(raw.decode())
    except ValueError as error:  # in the encoding or the syntax
        raise InputError(f"{place}: is not valid TOML ({error}); see docs/judge.md for the keys of a rubric") from None
    return content


def _build_rubric(content: dict[str, Any], place: str, digest: str) -> Rubric:
    unknown, missing = content.keys() - _KEYS, {"rate", "scale"} - content.keys()
    if unknown or missing:
        what = f"a rubric has no key {min(unknown)!r}" if unknown else f"a rubric needs the key {min(missing)!r}"
        raise InputError(f"{place}: {what}; its keys are: {', '.join(sorted(_KEYS))}")
    texts = [_rubric_text(content, key, place) for key in ("rate", "compare")]
    scale = content["scale"] if isinstance(content["scale"], dict) else {}
    low, high = scale.get("low"), scale.get("high")
    if type(low) is not int or type(high) is not int or not _LOWEST <= low < high <= _HIGHEST:
        raise InputError(
            f"{place}: scale must have low and high, whole numbers from {_LOWEST} to {_HIGHEST} with low below high; "
            f"found {brief(content['scale'])}"
        )
    anchors = content.get("anchors", {})
    levels = {str(level): level for level in range(low, high + 1)}
    if not isinstance(anchors, dict) or any(k not in levels or not isinstance(v, str) for k, v in anchors.items()):
        raise InputError(f"{place}: anchors must be texts under numbers from {low} to {high}; found {brief(anchors)}")
    ordered = sorted((levels[key], " ".join(text.split())) for key, text in anchors.items())
    return Rubric(texts[0], texts[1] or texts[0], low, high, tuple(ordered), digest)


def _rubric_text(content: dict[str, Any], key: str, place: str) -> str:
    text = content.get(key, "")
    if not isinstance(text, str) or (key == "rate" and not text.strip()):
        raise InputError(f"{place}: {key!r} must be a text; found {brief(text)}")
    return text.strip()
