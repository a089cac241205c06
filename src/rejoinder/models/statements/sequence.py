"""Statements by any sequence model (SUGAR, step 6: a BART that was tuned on Figure 3's format).

The encoder reads ``[u]… [g]… [r]…``; the category is given to the decoder as the first thing that it wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rejoinder.models.comet.sequence import load_sequence_comet
from rejoinder.models.statements.model import (
    BEAM,
    KIND,
    Asked,
    StatementWriter,
    check_beam,
    lines_of,
    open_statement_writer,
)

_MOST_TOKENS = 32  # of a statement


@dataclass(frozen=True, eq=False)
class SequenceStatementWriter:
    """A sequence model of a folder, asked by beam search."""

    network: Any
    tokenizer: Any
    digest: str

    def write(self, asked: Sequence[Asked], n: int = BEAM, beam: int = BEAM) -> list[list[str]]:
        """Up to n statements for each, the likeliest first, each once."""
        check_beam(n, beam)
        found = {one: self._written(one, n, beam) for one in dict.fromkeys(asked)}  # one by one: padding moves scores
        return [found[one] for one in asked]

    def _written(self, asked: Asked, n: int, beam: int) -> list[str]:
        import torch

        config = self.network.config
        window = min(int(self.tokenizer.model_max_length), int(getattr(config, "max_position_embeddings", 512)))
        given = self.tokenizer(asked.given, return_tensors="pt", truncation=True, max_length=window)
        mark = list(self.tokenizer(asked.mark)["input_ids"])
        while mark and mark[-1] == self.tokenizer.eos_token_id:
            mark.pop()
        begun = [config.decoder_start_token_id, *mark]
        with torch.inference_mode():
            out = self.network.generate(
                input_ids=given["input_ids"],
                attention_mask=given["attention_mask"],
                decoder_input_ids=torch.tensor([begun]),
                num_beams=beam,
                num_return_sequences=n,
                max_new_tokens=_MOST_TOKENS,
                do_sample=False,
            )
        texts = self.tokenizer.batch_decode(out[:, len(begun) :], skip_special_tokens=True)
        return lines_of(texts, n)[0]

    def details(self) -> dict[str, str]:
        """What decides a statement."""
        return {"digest": self.digest[:12]}


def open_writer(name: str | None = None, device: Any = None) -> StatementWriter:
    """The writer of the package, of a folder that ``rejoinder train statements`` made, or a sequence model."""
    if name is None or (Path(name) / KIND.card).is_file():
        return open_statement_writer(name, device)
    opened = load_sequence_comet(name)
    return SequenceStatementWriter(opened.network, opened.tokenizer, opened.digest)
