"""What a paper's folder holds besides code: ``published.json``, its printed figures; ``notes.md``, our sentences."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

_PAPERS = Path(__file__).parent


@dataclass(frozen=True)
class PaperNotes:
    """The sentences of a folder, by the heading that they stand under."""

    sections: dict[str, tuple[str, ...]]

    def paragraphs(self, heading: str, **values: object) -> list[str]:
        """Return the paragraphs under a heading, with their placeholders filled."""
        return [paragraph.format(**values) for paragraph in self.sections[heading]]

    def text(self, heading: str, **values: object) -> str:
        """Return the only paragraph under a heading, with its placeholders filled."""
        (paragraph,) = self.paragraphs(heading, **values)
        return paragraph


@lru_cache(maxsize=16)
def load_published(folder: str) -> dict[str, Any]:
    """Return the printed figures of a folder below ``papers``, by the number of their table, figure or section."""
    published: dict[str, Any] = json.loads((_PAPERS / folder / "published.json").read_text(encoding="utf-8"))
    return published


@lru_cache(maxsize=16)
def load_notes(folder: str) -> PaperNotes:
    """Return the sentences of a folder below ``papers``. A paragraph is one sentence or more; lines may be broken."""
    sections: dict[str, list[str]] = {}
    for block in (_PAPERS / folder / "notes.md").read_text(encoding="utf-8").split("\n\n"):
        text = " ".join(block.split())
        if text.startswith("## "):
            heading = text.removeprefix("## ")
            if heading in sections:
                raise ValueError(f"{folder}/notes.md: two sections have the heading {heading!r}")
            sections[heading] = []
        elif text and not text.startswith("# "):
            sections[heading].append(text)
    return PaperNotes({heading: tuple(paragraphs) for heading, paragraphs in sections.items()})
