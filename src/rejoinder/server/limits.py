"""How much a client may ask of the server, and how fast: token buckets, body sizes, time limits."""

from __future__ import annotations

import ipaddress
import threading
from collections import OrderedDict
from dataclasses import dataclass

KIB = 1024


@dataclass(frozen=True, slots=True)
class RequestRate:
    """The settings of a token bucket: the number of requests at once, and per second after that."""

    burst: float
    per_second: float


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The server's limits.

    ``address`` is for clients that are not recognised yet: a page with its style and script takes four requests, so a
    class of raters behind one address can open their links in the same minute. ``session`` is for a rater or owner who
    was recognised by a cookie; each has a bucket of their own. A body that is too large is refused before it is read
    (what still arrives is forgotten); the forms of a project need less.
    """

    address: RequestRate = RequestRate(200, 5)
    session: RequestRate = RequestRate(100, 10)
    body_bytes: int = 256 * KIB
    body_seconds: float = 20.0
    request_seconds: float = 30.0
    fields: int = 2000
    clients: int = 20_000


class TokenBuckets:
    """Token buckets by key; if there are too many, the least recently used one is dropped."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str, rate: RequestRate, now: float) -> float:
        """Take a token; return 0, or if there is none the seconds until there will be one."""
        level, at = self._levels.pop(key, (rate.burst, now))
        level = min(rate.burst, level + max(0.0, now - at) * rate.per_second)
        missing = max(0.0, 1 - level)
        self._levels[key] = (level if missing else level - 1, now)
        while len(self._levels) > self._most:
            self._levels.popitem(last=False)
        return missing / rate.per_second


class RecentDigests:
    """Digests of cookies that were recognised recently; bounded, so that nobody can fill the memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, digest: str) -> bool:
        return digest in self._seen

    def add(self, digest: str) -> None:
        """Store a digest as the most recent one."""
        with self._lock:
            self._seen[digest] = None
            self._seen.move_to_end(digest)
            while len(self._seen) > self._most:
                self._seen.popitem(last=False)

    def drop(self, digest: str) -> None:
        """Remove a digest."""
        with self._lock:
            self._seen.pop(digest, None)


def client_key(host: str | None) -> str:
    """Return the bucket key of an address: itself, or for IPv6 its /64 network, which is what one customer has."""
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return host or "unknown"
    if address.version == 6 and not address.ipv4_mapped:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address.ipv4_mapped or address) if address.version == 6 else str(address)
