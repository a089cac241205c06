"""The server: uvicorn on one address, with timeouts."""

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
from rejoinder.server.limits import ServerLimits, client_key

HEAD_SECONDS = 10.0
CONNECTIONS = 500
IDLE_PER_ADDRESS = 100  # several browsers may share one address, each with a handful of connections
HEAD_BYTES = 16 * 1024


class TimeoutProtocol(H11Protocol):
    """HTTP that closes a connection whose request does not arrive: uvicorn itself would wait for its head forever."""

    _timer: asyncio.TimerHandle | None = None
    _last_activity = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether no complete request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def _address(self) -> str:
        return client_key(self.client[0] if self.client else None)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a head; if its address has too many connections, close the one that is idle longest."""
        super().connection_made(transport)
        self._last_activity = self.loop.time()
        self._update_timer()
        # Behind a proxy all connections have the proxy's address.
        if not self.config.proxy_headers:
            address = self._address
            connections = (one for one in self.server_state.connections if isinstance(one, TimeoutProtocol))
            idle = [
                one for one in connections if one.is_idle and one._address == address and not one.transport.is_closing()
            ]
            if len(idle) > IDLE_PER_ADDRESS:
                min(idle, key=lambda one: one._last_activity).transport.close()

    def data_received(self, data: bytes) -> None:
        """Receive data, and keep waiting if the head is not complete."""
        self._last_activity = self.loop.time()
        super().data_received(data)
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _update_timer(self) -> None:
        idle = self.is_idle
        if idle and self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self._close)
        elif not idle and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        if self.is_idle:
            self.transport.close()


def open_listening_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 means any free port."""
    with contextlib.ExitStack() as stack:
        try:
            family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            sock = stack.enter_context(socket.socket(family, kind, number))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(address)
            sock.listen(256)  # so that a link works as soon as it is printed
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"cannot listen on {host} port {port} ({reason}); choose another port or host") from None
        stack.pop_all()
    return sock


def socket_url(sock: socket.socket) -> str:
    """Return the URL of a socket; one that listens on all addresses is reached by the machine's name."""
    host, port = sock.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(sock: socket.socket) -> bool:
    """Whether only this machine can reach a socket."""
    host = str(sock.getsockname()[0])
    return host.startswith("127.") or host == "::1"


def serve_project(
    project: Project,
    store: Store,
    sock: socket.socket,
    url: str,
    limits: ServerLimits | None = None,
) -> None:
    """Serve a project until a signal arrives."""
    run_app(make_annotation_app(project, store, url, limits), sock, url)


def run_app(app: ASGIApp, sock: socket.socket, url: str) -> None:
    """Serve an app until a signal arrives.

    There is no access log, because it would contain personal links. A client's address is taken from a proxy's headers
    only if ``url`` says that there is a proxy.
    """
    behind_proxy = url.rstrip("/") != socket_url(sock)
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
        uvicorn.Server(config).run(sockets=[sock])
