"""Downloading, against servers on this machine that behave well and badly; nothing leaves the machine."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rejoinder.cli import data as cli
from rejoinder.data import datasets
from rejoinder.data.datasets import Dataset, DatasetFile
from rejoinder.data.download import FetchError, RetryPolicy, dataset_file_url, fetch_dataset_file
from rejoinder.errors import RejoinderError, SpecError
from rejoinder.types import Dialogue, Turn

BODY = bytes(range(256)) * 700
HURRY = RetryPolicy(timeout=10.0, attempts=3, pause=0.01)
COMMIT = "0123456789" * 4
FILE = DatasetFile("sets/a/b.bin", hashlib.sha256(BODY).hexdigest(), len(BODY), "owner/name", COMMIT, "data/b c.bin")

Answer = Callable[["Handler", int], None]  # what to do with the n-th request, counted from 1


class Handler(BaseHTTPRequestHandler):
    """Lets the test answer, and keeps what was asked."""

    protocol_version = "HTTP/1.0"
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Range")))
        self.server.answer(self, len(self.server.asked))

    def start(self, status: int, **headers: object) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str | None]] = []
        self.answer: Answer = whole
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: object) -> None:
        """The client hangs up on purpose."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("REJOINDER_MIRROR", raising=False)
    with Server() as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def whole(handler: Handler, _: int) -> None:
    handler.start(200, Content_Length=len(BODY))
    handler.wfile.write(BODY)


def ranged(handler: Handler, _: int) -> None:
    asked = handler.headers.get("Range")
    if asked is None:
        return whole(handler, 0)
    start = int(asked.removeprefix("bytes=").removesuffix("-"))
    rest = BODY[start:]
    handler.start(206, Content_Range=f"bytes {start}-{len(BODY) - 1}/{len(BODY)}", Content_Length=len(rest))
    handler.wfile.write(rest)
    return None


def nonsense(handler: Handler, _: int) -> None:
    handler.wfile.write(b"what?\r\n\r\n")


def sends(body: bytes, **headers: object) -> Answer:
    def answer(handler: Handler, _: int) -> None:
        handler.start(200, **headers)
        handler.wfile.write(body)

    return answer


def at_first(bad: Answer, then: Answer, times: int = 1) -> Answer:
    return lambda handler, number: (bad if number <= times else then)(handler, number)


def status(code: int, **headers: object) -> Answer:
    return lambda handler, _: handler.start(code, Content_Length=0, **headers)


def get(server: Server, root: Path, patience: RetryPolicy = HURRY) -> bool:
    return fetch_dataset_file(FILE, root, server.url, patience)


def left(root: Path) -> list[str]:
    return sorted(p.name for p in root.rglob("*") if p.is_file())


def test_a_file_is_fetched_from_its_commit_and_is_then_there(server: Server, tmp_path: Path) -> None:
    assert get(server, tmp_path) is True
    assert (tmp_path / FILE.path).read_bytes() == BODY
    assert left(tmp_path) == ["b.bin"]
    assert server.asked == [(f"/owner/name/{COMMIT}/data/b%20c.bin", None)]
    assert get(server, tmp_path) is False
    assert len(server.asked) == 1


def test_a_wrong_file_under_the_name_is_replaced(server: Server, tmp_path: Path) -> None:
    (tmp_path / "sets/a").mkdir(parents=True)
    (tmp_path / FILE.path).write_bytes(b"x" * len(BODY))
    assert get(server, tmp_path) is True
    assert (tmp_path / FILE.path).read_bytes() == BODY


def test_progress_ends_at_the_size(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    fetch_dataset_file(FILE, tmp_path, server.url, HURRY, lambda *step: seen.append(step))
    assert seen == sorted(seen)
    assert seen[-1] == (len(BODY), len(BODY))


def test_a_broken_download_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.answer = at_first(sends(BODY[:70_000], Content_Length=len(BODY)), ranged)
    assert get(server, tmp_path) is True
    assert [asked for _, asked in server.asked] == [None, "bytes=70000-"]
    assert (tmp_path / FILE.path).read_bytes() == BODY


def test_a_server_that_ignores_range_is_read_from_the_beginning(server: Server, tmp_path: Path) -> None:
    server.answer = at_first(sends(BODY[:70_000], Content_Length=len(BODY)), whole)
    assert get(server, tmp_path) is True
    assert (tmp_path / FILE.path).read_bytes() == BODY


def test_a_server_that_sends_another_part_is_asked_for_the_whole(server: Server, tmp_path: Path) -> None:
    def other_part(handler: Handler, number: int) -> None:
        if handler.headers.get("Range"):
            handler.start(206, Content_Range="bytes 0-9/10")
            handler.wfile.write(BODY[:10])
        else:
            (at_first(sends(BODY[:5]), whole))(handler, number)

    server.answer = other_part
    assert get(server, tmp_path) is True
    assert [asked for _, asked in server.asked] == [None, "bytes=5-", None]


def test_a_range_that_cannot_be_satisfied_starts_anew(server: Server, tmp_path: Path) -> None:
    def refuse(handler: Handler, number: int) -> None:
        (status(416) if handler.headers.get("Range") else at_first(sends(BODY[:5]), whole))(handler, number)

    server.answer = refuse
    assert get(server, tmp_path) is True


def test_what_came_is_kept_for_the_next_command(server: Server, tmp_path: Path) -> None:
    server.answer = sends(BODY[:1000], Content_Length=len(BODY))
    with pytest.raises(FetchError, match=r"ended after 1,000 of 179,200 bytes \(tried 1 time\); run the same command"):
        get(server, tmp_path, RetryPolicy(timeout=10.0, attempts=1))
    assert left(tmp_path) == ["b.bin.part"]
    server.answer = ranged
    assert get(server, tmp_path) is True
    assert server.asked[-1][1] == "bytes=1000-"
    assert left(tmp_path) == ["b.bin"]


@pytest.mark.parametrize("old", [b"y" * 1000, b"y" * len(BODY), b"y" * (len(BODY) + 5)], ids=["short", "full", "long"])
def test_a_piece_of_something_else_does_not_spoil_the_file(server: Server, tmp_path: Path, old: bytes) -> None:
    (tmp_path / "sets/a").mkdir(parents=True)
    (tmp_path / f"{FILE.path}.part").write_bytes(old)
    server.answer = ranged
    assert get(server, tmp_path) is True
    assert (tmp_path / FILE.path).read_bytes() == BODY


@pytest.mark.parametrize("code", [500, 502, 503, 504, 429, 408])
def test_a_passing_trouble_is_tried_again(server: Server, tmp_path: Path, code: int) -> None:
    server.answer = at_first(status(code), whole, times=2)
    assert get(server, tmp_path) is True
    assert len(server.asked) == 3


def test_a_lasting_trouble_is_told_after_all_attempts(server: Server, tmp_path: Path) -> None:
    server.answer = status(500)
    with pytest.raises(FetchError, match=r"the server answered 500 Internal Server Error \(tried 3 times\)"):
        get(server, tmp_path)
    assert len(server.asked) == 3
    assert left(tmp_path) == []


@pytest.mark.parametrize(("code", "meaning"), [(404, "404 Not Found"), (403, "403 Forbidden"), (799, "799")])
def test_what_will_not_pass_is_not_tried_again(server: Server, tmp_path: Path, code: int, meaning: str) -> None:
    server.answer = status(code)
    with pytest.raises(FetchError, match=f"the server answered {meaning}; name another server as mirror"):
        get(server, tmp_path)
    assert len(server.asked) == 1
    assert left(tmp_path) == []


def test_wrong_bytes_are_refused_with_both_digests_and_not_kept(server: Server, tmp_path: Path) -> None:
    wrong = b"z" * len(BODY)
    server.answer = sends(wrong)
    with pytest.raises(FetchError) as caught:
        get(server, tmp_path)
    assert hashlib.sha256(wrong).hexdigest() in str(caught.value)
    assert FILE.sha256 in str(caught.value)
    assert left(tmp_path) == []


def test_a_server_that_never_ends_is_read_no_further_than_the_size(server: Server, tmp_path: Path) -> None:
    sent = 0

    def endless(handler: Handler, _: int) -> None:
        nonlocal sent
        handler.start(200)
        while sent < 100 * len(BODY):
            handler.wfile.write(BODY)
            sent += len(BODY)

    server.answer = endless
    with pytest.raises(FetchError, match=r"longer than its 179,200 bytes; nothing was saved"):
        get(server, tmp_path)
    assert left(tmp_path) == []


@pytest.mark.parametrize("said", [10 * len(BODY), 100, 0, "many"])
def test_a_wrong_content_length_never_makes_a_wrong_file(server: Server, tmp_path: Path, said: object) -> None:
    server.answer = at_first(sends(BODY, Content_Length=said), ranged)
    assert get(server, tmp_path) is True
    assert (tmp_path / FILE.path).read_bytes() == BODY


def test_a_server_that_stalls_is_left_after_the_timeout(server: Server, tmp_path: Path) -> None:
    def stall(handler: Handler, _: int) -> None:
        handler.start(200, Content_Length=len(BODY))
        handler.wfile.write(BODY[:500])
        time.sleep(5)

    server.answer = stall
    began = time.monotonic()
    with pytest.raises(FetchError, match=r"the server stalled \(it sent nothing for 0\.2 s\) \(tried 1 time\)"):
        get(server, tmp_path, RetryPolicy(timeout=0.2, attempts=1))
    assert time.monotonic() - began < 4
    server.answer = ranged
    assert get(server, tmp_path) is True


def test_a_server_that_drips_is_left_too(server: Server, tmp_path: Path) -> None:
    def drip(handler: Handler, _: int) -> None:
        handler.start(200, Content_Length=len(BODY))
        for i in range(500):
            handler.wfile.write(BODY[i : i + 1])
            time.sleep(0.01)

    server.answer = drip
    with pytest.raises(FetchError, match=r"the server stalled \(fewer than 1024 bytes in 0\.5 s\)"):
        get(server, tmp_path, RetryPolicy(timeout=0.5, attempts=1))


def test_a_server_that_answers_nothing_or_nonsense_is_told(server: Server, tmp_path: Path) -> None:
    server.answer = lambda handler, _: handler.connection.close()
    with pytest.raises(FetchError, match=r"the connection failed \(.*\) \(tried 3 times\)"):
        get(server, tmp_path)
    server.answer = nonsense
    with pytest.raises(FetchError, match=r"the connection failed \(BadStatusLine\)"):
        get(server, tmp_path)


def test_a_server_that_is_not_there_is_told(server: Server, tmp_path: Path) -> None:
    server.server_close()
    with pytest.raises(FetchError, match="the connection failed"):
        get(server, tmp_path)


def test_a_redirect_on_the_web_is_followed(server: Server, tmp_path: Path) -> None:
    server.answer = at_first(status(302, Location="/elsewhere"), whole)
    assert get(server, tmp_path) is True
    assert server.asked[-1][0] == "/elsewhere"


@pytest.mark.parametrize("place", ["file:///etc/hostname", "ftp://127.0.0.1/b", "data:,x", "gopher://x/"])
def test_a_redirect_off_the_web_is_refused(server: Server, tmp_path: Path, place: str) -> None:
    server.answer = status(302, Location=place)
    with pytest.raises(FetchError) as caught:
        get(server, tmp_path)
    assert str(caught.value).isprintable()
    assert len(server.asked) == 1


def test_a_circle_of_redirects_ends(server: Server, tmp_path: Path) -> None:
    server.answer = status(302, Location="/again")
    with pytest.raises(FetchError, match="302 Found") as caught:
        get(server, tmp_path)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("mirror", ["file:///tmp", "ftp://host/x", "host/x", "http://", "https://h ost", "http://h:x"])
def test_only_web_addresses_are_mirrors(mirror: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="must be an address that begins with http"):
        fetch_dataset_file(FILE, tmp_path, mirror)


def test_without_a_mirror_files_come_from_github() -> None:
    assert dataset_file_url(FILE) == f"https://raw.githubusercontent.com/owner/name/{COMMIT}/data/b%20c.bin"
    assert dataset_file_url(FILE, "http://here/pub/") == f"http://here/pub/owner/name/{COMMIT}/data/b%20c.bin"


def test_a_file_that_cannot_be_had_says_why(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="cannot be downloaded: ask the author"):
        fetch_dataset_file(DatasetFile("a", FILE.sha256, 1, reason="ask the author"), tmp_path)


def test_a_folder_that_cannot_be_made_is_told(server: Server, tmp_path: Path) -> None:
    (tmp_path / "sets").write_text("a file in the way")
    with pytest.raises(FetchError, match="cannot be created"):
        get(server, tmp_path)


# ---- the command


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch, server: Server, tmp_path: Path) -> Path:
    """A made-up set of one file that the server has and one that nobody has."""
    absent = DatasetFile("sets/a/own.txt", hashlib.sha256(b"own").hexdigest(), 3, reason="it is the author's own")

    def found(name: str, files: tuple[DatasetFile, ...]) -> Dataset:
        records = lambda root: iter([Dialogue("d", (Turn("Hi ."),))])  # noqa: E731
        return Dataset(name, "a made-up set", files, "CC0", "Nobody 2020", {"dialogues": 1}, "", records)

    sets = [found("made/up", (FILE,)), found("own", (absent,))]
    monkeypatch.setattr(datasets, "list_datasets", lambda: sets)
    monkeypatch.setattr(datasets, "dataset", lambda name: next(d for d in sets if d.name == name))
    monkeypatch.setenv("REJOINDER_DATA", str(tmp_path))
    monkeypatch.setenv("REJOINDER_MIRROR", server.url)
    return tmp_path


def command(*arguments: str) -> Result:
    return CliRunner().invoke(cli.command, arguments)


def test_data_get_shows_what_it_is_then_fetches_it(offered: Path) -> None:
    first = command("get", "made/up", "--yes")
    assert first.exit_code == 0
    for part in ("made/up: a made-up set", "CC0", "Nobody 2020", "1 file (179.2 kB)", "downloaded and checked"):
        assert part in first.output
    again = command("get", "made")
    assert again.output == f"{offered / FILE.path}: already here\n"


def test_data_get_does_not_begin_without_consent(offered: Path, server: Server) -> None:
    refused = command("get", "made/up")
    assert isinstance(refused.exception, RejoinderError)
    assert "--yes" in str(refused.exception)
    assert server.asked == []


@pytest.mark.parametrize(("typed", "fetched"), [("y\n", True), ("n\n", False), ("", False)])
def test_data_get_asks_on_a_terminal(offered: Path, monkeypatch: pytest.MonkeyPatch, typed: str, fetched: bool) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    found = CliRunner().invoke(cli.command, ["get", "made/up"], input=typed)
    assert "Download 1 file" in found.output
    assert (offered / FILE.path).exists() is fetched
    assert found.exit_code == (0 if fetched else 1)


def test_data_get_says_why_a_file_cannot_be_had(offered: Path) -> None:
    found = command("get", "own", "--yes")
    assert "cannot be downloaded: it is the author's own" in str(found.exception)
    (offered / "sets/a").mkdir(parents=True)
    (offered / "sets/a/own.txt").write_bytes(b"own")
    assert command("get", "own", "--yes").exit_code == 0


def test_data_get_tells_a_wrong_mirror_before_it_asks(offered: Path) -> None:
    assert isinstance(command("get", "made/up", "--mirror", "file:///tmp").exception, SpecError)


def test_data_show_says_where_the_files_are_and_shows_records(offered: Path) -> None:
    assert "not here" in command("show", "made/up").output
    command("get", "made/up", "--yes")
    shown = command("show", "made").output
    assert "here)" in shown
    assert '{"kind":"dialogue","id":"d"' in shown
    assert "not here: it is the author's own" in command("show", "own").output


def test_data_write_checks_the_files_and_writes_records(offered: Path) -> None:
    missing = command("write", "made/up", "-o", str(offered / "out.jsonl"))
    assert "get it with: rejoinder data get made/up" in str(missing.exception)
    assert not (offered / "out.jsonl").exists()
    command("get", "made/up", "--yes")
    assert command("write", "made/up", "-o", str(offered / "out.jsonl")).exit_code == 0
    assert (offered / "out.jsonl").read_bytes() == b'{"kind":"dialogue","id":"d","turns":[{"text":"Hi ."}]}\n'
    (offered / FILE.path).write_bytes(b"x" * len(BODY))
    assert "sha256" in str(command("write", "made/up", "-o", str(offered / "out.jsonl")).exception)
    assert command("write", "made/up", "-o", "-", "--no-verify").exit_code == 0
