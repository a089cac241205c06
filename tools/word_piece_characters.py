"""The classes of characters of BERT's tokeniser, asked of the library tokenizers one character at a time.

``python -m tools.word_piece_characters`` writes them into the package; they change only with that library.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from tokenizers import normalizers, pre_tokenizers

from rejoinder.models.word_pieces import CHARACTERS


def describe_classes() -> str:
    """One line per class: its name and its ranges, in hexadecimal."""
    clean = normalizers.BertNormalizer(True, False, False, False)
    strip = normalizers.BertNormalizer(False, False, True, False)
    split = pre_tokenizers.BertPreTokenizer()
    points = [point for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000]
    classes = {
        "removed": [point for point in points if clean.normalize_str(f"a{chr(point)}b") == "ab"],
        "mark": [point for point in points if strip.normalize_str(f"a{chr(point)}") == "a"],
        "punctuation": [point for point in points if len(split.pre_tokenize_str(f"a{chr(point)}b")) == 3],
    }
    return "".join(f"{name} {' '.join(_join_ranges(of_class))}\n" for name, of_class in classes.items())


def _join_ranges(points: Iterable[int]) -> list[str]:
    ranges: list[list[int]] = []
    for point in points:
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return [f"{first:x}-{last:x}" if last > first else f"{first:x}" for first, last in ranges]


if __name__ == "__main__":
    CHARACTERS.write_text(describe_classes(), encoding="utf-8", newline="\n")
