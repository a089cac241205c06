"""Limits of the API: for one request, and for all requests together."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.server.limits import RequestRate, ServerLimits

MIB = 1024 * 1024
# These are part of the published description, so they are the same for every server.
ROWS = 1_000  # pairs, items or questions of one request
TURNS = 200  # of one context
CANDIDATES = 200  # of one question
CHARACTERS = 20_000  # of one text
SPECS = 20  # metrics or systems of one request


@dataclass(frozen=True, slots=True)
class LoadLimits:
    """How much the server accepts at once.

    At most ``concurrent`` requests are being answered and ``queued`` rows wait in a queue; further requests are refused
    (429). ``seconds`` is how long a client waits for an answer (504). ``window`` is how long a batch waits for more
    requests if the previous batch had several (a tenth of the time that took, at most ``longest_window``), and
    ``batch`` the number of rows per call.
    """

    concurrent: int = 256
    queued: int = 20_000
    seconds: float = 60.0
    window: float = 0.003
    longest_window: float = 0.03
    batch: int = 512


def serving_limits(body_bytes: int = 4 * MIB, seconds: float = 60.0) -> ServerLimits:
    """Return the limits of the middleware: clients with the token are limited by the load alone, not by a rate."""
    return ServerLimits(session=RequestRate(1e9, 1e9), body_bytes=body_bytes, request_seconds=seconds + 15.0)
