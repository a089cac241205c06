"""The pictures in the docs, taken of the real pages over the example data: ``make screenshots`` writes them into docs/.

Needs Debian's chromium and playwright, as the tests of pages do. A picture is written only if it is missing, or
with ``--all``: the same page is drawn in other bytes by another version of the browser.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CHROMIUM = "/usr/bin/chromium"
LARGEST = 250_000  # bytes of a picture
# Picture, and the page of ``rejoinder serve`` that it shows.
SERVED = {
    "serving_replies.png": "/runs/chats/replies?system=plain",
    "serving_compare.png": "/compare?old=old&new=new&metric=aptness",
}
REPORTED = {"report.png": "", "report_people.png": "#people"}  # and the place of the report
SIZE = {"width": 1280, "height": 800}


def main() -> None:
    """Take every picture that is missing, or all of them."""
    from playwright.sync_api import sync_playwright

    names = [*REPORTED, "annotating.png", *SERVED]
    wanted = [name for name in names if "--all" in sys.argv[1:] or not (DOCS / name).exists()]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        _write_runs(Path(folder))
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(viewport=SIZE, color_scheme="light").new_page()
        for name in set(wanted) & set(REPORTED):
            _take(page, (Path(folder) / "runs" / "chats.html").as_uri() + REPORTED[name], name)
        if "annotating.png" in wanted:
            project = str(ROOT / "examples" / "annotation" / "project.toml")
            database = str(Path(folder) / "judgements.sqlite")
            with _running("annotate", project, "--database", database, "--raters", "1") as link:
                page.goto(link)
                _take(page, link.partition("/r/")[0] + "/work", "annotating.png")
        if set(wanted) & set(SERVED):
            with _running("serve", str(Path(folder) / "runs")) as link:
                page.goto(link)
                for name in set(wanted) & set(SERVED):
                    _take(page, link.partition("/r/")[0] + SERVED[name], name)
        browser.close()


def _write_runs(folder: Path) -> None:
    """The runs of the README: two versions of a bot, and three systems with ratings."""
    _rejoinder("demo", "-o", str(folder / "demo"))
    for name in ("old", "new", "chats"):
        _rejoinder("score", str(folder / "demo" / f"{name}.jsonl"), "-o", str(folder / "runs" / name))
    _rejoinder("report", str(folder / "runs" / "chats"))


def _rejoinder(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "rejoinder", *arguments], check=True, capture_output=True)


@contextlib.contextmanager
def _running(*arguments: str) -> Iterator[str]:
    """A server in a process of its own: the link that it prints first."""
    command = [sys.executable, "-m", "rejoinder", *arguments, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip().partition("\t")[2]
        finally:
            process.kill()


def _take(page: Any, link: str, name: str) -> None:
    page.goto(link)
    page.wait_for_load_state("networkidle")
    page.wait_for_selector("h1:not(:has-text('One moment'))")  # what is computed once has a page that reloads by itself
    content: bytes = page.screenshot()
    if len(content) > LARGEST:
        raise SystemExit(f"{name} has {len(content):,} bytes; make the window smaller")
    (DOCS / name).write_bytes(content)
    print(f"docs/{name}: {len(content):,} bytes")


if __name__ == "__main__":
    main()
