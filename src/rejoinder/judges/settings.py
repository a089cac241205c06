"""Where a judge is and how to send it requests: only from the environment, so that no spec, run or log contains it.

None of these settings changes a score (more tries may give one where there was none); what does change scores, such as
the model, the rubric and the repeats, is in the spec.
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
    """An OpenAI-compatible endpoint and the limits for requests; never printed."""

    url: str = field(repr=False)  # up to /v1, as in the OpenAI libraries
    key: str = field(default="", repr=False)
    in_flight: int = 32
    timeout: float = 60.0  # seconds for one whole answer
    retries: int = 6  # after status 429 or 5xx, a timeout or a broken connection
    tries: int = 3  # to get an answer that can be read
    first_wait: float = 0.5  # seconds, doubled at every retry
    longest_wait: float = 60.0

    def without_key(self, text: str) -> str:
        """A text from the endpoint with the key replaced where it appears, plain or escaped in JSON."""
        return self._key_pattern().sub("***", text) if self.key else text

    def _key_pattern(self) -> re.Pattern[str]:
        """A pattern for the key in a text: JSON may escape characters with backslashes or as numbers."""
        return re.compile("".join(rf"\\*(?:{re.escape(c)}|u(?i:{ord(c):04x}))" for c in self.key))


def read_endpoint_settings() -> EndpointSettings:
    """The settings from the environment."""
    url = os.environ.get(URL) or os.environ.get(_OTHER_URL) or ""
    if not url:
        raise JudgeError(
            f"no judge is reachable: set {URL} to an OpenAI-compatible endpoint (e.g. http://localhost:8000/v1) and "
            f"{KEY} to its key if it has one, or use judge(model='embedded')"
        )
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
        raise JudgeError(
            f"the judge's URL must be http:// or https:// with a host, without user name, password or query; set {URL}"
        )
    # A key belongs to its endpoint: the general key must not be sent to a URL from our own variable.
    key = os.environ.get(KEY) or ("" if os.environ.get(URL) else os.environ.get(_OTHER_KEY) or "")
    if any(not 33 <= ord(c) <= 126 for c in key):
        raise JudgeError(f"the judge's key must consist of visible ASCII characters; set {KEY} again")
    return EndpointSettings(
        url.rstrip("/"),
        key,
        in_flight=int(_read_number("IN_FLIGHT", 32, 1, 1024)),
        timeout=_read_number("TIMEOUT", 60.0, 0.01, 3600),
        retries=int(_read_number("RETRIES", 6, 0, 100)),
        tries=read_max_tries(),
    )


def read_max_tries() -> int:
    """How many answers to pay for if none can be read."""
    return int(_read_number("TRIES", 3, 1, 100))


def read_token_prices() -> tuple[float, float] | None:
    """The prices per million input and output tokens, in any currency; None if not set."""
    prices = [_read_number(name, math.nan, 0, 1e6) for name in ("INPUT_PRICE", "OUTPUT_PRICE")]
    return None if any(map(math.isnan, prices)) else (prices[0], prices[1])


def _read_number(name: str, default: float, low: float, high: float) -> float:
    text = os.environ.get(_PREFIX + name)
    if not text:
        return default
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not low <= number <= high or (isinstance(default, int) and not number.is_integer()):
        raise SpecError(f"{_PREFIX}{name} must be a number from {low:g} to {high:g}, not {brief(text)}")
    return number
