"""Metrics and systems that share a base model: such a metric may favour that system."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# Part of a model's name -> the family it belongs to; DialoGPT was trained from GPT-2.
FAMILIES = {
    "dialogpt": "gpt2",
    "gpt2": "gpt2",
    "gpt-2": "gpt2",
    "gpt-3.5": "gpt-3.5",
    "gpt-4": "gpt-4",
    "minilm": "minilm",
    "gte-small": "minilm",  # it was trained from a MiniLM of twelve layers
    "mpnet": "mpnet",
    "aptness": "minilm",  # its networks were trained from it
    "smollm": "smollm",
    "roberta": "roberta",
    "deberta": "deberta",
    "bert": "bert",
    "llama": "llama",
    "vicuna": "llama",
    "alpaca": "llama",
    "mistral": "mistral",
    "qwen": "qwen",
    "gemma": "gemma",
    "bloom": "bloom",
    "opt-": "opt",
    "pythia": "pythia",
    "cerebras": "cerebras",
    "t5": "t5",
    "bart": "bart",
    "blenderbot": "blenderbot",
}


def find_families(name: str) -> set[str]:
    """The model families that a name mentions; the longest names are searched for first."""
    families, rest = set(), name.lower()
    for name_part in sorted(FAMILIES, key=len, reverse=True):
        pattern = rf"(?<![a-z]){re.escape(name_part)}"
        if re.search(pattern, rest):
            families.add(FAMILIES[name_part])
            rest = re.sub(pattern, " ", rest)
    return families


def find_shared_families(signatures: Mapping[str, str], systems: Iterable[str]) -> list[tuple[str, str, str]]:
    """Metric, system and family for every metric whose signature mentions a family that a system's name has too."""
    names = list(systems)
    return [
        (spec, system, family)
        for spec, signature in signatures.items()
        for system in names
        for family in sorted(find_families(signature) & find_families(system))
    ]
