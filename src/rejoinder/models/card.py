"""What identifies the model in a folder: its card, a JSON file that is written last, and digests of its files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from rejoinder.files import sha256_of, sha256_of_parts

# What determines a score: weights, configuration, tokeniser and chat template; not model cards or licences.
_TRANSFORMERS_FILES = (
    *("*.safetensors", "*.safetensors.index.json", "config.json", "generation_config.json"),
    *("tokenizer*.json", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt", "*.model", "*.jinja"),
)


def write_model_card(path: Path, content: Mapping[str, Any]) -> None:
    """Write a card as indented JSON with sorted keys; the same content gives the same bytes."""
    option = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    path.write_bytes(orjson.dumps(content, option=option))


def join_digests(*parts: object) -> str:
    """Return one sha256 of several parts (digests, names, numbers), in order."""
    return sha256_of_parts(parts)


def folder_digest(folder: Path) -> str:
    """Return a sha256 over the names and contents of all files of a transformers folder that determine a score."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _TRANSFORMERS_FILES for path in folder.glob(pattern)}):
        digest.update(f"{path.name} {sha256_of(path)}\n".encode())
    return digest.hexdigest()
