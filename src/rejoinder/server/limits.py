"""How much one client may ask of the server, and how fast: token buckets, body sizes, times."""

from __future__ import annotations

import ipaddress
import threading
from collections import OrderedDict
from dataclasses import dataclass

KIB = 1024


@dataclass(frozen=True, slots=True)
class Rate:
    """A token bucket's numbers: so many requests at once, and so many a second after that."""

    burst: float
    per_second: float


@dataclass(frozen=True, slots=True)
class Limits:
    """The server's limits.

    An address is what nobody has recognised yet: a page with its style and script is four requests, so that a class of
    raters behind one address can open their links in the same minute. A session is a rater or owner who was recognised
    by a cookie, and has a bucket alone. A body is refused before it is read; the forms of a project need less.
    """

    address: Rate = Rate(200, 5)
    session: Rate = Rate(100, 10)
    body_bytes: int = 256 * KIB
    body_seconds: float = 20.0
    request_seconds: float = 30.0
    fields: int = 2000
    clients: int = 20_000


class TokenBuckets:
    """Token buckets by key; the longest unused is forgotten where there are too many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str, rate: Rate, now: float) -> float:
        """Take a token: 0 where there was one, else the seconds until there will be one."""
        level, at = self._levels.pop(key, (rate.burst, now))
        level = min(rate.burst, level + max(0.0, now - at) * rate.per_second)
        missing = max(0.0, 1 - level)
        self._levels[key] = (level if missing else level - 1, now)
        while len(self._levels) > self._most:
            self._levels.popitem(last=False)
        return missing / rate.per_second


class RecentDigests:
    """Digests of cookies that were recognised lately; bounded, so that nobody can fill it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, digest: str) -> bool:
        return digest in self._seen

    def add(self, digest: str) -> None:
        """Remember a digest, as the latest."""
        with self._lock:
            self._seen[digest] = None
            self._seen.move_to_end(digest)
            while len(self._seen) > self._most:
                self._seen.popitem(last=False)

    def drop(self, digest: str) -> None:
        """Forget a digest."""
        with self._lock:
            self._seen.pop(digest, None)


def client_key(host: str | None) -> str:
    """The key of an address: itself, and for IPv6 its network of 64 bits, which is what one customer has."""
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return host or "unknown"
    if address.version == 6 and not address.ipv4_mapped:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address.ipv4_mapped or address) if address.version == 6 else str(address)
