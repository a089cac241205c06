"""Annotation and exploration on one server: each request goes to the app whose address, link or cookie it has.

The two keep their own tokens: who rates sees nothing of runs, and who explores is no rater.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from rejoinder.server.annotation_app import OWNER_PATHS, RATER_PATHS
from rejoinder.server.api.auth import TokenAuth

ANNOTATION_STATIC = frozenset({"/static/annotate.css", "/static/annotate.js"})
SHARED_PATHS = frozenset({"/", "/static/icon.svg"})  # both have these


class AppDispatcher:
    """Two apps behind one address; ``gate`` is the exploring one's."""

    def __init__(self, explore: ASGIApp, annotate: ASGIApp, gate: TokenAuth) -> None:
        self._explore, self._annotate, self._gate = explore, annotate, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        app = self._annotate if scope["type"] == "http" and self._is_of_annotation(Request(scope)) else self._explore
        await app(scope, receive, send)

    def _is_of_annotation(self, request: Request) -> bool:
        path = request.url.path
        if path in SHARED_PATHS:
            return not self._gate.knows(request)
        if path.startswith("/r/"):
            return not self._gate.is_token(path.removeprefix("/r/"))
        return path in RATER_PATHS or path in OWNER_PATHS or path.startswith("/owner/") or path in ANNOTATION_STATIC
