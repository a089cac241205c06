"""Annotation and exploration on one server: each request goes to the app whose address, link or cookie it has.

The two keep their own tokens: who rates sees nothing of runs, and who explores is no rater.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from rejoinder.server.annotation_app import OWNER, RATER
from rejoinder.server.api.auth import Gate

RATERS_STYLE = frozenset({"/static/annotate.css", "/static/annotate.js"})
COMMON = frozenset({"/", "/static/icon.svg"})  # both have these


class Together:
    """Two apps behind one address; ``gate`` is the exploring one's."""

    def __init__(self, explore: ASGIApp, annotate: ASGIApp, gate: Gate) -> None:
        self._explore, self._annotate, self._gate = explore, annotate, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        app = self._annotate if scope["type"] == "http" and self._is_of_annotation(Request(scope)) else self._explore
        await app(scope, receive, send)

    def _is_of_annotation(self, request: Request) -> bool:
        path = request.url.path
        if path in COMMON:
            return not self._gate.knows(request)
        if path.startswith("/r/"):
            return not self._gate.is_token(path.removeprefix("/r/"))
        return path in RATER or path in OWNER or path.startswith("/owner/") or path in RATERS_STYLE
