"""The table of docs/languages.md: which metrics work for which language, read off the registry."""

from __future__ import annotations

from rejoinder.metric import metric_class, metric_names
from rejoinder.table import Cell, Table

_COUNT_WORDS = "words"  # any language in which words can be found: of unspaced scripts, Chinese and Japanese alone
_HEADS = [
    "metrics",
    "English",
    "spaces between words: German, Spanish, Russian, Arabic, Hindi, …",
    "Chinese, Japanese",
    "neither spaces nor one word per character: Thai, Khmer, …",
]
# What the metrics of a kind do with the languages of each column.
_WORKS: dict[str, list[Cell]] = {
    "any": ["yes", "yes", "yes", "yes"],
    _COUNT_WORDS: ["yes", "yes", "yes", "no"],
    "spaces": ["yes", "yes", "with tokenizer='words'", "no"],
    "model": ["yes", *["with another model"] * 3],
    "English": ["yes", "no", "no", "no"],
}


def language_table() -> Table:
    """One row per kind of metric, one column per kind of language."""
    names: dict[str, list[str]] = {kind: [] for kind in _WORKS}
    for name in metric_names():
        if name != "with_references":  # as the metric that it restricts
            names[_kind_of(name)].append(name)
    return Table("Metrics by language", _HEADS, [[", ".join(names[kind]), *works] for kind, works in _WORKS.items()])


def _kind_of(name: str) -> str:
    return _COUNT_WORDS if name in {"context_overlap", "length", "max_words"} else metric_class(name).languages
