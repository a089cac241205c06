"""What the tests of importers share: an import that is written, read back and so checked twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rejoinder.data.collection import Collection, read_files
from rejoinder.data.importers import ImportOptions, ImportTally
from rejoinder.data.inputs import import_
from rejoinder.data.writer import write


def imported(name: str, path: Path, tally: ImportTally | None = None, **options: Any) -> Collection:
    """The records as they come back from the file that the import wrote."""
    fields = options.pop("fields", ())
    pairs = tuple(fields.items()) if isinstance(fields, dict) else tuple(fields)
    out = path.parent / f"{path.name}.imported"
    write(import_(name, path, ImportOptions(fields=pairs, **options), tally), out)
    try:
        return read_files([out], allow_empty=True)
    finally:
        out.unlink()


def save(path: Path, content: Any) -> Path:
    """A file of JSON (*.json), of JSON lines (*.jsonl) or of text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".json":
        content = json.dumps(content)
    elif path.suffix == ".jsonl" and not isinstance(content, str):
        content = "".join(json.dumps(value) + "\n" for value in content)
    path.write_text(content, encoding="utf-8")
    return path


def chat(*texts: str, **more: Any) -> dict[str, Any]:
    """An OpenAI-style log in which a user and an assistant take turns."""
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)], **more}
