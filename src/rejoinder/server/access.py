"""Access control: the cookie that a personal link sets, and the mark that tells our forms from forged ones.

The cookie holds the link's token itself, of which the store has only the digest. So the server has no secret to keep,
a session survives a restart, and it ends as soon as the token expires or is revoked. Raters and owners have cookies
with different names, so that an owner can try a rater's link in the same browser. The names also differ between
projects, since browsers do not tell ports apart.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from starlette.responses import Response

from rejoinder.files import sha256_of_bytes

ROLES = ("rater", "owner")
COOKIE_DAYS = 90


def cookie_name(project: str, role: str) -> str:
    """Return the name of a role's cookie."""
    return f"rejoinder-{role}-{sha256_of_bytes(project.encode())[:12]}"


def token_digest(token: str) -> str:
    """Return the digest of a token, which may be stored."""
    return sha256_of_bytes(token.encode("utf-8", "surrogateescape"))


def make_csrf_mark(token: str) -> str:
    """Return the mark of a session's forms: only the holder of the token can make it, and it does not reveal it."""
    key = token.encode("utf-8", "surrogateescape")
    return hmac.new(key, b"rejoinder annotate: a form of this session", hashlib.sha256).hexdigest()


def is_genuine(token: str, pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether a form was sent from a page of this session."""
    marks = [value for name, value in pairs if name == "csrf"]
    return len(marks) == 1 and hmac.compare_digest(marks[0].encode("utf-8", "replace"), make_csrf_mark(token).encode())


def set_cookie(response: Response, name: str, token: str, secure: bool) -> None:
    """Set the cookie; no script can read it, and no other site can make a browser send it."""
    response.set_cookie(
        name, token, max_age=COOKIE_DAYS * 24 * 3600, path="/", secure=secure, httponly=True, samesite="strict"
    )
