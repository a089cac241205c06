"""``python -m tools.docsite [FOLDER]``: the site, by default in ``site/``."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.docsite.build import build
from tools.docsite.page import ROOT, SiteError


def main() -> None:
    """Build, or say what is wrong and exit with 1."""
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    try:
        print(f"{build(site)} pages in {site}; open {site / 'index.html'}")
    except SiteError as error:
        print(f"the site was not built:\n{error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
