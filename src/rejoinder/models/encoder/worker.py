"""Many texts to vectors by an engine: workers load the encoder once; the same bytes whoever computes them.

Which texts are computed together depends on the texts alone: always so many in a row, and in batches that the number of
threads does not change.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.engines.base import Engine, Work, in_order
from rejoinder.errors import SpecError
from rejoinder.models.base import Encoder
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.models.encoder.onnx import whole_batches

Precision: TypeAlias = Literal["float16", "float32"]
AT_ONCE = 1_024  # texts of a task
TYPES: dict[Precision, str] = {"float16": "<f2", "float32": "<f4"}


class EmbeddingWorker:
    """An encoder by its name, which must be the same everywhere."""

    def __init__(self, name: str, digest: str, precision: Precision) -> None:
        self._encoder = load_encoder(name, cache=False)
        self._type = TYPES[precision]
        if self._encoder.digest != digest:
            raise SpecError(f"the encoder {name!r} is not the same on every machine; install it anew")

    def compute(self, task: Sequence[str]) -> str:
        """The vectors of some texts, one after the other."""
        with whole_batches():
            found = self._encoder.encode(task)
        return base64.b64encode(np.ascontiguousarray(found, self._type).tobytes()).decode()

    def close(self) -> None:
        """There is nothing to let go of."""


def embed(
    texts: Iterable[str], encoder: Encoder, engine: Engine, precision: Precision = "float32"
) -> Iterator[NDArray[Any]]:
    """The vectors of texts in their order, some at a time; the encoder is loaded by its name."""
    work = Work(
        "rejoinder.models.encoder.worker:EmbeddingWorker",
        (encoder.name, encoder.digest, precision),
        address="rejoinder.models.embedding:EmbeddingWorker",
    )
    flow = iter(texts)
    tasks = iter(lambda: list(itertools.islice(flow, AT_ONCE)), [])
    for raw in in_order(engine.compute(work, tasks)):
        yield np.frombuffer(base64.b64decode(raw), TYPES[precision]).reshape(-1, encoder.dimensions)
