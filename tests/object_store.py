"""An S3-compatible server of our own for tests: moto's, from this environment or from the one of $REJOINDER_MOTO."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

BUCKET = "talks"


def python_with_moto() -> str | None:
    """An interpreter that has moto's server ("moto[s3]", flask and flask-cors)."""
    if named := os.environ.get("REJOINDER_MOTO"):
        return named
    needed = ("moto", "flask", "flask_cors")
    return sys.executable if all(importlib.util.find_spec(name) for name in needed) else None


class Store:
    """The server: addresses of what it holds."""

    def __init__(self, port: int) -> None:
        self.port = port

    def address(self, path: str, bucket: str = BUCKET, port: int | None = None) -> str:
        where = f"endpoint_override=127.0.0.1:{port or self.port}&scheme=http&region=us-east-1"
        return f"s3://KEY:SECRET@{bucket}/{path}?{where}"

    def files(self, path: str) -> dict[str, int]:
        from rejoinder.data.remote import RemoteFolder

        return {one.name: one.size for one in RemoteFolder(self.address(path)).files(allow_missing=True)}

    def remove(self, path: str) -> None:
        from pyarrow import fs

        system, where = fs.FileSystem.from_uri(self.address(path))
        system.delete_file(where)

    def ask(self, path: str, data: bytes) -> None:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{path}", data, {"Content-Type": "text/plain"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            answer.read()


@contextlib.contextmanager
def store(folder: Path) -> Iterator[Store]:
    """A server with one bucket, ended with the block."""
    python = python_with_moto()
    if python is None:
        pytest.skip("no S3-compatible server: moto is missing (install moto[s3], flask and flask-cors)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "moto.log").open("wb") as log:
        server = subprocess.Popen(
            [python, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log
        )
    try:
        _await(server, port)
        request = urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT")
        request.add_header("Host", "s3.amazonaws.com")
        with urllib.request.urlopen(request, timeout=10):
            pass
        yield Store(port)
    finally:
        server.terminate()
        server.wait()


def _await(server: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(300):
        if server.poll() is not None:
            raise RuntimeError("moto's server did not start")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise RuntimeError("moto's server does not answer")
