"""The server: uvicorn on one address, with patience that ends."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from rejoinder.annotation.project import Project
from rejoinder.annotation.store.base import Store
from rejoinder.errors import InputError
from rejoinder.server.annotation_app import make_annotation_app
from rejoinder.server.limits import Limits, client_key

HEAD_SECONDS = 10.0
CONNECTIONS = 500
IDLE_PER_ADDRESS = 100  # several browsers have one address, each with a handful of connections
HEAD_BYTES = 16 * 1024


class TimeoutProtocol(H11Protocol):
    """HTTP that closes a connection whose request does not come: uvicorn itself would wait for its head forever."""

    _alarm: asyncio.TimerHandle | None = None
    _heard = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way that has come whole."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def _address(self) -> str:
        return client_key(self.client[0] if self.client else None)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head; the longest idle connection makes room where its address has too many."""
        super().connection_made(transport)
        self._heard = self.loop.time()
        self._watch()
        # Behind a proxy all of them have the proxy's address.
        if not self.config.proxy_headers:
            address = self._address
            every = (one for one in self.server_state.connections if isinstance(one, TimeoutProtocol))
            idle = [one for one in every if one.is_idle and one._address == address and not one.transport.is_closing()]
            if len(idle) > IDLE_PER_ADDRESS:
                min(idle, key=lambda one: one._heard).transport.close()

    def data_received(self, data: bytes) -> None:
        """Take in what came, and wait on where that was no whole head."""
        self._heard = self.loop.time()
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        if self._alarm is not None:
            self._alarm.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        waiting = self.is_idle
        if waiting and self._alarm is None:
            self._alarm = self.loop.call_later(HEAD_SECONDS, self._close)
        elif not waiting and self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _close(self) -> None:
        self._alarm = None
        if self.is_idle:
            self.transport.close()


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any that is free."""
    with contextlib.ExitStack() as closing:
        try:
            family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            found = closing.enter_context(socket.socket(family, kind, number))
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
            found.listen(256)  # so that a link works as soon as it is shown
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"cannot listen on {host} port {port} ({reason}); take another --port or --host") from None
        closing.pop_all()
    return found


def socket_url(listening: socket.socket) -> str:
    """How a browser reaches a socket; one that listens on all addresses goes by the machine's name."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(listening: socket.socket) -> bool:
    """Whether only this machine can reach a socket."""
    host = str(listening.getsockname()[0])
    return host.startswith("127.") or host == "::1"


def serve(
    project: Project,
    store: Store,
    listening: socket.socket,
    url: str,
    limits: Limits | None = None,
) -> None:
    """Serve a project until a signal comes."""
    run_app(make_annotation_app(project, store, url, limits), listening, url)


def run_app(app: ASGIApp, listening: socket.socket, url: str) -> None:
    """Serve an app until a signal comes.

    No access log: personal links would stand in it. The address of a client is believed from a proxy only where
    ``url`` says that one stands before us.
    """
    behind_proxy = url.rstrip("/") != socket_url(listening)
    config = uvicorn.Config(
        app,
        http=TimeoutProtocol,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=behind_proxy,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=10,
        h11_max_incomplete_event_size=HEAD_BYTES,
    )
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])
