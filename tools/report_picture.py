"""The picture of the README: the first screen of a real report, by Chromium.

``python -m tools.report_picture`` scores the example conversations, writes their report and photographs it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import rejoinder

PICTURE = Path(__file__).parent.parent / "docs" / "report.png"
_SIZE = "1280,800"


def photograph(page: Path, picture: Path) -> None:
    """Write what the first screen of a page looks like."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("the picture needs Chromium: apt-get install chromium")
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={_SIZE}", f"--screenshot={picture}"]
    subprocess.run([chromium, *options, page.as_uri()], check=True, capture_output=True)


def main() -> None:
    """Score, report and photograph the example conversations."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chats = rejoinder.demo(folder / "demo")[-1]
        rejoinder.run([chats], rejoinder.Plan.of(["aptness", "bleu", "rouge_l", "meteor", "chrf"]), folder / "run")
        rejoinder.report(folder / "run", folder / "report.html")
        photograph(folder / "report.html", PICTURE)


if __name__ == "__main__":
    main()
