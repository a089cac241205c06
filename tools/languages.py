"""The table of docs/languages.md: which metrics work for which language, read off the registry."""

from __future__ import annotations

from rejoinder.metric import Languages, metric_class, metric_names
from rejoinder.table import Cell, Table

_SPACED = "with spaces between words: German, Spanish, Russian, Arabic, Hindi, …"
_CHARACTERS = "Chinese, Japanese"
_UNSPACED = "Thai, Khmer, Lao, Burmese: neither spaces nor one word per character"
# What a metric made for some languages does with those of a row.
_WORKS: dict[str, dict[Languages, str]] = {
    "English": {"any": "as it is", "spaces": "as it is", "English": "as it is", "model": "as it is"},
    _SPACED: {"any": "as it is", "spaces": "as it is", "model": "with another model", "English": "no"},
    _CHARACTERS: {
        "any": "as it is",
        "spaces": "with tokenizer='words'",
        "model": "with another model",
        "English": "no",
    },
    _UNSPACED: {"any": "as it is", "spaces": "no", "model": "with another model", "English": "no"},
}
_COUNT_WORDS = {"context_overlap", "length", "max_words"}  # of any script, but a text without spaces is one long word


def language_table() -> Table:
    """One row per kind of language: the metrics that work as they are, with a setting, or not."""
    heads = ["language", "as it is", "with tokenizer='words'", "with another model", "no"]
    return Table("Languages", heads, [[language, *_cells(language)] for language in _WORKS])


def _cells(language: str) -> list[Cell]:
    names: dict[str, list[str]] = {"as it is": [], "with tokenizer='words'": [], "with another model": [], "no": []}
    for name in metric_names():
        if name == "with_references":  # as the metric that it restricts
            continue
        works = _WORKS[language][metric_class(name).languages]
        names["no" if language == _UNSPACED and name in _COUNT_WORDS else works].append(name)
    if language == "English":
        return ["all metrics", "–", "–", "–"]
    return [", ".join(found) or "–" for found in names.values()]
