"""The documentation page of the published sets: ``python -m rejoinder.data.datasets._page > docs/datasets.md``."""

from __future__ import annotations

import itertools
import sys

from rejoinder.data.datasets import Dataset, list_datasets

_HEAD = """\
# Published sets

rejoinder reads dialogues and human judgements of responses that others have published. None of it is part of
rejoinder, and each set keeps its own licence: "none stated" means that its publisher attached none, so ask before you
use it for more than research.

```
rejoinder list datasets                       # all of them
rejoinder data show gupta                     # what it is, its licence, its files, its first records
rejoinder data get gupta/multi                # download and check; asks first (--yes skips the question)
rejoinder data write gupta/multi -o gupta.jsonl
```

```python
from rejoinder.data import read_dataset

for record in read_dataset("gupta/multi"):  # nothing is read before the first record is requested
    ...
```

The files are under `$REJOINDER_DATA` (by default the user's data folder, `~/.local/share/rejoinder/data`). Downloads
come from one pinned commit of the publisher's repository; a file gets its name only after its sha256 has been checked.
To resume an interrupted download, run the command again. `--mirror URL` (or `$REJOINDER_MIRROR`) names a server that
has the same paths below another address. Reading compares the size of a file with the published one;
`rejoinder data write` and `read_dataset(..., verify=True)` compare the sha256 too.

This page is generated from the sets' own descriptions in `src/rejoinder/data/datasets`: there is one file per
publication, and a new file there is all that a new set needs.
"""


def render_datasets_page() -> str:
    """Return the whole page, with one section per publication."""
    groups = itertools.groupby(list_datasets(), key=lambda dataset: dataset.name.partition("/")[0])
    return "\n".join([_HEAD, *(_render_section(name, list(sets)) for name, sets in groups)])


def _render_section(name: str, sets: list[Dataset]) -> str:
    lines = [f"## {name}", "", "| name | contents | records |", "|---|---|---|"]
    for dataset in sets:
        counts = ", ".join(f"{n:,} {kind}" for kind, n in dataset.counts.items())
        lines.append(f"| `{dataset.name}` | {dataset.summary} | {counts} |")
    lines += [
        "",
        f"Licence: {_render_field(sets, 'licence')}.",
        "",
        f"Citation: {_render_field(sets, 'citation')}.",
        "",
    ]
    for notes, group in _group_by_field(sets, "notes").items():
        lines += [f"{_name_sets(group, sets)}{notes}", ""]
    lines += ["Files: " + "; ".join(_list_files(sets)) + ".", ""]
    return "\n".join(lines)


def _group_by_field(sets: list[Dataset], field: str) -> dict[str, list[Dataset]]:
    groups: dict[str, list[Dataset]] = {}
    for dataset in sets:
        groups.setdefault(getattr(dataset, field), []).append(dataset)
    return groups


def _render_field(sets: list[Dataset], field: str) -> str:
    return "; ".join(f"{_name_sets(group, sets)}{value}" for value, group in _group_by_field(sets, field).items())


def _name_sets(group: list[Dataset], sets: list[Dataset]) -> str:
    """Return the names of the sets that a sentence is about, or nothing if it is about the whole section."""
    return "" if len(group) == len(sets) else ", ".join(f"`{dataset.name}`" for dataset in group) + ": "


def _list_files(sets: list[Dataset]) -> list[str]:
    files = {file.path: file for dataset in sets for file in dataset.files}.values()
    origins: dict[str, list[str]] = {}
    for file in files:
        origin = f"from {file.repository} at {str(file.commit)[:12]}" if file.downloadable else file.reason
        origins.setdefault(origin, []).append(f"`{file.path}`")
    return [f"{', '.join(paths)} ({origin})" for origin, paths in origins.items()]


if __name__ == "__main__":
    sys.stdout.write(render_datasets_page())
