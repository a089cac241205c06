"""Where a judge is and how it may be asked: from the environment alone, so that no spec, run or log ever holds it.

None of these changes a number (more tries may find one where there was none): the model, the rubric and the repeats,
which do, are the spec's.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rejoinder.errors import JudgeError, SpecError, brief

URL, KEY = "REJOINDER_JUDGE_URL", "REJOINDER_JUDGE_KEY"
_OTHER_URL, _OTHER_KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
_PREFIX = "REJOINDER_JUDGE_"


@dataclass(frozen=True)
class EndpointSettings:
    """An OpenAI-compatible endpoint and the manners in which it is asked; never printed."""

    url: str = field(repr=False)  # up to /v1, as the OpenAI libraries take it
    key: str = field(default="", repr=False)
    in_flight: int = 32
    timeout: float = 60.0  # seconds for one whole answer
    retries: int = 6  # after an answer of 429 or 5xx, a timeout or a broken connection
    tries: int = 3  # at an answer that can be read
    first_wait: float = 0.5  # seconds, doubled at every retry
    longest_wait: float = 60.0

    def without_key(self, text: str) -> str:
        """A text that the endpoint sent, with the key blacked out where it repeats it, as it is or escaped in JSON."""
        return self._written().sub("***", text) if self.key else text

    def _written(self) -> re.Pattern[str]:
        """The key as it stands in a text: JSON may put backslashes before a character, or its number in its place."""
        return re.compile("".join(rf"\\*(?:{re.escape(c)}|u(?i:{ord(c):04x}))" for c in self.key))


def read_settings() -> EndpointSettings:
    """What the environment says."""
    url = os.environ.get(URL) or os.environ.get(_OTHER_URL) or ""
    if not url:
        raise JudgeError(
            f"no judge is reachable: set {URL} to an OpenAI-compatible endpoint (e.g. http://localhost:8000/v1) and "
            f"{KEY} to its key if it has one, or use judge(model='embedded')"
        )
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
        raise JudgeError(
            f"the judge's URL must be http:// or https:// with a host and no name, password or query in it; set {URL}"
        )
    # A key is for the endpoint that it came with: the general key must not be sent to a URL of our own variable.
    key = os.environ.get(KEY) or ("" if os.environ.get(URL) else os.environ.get(_OTHER_KEY) or "")
    if any(not 33 <= ord(c) <= 126 for c in key):
        raise JudgeError(f"the judge's key must be of visible ASCII characters; set {KEY} again")
    return EndpointSettings(
        url.rstrip("/"),
        key,
        in_flight=int(_read_number("IN_FLIGHT", 32, 1, 1024)),
        timeout=_read_number("TIMEOUT", 60.0, 0.01, 3600),
        retries=int(_read_number("RETRIES", 6, 0, 100)),
        tries=tries(),
    )


def tries() -> int:
    """How many answers are paid for where none can be read."""
    return int(_read_number("TRIES", 3, 1, 100))


def read_prices() -> tuple[float, float] | None:
    """The price of a million tokens, read and written, in whatever currency; None where it is not told."""
    found = [_read_number(name, math.nan, 0, 1e6) for name in ("INPUT_PRICE", "OUTPUT_PRICE")]
    return None if any(map(math.isnan, found)) else (found[0], found[1])


def _read_number(name: str, default: float, low: float, high: float) -> float:
    given = os.environ.get(_PREFIX + name)
    if not given:
        return default
    try:
        number = float(given)
    except ValueError:
        number = math.nan
    if not low <= number <= high or (isinstance(default, int) and not number.is_integer()):
        raise SpecError(f"{_PREFIX}{name} must be a number from {low:g} to {high:g}, not {brief(given)}")
    return number
