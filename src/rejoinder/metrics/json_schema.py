"""JSON schema: whether a reply is JSON and fits a schema; a rule, for replies that programs read."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rejoinder.errors import SpecError, shorten_path
from rejoinder.files import sha256_of_bytes
from rejoinder.json_schema import Schema, SchemaValidator, check_schema
from rejoinder.metric import NAN, Metric
from rejoinder.types import Pair

_FENCED = re.compile(r"^[ \t]*```[ \t]*(?:json|json5|jsonc)?[ \t]*\r?\n(.*?)^[ \t]*```[ \t]*$", re.I | re.M | re.S)


@dataclass(frozen=True)
class JsonSchema(Metric):
    """1 where a reply is JSON and fits the schema in the file 'path', else 0; without a path, any JSON fits.

    A reply that is one fenced block (```json) counts as its content. With ``anywhere`` the first fenced block counts
    wherever it is in the reply; otherwise words around it make the score 0, as a program could not read the reply.
    The schema may use the keywords of JSON Schema 2020-12 except ``$dynamicRef``, ``unevaluated...`` and references to
    other files; as the standard has it, ``format`` is a remark and not checked. NaN where a reply is nested too deeply.
    """

    path: str | None = None
    anywhere: bool = False

    citation = "a rule"
    is_rule = True

    def details(self) -> dict[str, str]:
        """Return the digest of the schema, which the name of its file alone does not determine."""
        return {} if self.path is None else {"schema": sha256_of_bytes(_read_schema(self.path))[:12]}

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return whether each response is JSON that fits."""
        schema = True if self.path is None else _parse_schema(self.path, _read_schema(self.path))
        validator = SchemaValidator({}, root=schema)
        return [self._score_text(pair.response.text, schema, validator) for pair in pairs]

    def _score_text(self, text: str, schema: Schema | bool, validator: SchemaValidator) -> float:
        try:
            value: Any = orjson.loads(_find_json(text, self.anywhere))
        except orjson.JSONDecodeError:
            return 0.0
        try:
            return float(validator.problem(schema, value, "the reply") is None)
        except RecursionError:
            return NAN


def _find_json(text: str, anywhere: bool) -> str:
    """Return the content of a fenced block, or the text itself."""
    text = text.strip().removeprefix("\ufeff")
    block = _FENCED.search(text) if anywhere else _FENCED.fullmatch(text)
    return block[1] if block else text


def _read_schema(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise SpecError(f"{shorten_path(path)}: {error.strerror}; json_schema needs a schema there") from None


@functools.lru_cache(maxsize=16)
def _parse_schema(path: str, content: bytes) -> Schema | bool:
    name = shorten_path(path)
    try:
        schema = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise SpecError(f"{name}: not JSON ({error}); json_schema needs a JSON Schema") from None
    if problem := check_schema(schema):
        raise SpecError(f"{name}: {problem}")
    return schema  # type: ignore[no-any-return]
