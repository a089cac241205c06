"""Where a judge is and how to send it requests: only from the environment, so that no spec, run or log contains it.

None of these settings changes a score (more tries may give one where there was none); what does change scores, such as
the model, the rubric and the repeats, is in the spec.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, field, replace

from rejoinder.errors import SpecError, brief
from rejoinder.judges.provider import KEY, URL, Provider, find_endpoint

_PREFIX = "REJOINDER_JUDGE_"


@dataclass(frozen=True)
class EndpointSettings:
    """An endpoint, the model there, and the limits for requests; never printed."""

    url: str = field(repr=False)  # up to /v1, as in the OpenAI libraries
    key: str = field(default="", repr=False)
    in_flight: int = 32
    timeout: float = 60.0  # seconds for one whole answer
    retries: int = 6  # after status 429 or 5xx, a timeout or a broken connection
    tries: int = 2  # to get an answer that can be read
    first_wait: float = 0.5  # seconds, doubled at every retry
    longest_wait: float = 60.0
    model: str | None = None  # the endpoint's name for the model; None: the one in the request
    provider: Provider = "endpoint"
    url_name: str = URL  # the variables to set where it fails
    key_name: str = KEY

    @property
    def is_anthropic(self) -> bool:
        """Whether the endpoint speaks Anthropic's protocol."""
        return self.provider == "anthropic"

    def without_key(self, text: str) -> str:
        """A text from the endpoint with the key replaced where it appears, plain or escaped in JSON."""
        return self._key_pattern().sub("***", text) if self.key else text

    def _key_pattern(self) -> re.Pattern[str]:
        """A pattern for the key in a text: JSON may escape characters with backslashes or as numbers."""
        return re.compile("".join(rf"\\*(?:{re.escape(c)}|u(?i:{ord(c):04x}))" for c in self.key))


def read_endpoint_settings(model: str) -> EndpointSettings:
    """The endpoint of a model, and the limits, from the environment."""
    address = find_endpoint(model)
    return read_limits(
        EndpointSettings(
            address.url,
            address.key,
            model=address.model,
            provider=address.provider,
            url_name=address.url_name,
            key_name=address.key_name,
        )
    )


def read_limits(settings: EndpointSettings) -> EndpointSettings:
    """The settings with the limits of the environment."""
    return replace(
        settings,
        in_flight=int(_read_number("IN_FLIGHT", 32, 1, 1024)),
        timeout=_read_number("TIMEOUT", 60.0, 0.01, 3600),
        retries=int(_read_number("RETRIES", 6, 0, 100)),
        tries=read_max_tries(),
    )


def read_max_tries() -> int:
    """How many answers to pay for if none can be read."""
    return int(_read_number("TRIES", 2, 1, 100))


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
