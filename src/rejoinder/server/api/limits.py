"""How much one request, and all of them together, may ask of the API."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.server.limits import Limits, Rate

MIB = 1024 * 1024
# These stand in the published description, so they are the same for every server.
ROWS = 1_000  # pairs, items or questions of one request
TURNS = 200  # of one context
CANDIDATES = 200  # of one question
CHARACTERS = 20_000  # of one text
SPECS = 20  # metrics or systems of one request


@dataclass(frozen=True, slots=True)
class LoadLimits:
    """What the server takes on at once.

    ``concurrent`` requests are under way at most and ``queued`` rows wait in a lane; who comes beyond that is asked to
    come again (429). ``seconds`` is how long somebody waits for an answer (504). ``window`` is how long a batch waits
    for company where the batch before had some (a tenth of what that took, but no longer than ``longest_window``), and
    ``batch`` the rows of one call.
    """

    concurrent: int = 256
    queued: int = 20_000
    seconds: float = 60.0
    window: float = 0.003
    longest_window: float = 0.03
    batch: int = 512


def serving_limits(body_bytes: int = 4 * MIB, seconds: float = 60.0) -> Limits:
    """The limits of what stands before the app: who has the token is limited by the load alone, not by a rate."""
    return Limits(session=Rate(1e9, 1e9), body_bytes=body_bytes, request_seconds=seconds + 15.0)
