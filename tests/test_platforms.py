"""Linux, macOS and Windows: what only some systems have is used where its absence is handled, and texts are UTF-8."""

from __future__ import annotations

import ast
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import rejoinder
from rejoinder.data import spool

ROOT = Path(str(rejoinder.__file__)).parent
MODULES = sorted(ROOT.rglob("*.py"))
# What Windows, or Windows and macOS, do not have.
POSIX_MODULES = set("fcntl grp pwd pty readline resource syslog termios tty".split())
POSIX_NAMES = {
    "os": set(
        "O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK WEXITSTATUS WIFSIGNALED chown fchmod fchown fdatasync "
        "fork forkpty getegid geteuid getgid getgroups getloadavg getpgid getuid killpg lchown mkfifo mknod nice "
        "openpty posix_fadvise posix_fallocate posix_spawn pread pwrite register_at_fork sched_getaffinity "
        "sched_setaffinity set_blocking setgid setpgid setsid setuid statvfs sync sysconf tcgetpgrp "
        "uname wait wait3 wait4".split()
    ),
    "signal": set(
        "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH alarm pause "
        "pthread_kill pthread_sigmask setitimer sigwait".split()
    ),
    "socket": {"AF_UNIX"},
    "time": {"tzset"},
}
HANDLED = {"ImportError", "ModuleNotFoundError", "AttributeError"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def posix_uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line and the name of everything that only some systems have."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in POSIX_NAMES.get(node.value.id, ()):
                yield node.lineno, f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, one.name) for one in node.names if one.name in POSIX_MODULES)
        elif isinstance(node, ast.ImportFrom):
            names = POSIX_NAMES.get(node.module or "", set())
            for alias in node.names:
                if node.module in POSIX_MODULES or alias.name in names:
                    yield node.lineno, f"{node.module}.{alias.name}"


def guarded_lines(tree: ast.AST) -> set[int]:
    """The lines where an absence is handled.

    They are in a ``try`` that catches it, or in a function that asks ``hasattr``, ``sys.platform`` or ``os.name``.
    """
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            caught = {one.id for handler in node.handlers for one in ast.walk(handler.type or node) if is_name(one)}
            if caught & HANDLED:
                lines |= lines_of(node.body)
        elif isinstance(node, ast.FunctionDef) and asks_for_platform(node):
            lines |= lines_of([node])
    return lines


def is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


def lines_of(nodes: list[ast.stmt]) -> set[int]:
    return {line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def asks_for_platform(function: ast.FunctionDef) -> bool:
    code = ast.unparse(function)
    return any(question in code for question in ("hasattr(os,", "hasattr(signal,", "sys.platform", "os.name"))


def unguarded(code: str) -> list[str]:
    """What a module uses on some systems only, without a guard."""
    tree = ast.parse(code)
    guarded = guarded_lines(tree)
    return [f"line {line}: {name}" for line, name in posix_uses(tree) if line not in guarded]


def test_calls_that_only_some_systems_have_are_guarded() -> None:
    assert [f"{name_of(path)} {one}" for path in MODULES for one in unguarded(path.read_text(encoding="utf-8"))] == []


def test_texts_are_read_and_written_in_a_named_encoding() -> None:
    bare = [
        f"{name_of(path)} line {node.lineno}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and depends_on_locale(node)
    ]
    assert bare == []


def depends_on_locale(call: ast.Call) -> bool:
    """Whether a call reads or writes a text in the encoding of the machine, which is not UTF-8 everywhere."""
    if any(one.arg in ("encoding", None) for one in call.keywords):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "write_text":
        return len(call.args) < 2 and not ast.unparse(call.func).startswith("formatter.")  # click's
    return (name == "read_text" and not call.args) or (name == "open" and opens_text(call))


def opens_text(call: ast.Call) -> bool:
    """Whether a call of ``open`` names a mode without b: what follows is a text in the encoding of the machine."""
    modes = [one for one in (*call.args, *(k.value for k in call.keywords if k.arg == "mode")) if is_mode(one)]
    return any("b" not in str(ast.literal_eval(one)) for one in modes)


def is_mode(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in ("r", "w", "a", "x", "r+", "w+", "a+", "rt", "wt")


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import os\nos.fork()", ["line 2: os.fork"]),
        ("import fcntl", ["line 1: fcntl"]),
        ("from signal import SIGKILL", ["line 1: signal.SIGKILL"]),
        ("try:\n    import fcntl\nexcept ImportError:\n    fcntl = None", []),
        ("try:\n    import fcntl\nexcept OSError:\n    fcntl = None", ["line 2: fcntl"]),
        ("import os\ndef f():\n    return os.getuid() if hasattr(os, 'getuid') else 0", []),
        ("import os\ndef f():\n    return os.getuid()", ["line 3: os.getuid"]),
    ],
)
def test_the_check_finds_what_is_not_guarded(code: str, found: list[str]) -> None:
    assert unguarded(code) == found


def test_copies_are_removed_at_the_end_on_a_system_without_hangups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "SIGHUP")
    spool._remove_at_the_end()


def test_a_pipe_is_read_on_a_system_that_always_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pipe").write_bytes(b"hello")
    monkeypatch.delattr(os, "O_NONBLOCK")
    with (tmp_path / "copy").open("wb") as copy:
        spool._copy_pipe(tmp_path / "pipe", copy)
    assert (tmp_path / "copy").read_bytes() == b"hello"
