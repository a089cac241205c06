"""Checks of parameters that several metrics share; each raises the SpecError that a user would see."""

from __future__ import annotations

from typing import Any, get_args

from rejoinder.errors import SpecError
from rejoinder.text import TokenizerName


def check_choice(metric: str, parameter: str, value: object, choices: Any) -> None:
    """A parameter must be one of the values of a Literal."""
    allowed = get_args(choices)
    if value not in allowed:
        raise SpecError(f"{metric}: {parameter} must be one of {', '.join(map(repr, allowed))}, not {value!r}")


def check_between(metric: str, parameter: str, value: int, low: int, high: int) -> None:
    """A parameter must be a whole number between two others."""
    if type(value) is not int or not low <= value <= high:
        raise SpecError(f"{metric}: {parameter} must be a whole number from {low} to {high}, not {value!r}")


def check_tokenizer(metric: str, tokenizer: TokenizerName, lowercase: bool) -> None:
    """A tokeniser must be known, and must be able to keep upper case where it is asked to."""
    check_choice(metric, "tokenizer", tokenizer, TokenizerName)
    if tokenizer == "rouge" and not lowercase:
        raise SpecError(f"{metric}: tokenizer='rouge' lower-cases; leave lowercase out or take another tokenizer")
