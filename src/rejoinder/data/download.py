"""Downloading published files: only on request, from a pinned commit; a file gets its name once it is checked."""

from __future__ import annotations

import http.client
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlsplit

from rejoinder import __version__
from rejoinder.data.dataset import DatasetFile, is_intact
from rejoinder.errors import RejoinderError, SpecError, brief
from rejoinder.files import put_in_place, sha256_of

HOST = "https://raw.githubusercontent.com"
_BLOCK = 2**16
_TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})

Progress = Callable[[int, int], None]  # bytes so far, bytes in all


class FetchError(RejoinderError):
    """A file that could not be downloaded."""


class TransientError(Exception):
    """A failure that another attempt may not meet."""


@dataclass(frozen=True)
class RetryPolicy:
    """How long to wait for a server, and how often to retry.

    A server stalls when it sends nothing for ``timeout`` seconds, or fewer than ``slowest`` bytes in that time.
    ``pause`` is the wait before the second attempt; it doubles with each further one.
    """

    timeout: float = 30.0
    slowest: int = 1024
    attempts: int = 5
    pause: float = 1.0


DEFAULT_RETRY_POLICY = RetryPolicy()


def fetch_dataset_file(
    file: DatasetFile,
    root: Path,
    mirror: str | None = None,
    policy: RetryPolicy = DEFAULT_RETRY_POLICY,
    progress: Progress | None = None,
) -> bool:
    """Download a file under ``root``; return False if it was already there, complete and unchanged.

    An interrupted download stays in ``*.part`` and is resumed. ``mirror`` replaces ``HOST``.
    """
    target = root / file.path
    if is_intact(file, target):
        return False
    url = dataset_file_url(file, mirror)
    part = target.with_name(f"{target.name}.part")
    resumed = part.exists()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FetchError(f"{target.parent}: cannot be created ({error.strerror})") from None
    download_file(url, part, file.size, policy, progress)
    digest = sha256_of(part)
    if digest != file.sha256:
        part.unlink(missing_ok=True)
        if resumed:  # the old part may have been of another file: start over
            return fetch_dataset_file(file, root, mirror, policy, progress)
        raise FetchError(
            f"{url}: is not the published file: sha256 {digest} instead of {file.sha256}; nothing was saved"
        )
    try:
        put_in_place(part, target)
    except OSError as error:
        raise FetchError(f"{target}: cannot be written ({error.strerror})") from None
    return True


def dataset_file_url(file: DatasetFile, mirror: str | None = None) -> str:
    """Return the address of a file; a mirror has the same paths below its own address."""
    if not (file.repository and file.commit and file.remote_path):
        raise FetchError(f"{file.path}: cannot be downloaded: {file.reason}")
    base = (mirror or HOST).rstrip("/")
    if not _is_web(base):
        raise SpecError(f"mirror must be an address that begins with http:// or https://, not {brief(base)}")
    return f"{base}/{file.repository}/{file.commit}/{quote(file.remote_path)}"


def download_file(url: str, part: Path, size: int, policy: RetryPolicy, progress: Progress | None) -> None:
    """Download ``part`` to its full size, in at most ``policy.attempts`` attempts."""
    last_error = TransientError("no attempt was made")
    for attempt in range(policy.attempts):
        if attempt:
            time.sleep(policy.pause * 2 ** (attempt - 1))
        try:
            _attempt_download(url, part, size, policy, progress)
            return
        except TransientError as error:
            last_error = error
    times = "time" if policy.attempts == 1 else "times"
    raise FetchError(
        f"{url}: {last_error} (tried {policy.attempts} {times}); run the same command again to resume, "
        "or name another server as mirror"
    )


def _attempt_download(url: str, part: Path, size: int, policy: RetryPolicy, progress: Progress | None) -> None:
    offset = part.stat().st_size if part.exists() else 0
    if offset == size:
        return
    if offset > size:
        part.unlink()
        offset = 0
    with open_url(url, offset, part, policy.timeout) as answer:
        if answer.status != 206:
            offset = 0  # the server sends the whole file, whatever was requested
        elif not (answer.headers.get("Content-Range") or "").startswith(f"bytes {offset}-"):
            part.unlink(missing_ok=True)
            raise TransientError("the server sent a different part than requested")
        try:
            out = part.open("ab" if offset else "wb")
        except OSError as error:
            raise FetchError(f"{part}: cannot be written ({error.strerror})") from None
        with out:
            offset = _copy_answer(answer, out, offset, size, policy, progress)
    if offset > size:
        part.unlink(missing_ok=True)
        raise FetchError(f"{url}: is not the published file: longer than its {size:,} bytes; nothing was saved")
    if offset < size:
        raise TransientError(f"the connection ended after {offset:,} of {size:,} bytes")


def _copy_answer(
    answer: http.client.HTTPResponse,
    out: IO[bytes],
    offset: int,
    size: int,
    policy: RetryPolicy,
    progress: Progress | None,
) -> int:
    """Write what the server sends, at most one byte more than ``size``; return how many bytes there are then."""
    window_start, window_offset = time.monotonic(), offset
    while offset <= size:
        try:
            block = answer.read1(min(_BLOCK, size + 1 - offset))
        except (OSError, http.client.HTTPException) as error:
            raise TransientError(_describe_error(error, policy.timeout)) from None
        if not block:
            break
        try:
            out.write(block)
            out.flush()
        except OSError as error:
            raise FetchError(f"{out.name}: cannot be written ({error.strerror})") from None
        offset += len(block)
        if progress is not None:
            progress(min(offset, size), size)
        now = time.monotonic()
        if now - window_start >= policy.timeout:
            if offset - window_offset < policy.slowest:
                raise TransientError(f"the server stalled (fewer than {policy.slowest} bytes in {policy.timeout:g} s)")
            window_start, window_offset = now, offset
    return offset


def open_url(url: str, offset: int, part: Path, timeout: float) -> http.client.HTTPResponse:
    """Return the server's answer to a request for the file from byte ``offset`` on."""
    headers = {"User-Agent": f"rejoinder/{__version__}"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    try:
        answer: http.client.HTTPResponse = _build_opener().open(
            urllib.request.Request(url, headers=headers), timeout=timeout
        )
        return answer
    except urllib.error.HTTPError as error:
        error.close()
        meaning = f"{error.code} {http.client.responses.get(error.code, '')}".rstrip()
        if error.code == 416:  # our part is not the beginning of what the server has
            part.unlink(missing_ok=True)
            raise TransientError(f"the server answered {meaning}") from None
        if error.code in _TRANSIENT_STATUSES:
            raise TransientError(f"the server answered {meaning}") from None
        raise FetchError(f"{url}: the server answered {meaning}; name another server as mirror") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise FetchError(f"{url}: the server's certificate cannot be verified") from None
        raise TransientError(_describe_error(error.reason, timeout)) from None
    except (OSError, http.client.HTTPException) as error:
        raise TransientError(_describe_error(error, timeout)) from None
    except ValueError as error:  # not a valid address
        raise FetchError(f"{brief(url, 200)}: is not a web address ({error})") from None


def _describe_error(error: object, timeout: float) -> str:
    if isinstance(error, TimeoutError):
        return f"the server stalled (it sent nothing for {timeout:g} s)"
    reason = getattr(error, "strerror", None) or type(error).__name__
    return f"the connection failed ({reason})"


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to the web only."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if not _is_web(newurl):
            fp.close()
            raise FetchError(f"{req.full_url}: redirects to {brief(newurl)}, which is not a web address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _build_opener() -> urllib.request.OpenerDirector:
    # Not build_opener: that one would also open ftp:, file: and data: addresses.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return valid and url.isprintable() and " " not in url
