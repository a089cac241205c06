"""Who may come in: personal links, the cookie that they leave, and the mark that tells our forms from forged ones.

The cookie holds the link's token itself, which the store knows by its digest only; so there is no secret of the
server's to keep, a session survives a restart, and it ends the moment the token expires or is revoked. Raters and
owners have cookies of different names: an owner may try a rater's link in the same browser. The names differ between
projects too, since browsers do not tell ports apart.
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
    """The name of a role's cookie."""
    return f"rejoinder-{role}-{sha256_of_bytes(project.encode())[:12]}"


def token_digest(token: str) -> str:
    """A token's digest, which may be kept."""
    return sha256_of_bytes(token.encode("utf-8", "surrogateescape"))


def make_csrf_mark(token: str) -> str:
    """The mark of a session's forms: only who holds the token could make it, and it does not give the token away."""
    key = token.encode("utf-8", "surrogateescape")
    return hmac.new(key, b"rejoinder annotate: a form of this session", hashlib.sha256).hexdigest()


def is_genuine(token: str, pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether a form that was sent came from a page of this session."""
    sent = [value for name, value in pairs if name == "csrf"]
    return len(sent) == 1 and hmac.compare_digest(sent[0].encode("utf-8", "replace"), make_csrf_mark(token).encode())


def set_cookie(response: Response, name: str, token: str, secure: bool) -> None:
    """Leave the cookie; no script can read it, and no other site can have it sent."""
    response.set_cookie(
        name, token, max_age=COOKIE_DAYS * 24 * 3600, path="/", secure=secure, httponly=True, samesite="strict"
    )
