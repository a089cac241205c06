"""Draws ``docs/layers.svg``: first-level packages and modules, a row per layer of ``tests/test_architecture.py``."""

from __future__ import annotations

import ast
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "layers.svg"
# What each name stands for, in the few words that fit into its box.
CAPTIONS = {
    "entry_points": "plug-ins",
    "errors": "user errors",
    "escape": "safe output",
    "exports": "first levels",
    "lab": "what the lab has",
    "seeded": "stable choices",
    "types": "the records",
    "files": "atomic writes",
    "paths": "cache, data folders",
    "registry": "names to modules",
    "table": "tables, any format",
    "text": "tokens, English",
    "user_file": "users' own files",
    "user_function": "users' functions",
    "json_schema": "JSON Schema",
    "keyed_store": "stored by key",
    "model_use": "models, licences",
    "engines": "processes, Ray",
    "spec": "bleu(n=2)",
    "metric": "what a metric is",
    "stats": "intervals, tests",
    "data": "files, importers",
    "models": "encoders, networks",
    "scoring": "score, run folders",
    "comparison": "compare, trust",
    "indexes": "BM25, vectors",
    "judges": "models as judges",
    "probes": "attack, explain",
    "annotation": "what people judge",
    "augmentation": "augment",
    "metrics": "one file per metric",
    "sources": "one file per source",
    "systems": "one file per system",
    "selection": "build, select, rank",
    "situation": "situate",
    "reports": "tables, HTML pages",
    "server": "pages and HTTP API",
    "cli": "the commands",
    "pytest": "a pytest plugin",
    "__main__": "python -m rejoinder",
}
WIDTH, MARGIN, GAP = 840, 16, 8
BOX_WIDTH, BOX_HEIGHT, ROW_HEIGHT = 128, 40, 50
TOP = 52
STYLE = """
  .ground { fill: #ffffff }
  .package { fill: #eaf2f8; stroke: #0a5a8c }
  .module { fill: #ffffff; stroke: #7b858e; stroke-dasharray: 4 3 }
  .row { stroke: #e3e7ea }
  .name { fill: #1c2127; font: 600 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace }
  .caption, .note { fill: #535c66; font: 11.5px system-ui, "DejaVu Sans", Arial, sans-serif }
  .note { font-size: 13px }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #15181b }
    .package { fill: #1b2a35; stroke: #78bdea }
    .module { fill: #15181b; stroke: #7a858f }
    .row { stroke: #2c3238 }
    .name { fill: #e3e6e8 }
    .caption, .note { fill: #a7b0b8 }
  }
"""


def read_layers() -> list[tuple[str, ...]]:
    """LAYERS of the architecture test: from what imports nothing of the project to what may import everything."""
    tree = ast.parse((ROOT / "tests" / "test_architecture.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "LAYERS" for t in node.targets):
            layers: list[tuple[str, ...]] = ast.literal_eval(node.value)
            return layers
    raise ValueError("tests/test_architecture.py defines no LAYERS")


def draw_layers(layers: list[tuple[str, ...]]) -> str:
    """The picture as SVG; the first layer stands at the bottom, and the elements come in the order of the layers."""
    height = TOP + ROW_HEIGHT * len(layers) + MARGIN
    note = "A name may import only names in rows below its own. Solid: a package. Dashed: a single module."
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' role="img" aria-labelledby="layers-title">',
        '<title id="layers-title">The layers of rejoinder: each name imports only from rows below its own</title>',
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}" rx="6"/>',
        f'<text class="note" x="{MARGIN}" y="31">{note}</text>',
    ]
    for number, names in enumerate(layers):
        bottom = height - MARGIN - ROW_HEIGHT * number
        if number:
            parts.append(f'<line class="row" x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{bottom}" y2="{bottom}"/>')
        parts += _draw_row(names, bottom - (ROW_HEIGHT + BOX_HEIGHT) // 2)
    return "\n".join([*parts, "</svg>", ""])


def _draw_row(names: tuple[str, ...], y: int) -> list[str]:
    width = len(names) * (BOX_WIDTH + GAP) - GAP
    left = (WIDTH - width) // 2
    parts = []
    for place, name in enumerate(names):
        x = left + place * (BOX_WIDTH + GAP)
        middle = x + BOX_WIDTH // 2
        kind = "package" if (ROOT / "src" / "rejoinder" / name).is_dir() else "module"
        parts += [
            f'<rect class="{kind}" x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4"/>',
            f'<text class="name" x="{middle}" y="{y + 18}" text-anchor="middle">{escape(name)}</text>',
            f'<text class="caption" x="{middle}" y="{y + 34}" text-anchor="middle">{escape(CAPTIONS[name])}</text>',
        ]
    return parts


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(draw_layers(read_layers()), encoding="utf-8")


if __name__ == "__main__":
    main()
