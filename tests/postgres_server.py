"""A throw-away PostgreSQL cluster on loopback, where the distribution's server is installed.

``start`` gives a URL and a function that stops it. The server refuses to run as root, so as root it is started as the
user ``postgres``. $REJOINDER_POSTGRES names a running server instead (its database is used, and its schema dropped).
"""

from __future__ import annotations

import getpass
import os
import pwd
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path


def binaries() -> Path | None:
    """The folder with ``initdb`` and ``pg_ctl``, if there is one."""
    on_path = shutil.which("initdb")
    found = [Path(on_path).parent] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((p for p in reversed(found) if (p / "initdb").exists() and (p / "pg_ctl").exists()), None)


def why_not() -> str | None:
    """Why no server can be had here; None where one can."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    if os.environ.get("REJOINDER_POSTGRES"):
        return None
    if binaries() is None:
        return "no PostgreSQL server is installed"
    if os.geteuid() == 0 and not _exists("postgres"):
        return "PostgreSQL does not run as root, and there is no user postgres"
    return None


def start() -> tuple[str, Callable[[], None]]:
    """A server's URL, and how to stop it."""
    given = os.environ.get("REJOINDER_POSTGRES")
    if given:
        return given, lambda: None
    folder = Path(tempfile.mkdtemp(prefix="rejoinder-postgres-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
    user = "postgres" if os.geteuid() == 0 else getpass.getuser()
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    port = _free_port()
    bin = binaries()
    assert bin is not None
    _as(user, [str(bin / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", user, "-E", "UTF8", "--no-sync"])
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=60 -c fsync=off"
    control = [str(bin / "pg_ctl"), "-D", str(folder / "data"), "-w"]
    _as(user, [*control, "-l", str(folder / "log"), "-o", options, "start"])

    def stop() -> None:
        _as(user, [*control, "-m", "immediate", "stop"])
        shutil.rmtree(folder, ignore_errors=True)

    return f"postgresql://{user}@127.0.0.1:{port}/postgres", stop


def _as(user: str, command: list[str]) -> None:
    if os.geteuid() == 0:
        command = ["su", user, "-s", "/bin/sh", "-c", shlex.join(command)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", timeout=120
    )
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)}: {done.stdout.decode(errors='replace')}")


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
