"""Models that write statements (SUGAR, Figure 3): the embedded language model with our LoRA, or a sequence model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from rejoinder.data.questions import CATEGORIES
from rejoinder.errors import InputError, nearest
from rejoinder.models.batching import split_into_batches
from rejoinder.models.comet.model import load_sequence_comet
from rejoinder.models.language_model.lora_folder import LoraCard, LoraKind, open_lora, read_lora_card, record_lora
from rejoinder.models.language_model.model import LanguageModel
from rejoinder.models.weight_sets import WEIGHTS

MAX_WORDS = 100  # of each text that is read: what comes later does not matter for a statement


@dataclass(frozen=True)
class StatementRequest:
    """What a statement should be about."""

    request: str
    goal: str
    reply: str
    category: str

    def __post_init__(self) -> None:
        if self.category not in CATEGORIES:
            raise InputError(f"no category is called {self.category!r}; {nearest(self.category, CATEGORIES)}")

    @property
    def input_text(self) -> str:
        """Return request, goal and reply with their marks, on one line and each cut to ``MAX_WORDS`` words."""
        parts = (("u", self.request), ("g", self.goal), ("r", self.reply))
        return " ".join(f"[{mark}]{' '.join(text.split()[:MAX_WORDS])}" for mark, text in parts)

    @property
    def mark(self) -> str:
        """Return the beginning of the output."""
        return f"[{self.category}]"

    @property
    def prompt(self) -> str:
        """Return everything before the statement, for a model that continues a text."""
        return f"{self.input_text} {self.mark}"


STATEMENTS_LORA = LoraKind("statements", "statements.json", "rejoinder train statements")
SHIPPED_FOLDER = WEIGHTS / "statements"
BEAM_WIDTH = 3
_MAX_TOKENS = 32  # of a statement; the longest of SUGAR has 27
_MAX_ROWS = 32


class StatementWriter(Protocol):
    """A model that writes statements."""

    def write(
        self, requests: Sequence[StatementRequest], n: int = BEAM_WIDTH, beam: int = BEAM_WIDTH
    ) -> list[list[str]]:
        """Return up to n distinct statements for each request, best first."""
        ...

    def details(self) -> dict[str, str]:
        """Return what determines a statement, for cards."""
        ...


def check_beam(n: int, beam: int) -> None:
    """Raise if a beam of that width cannot give n statements."""
    if not 1 <= n <= beam:
        raise InputError(
            f"a beam of width {beam} cannot give {n} statements; use an n from 1 to {beam}, or a wider beam"
        )


def first_lines_of_outputs(texts: Sequence[str], n: int) -> list[list[str]]:
    """Return the first lines of the outputs in groups of n, without empty and repeated ones."""
    lines = [" ".join(text.strip().partition("\n")[0].split()) for text in texts]
    return [list(dict.fromkeys(line for line in lines[i : i + n] if line)) for i in range(0, len(lines), n)]


@dataclass(frozen=True, eq=False)
class LoraStatementWriter:
    """A language model trained to write statements."""

    model: LanguageModel
    card: LoraCard

    def write(
        self, requests: Sequence[StatementRequest], n: int = BEAM_WIDTH, beam: int = BEAM_WIDTH
    ) -> list[list[str]]:
        """Return up to n distinct statements for each request, best first."""
        check_beam(n, beam)
        distinct = list(dict.fromkeys(request.prompt for request in requests))
        rows = [self.model.tokenizer.encode(text, add_special_tokens=False) for text in distinct]
        rows = [row[-(self.model.window - _MAX_TOKENS) :] for row in rows]
        statements: dict[str, list[str]] = {}
        for batch in split_into_batches([len(row) for row in rows], most_rows=_MAX_ROWS, most_tokens=4_096):
            new_statements = self._generate([rows[i] for i in batch], n, beam)
            statements.update(zip((distinct[i] for i in batch), new_statements, strict=True))
        return [statements[request.prompt] for request in requests]

    def _generate(self, rows: Sequence[Sequence[int]], n: int, beam: int) -> list[list[str]]:
        import torch

        from rejoinder.models.language_model.network import pad_left

        network, tokenizer = self.model.network, self.model.tokenizer
        end = int(tokenizer.encode("\n", add_special_tokens=False)[-1])
        ids, mask = pad_left(rows, network.device)
        with torch.no_grad():
            generated = network.generate(
                input_ids=ids,
                attention_mask=mask.long(),
                max_new_tokens=_MAX_TOKENS,
                do_sample=False,
                num_beams=beam,
                num_return_sequences=n,
                early_stopping=True,
                eos_token_id=end,
                pad_token_id=end,
            )
        new_ids = generated[:, ids.shape[1] :]
        texts = tokenizer.batch_decode(new_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return first_lines_of_outputs(texts, n)

    def details(self) -> dict[str, str]:
        """Return what determines a statement."""
        return {**self.model.details(), "additions": self.card.parts[:12]}


def open_lora_writer(folder: str | Path | None = None, device: Any = None) -> LoraStatementWriter:
    """Open the writer in a folder, or by default that of the package."""
    location = SHIPPED_FOLDER if folder is None else Path(folder)
    record_lora(read_lora_card(location, STATEMENTS_LORA), STATEMENTS_LORA)
    return _open_writer_folder(location, (location / STATEMENTS_LORA.card).stat().st_mtime_ns, device)


@lru_cache(maxsize=1)
def _open_writer_folder(folder: Path, changed: int, device: Any) -> LoraStatementWriter:
    return LoraStatementWriter(*open_lora(folder, STATEMENTS_LORA, device))


_MAX_SEQUENCE_TOKENS = 32  # of a statement


@dataclass(frozen=True, eq=False)
class SequenceStatementWriter:
    """A sequence model from a folder, decoded by beam search."""

    network: Any
    tokenizer: Any
    digest: str

    def write(
        self, requests: Sequence[StatementRequest], n: int = BEAM_WIDTH, beam: int = BEAM_WIDTH
    ) -> list[list[str]]:
        """Return up to n distinct statements for each request, best first."""
        check_beam(n, beam)
        statements = {
            request: self._generate(request, n, beam) for request in dict.fromkeys(requests)
        }  # one by one: padding changes scores
        return [statements[request] for request in requests]

    def _generate(self, request: StatementRequest, n: int, beam: int) -> list[str]:
        import torch

        config = self.network.config
        window = min(int(self.tokenizer.model_max_length), int(getattr(config, "max_position_embeddings", 512)))
        inputs = self.tokenizer(request.input_text, return_tensors="pt", truncation=True, max_length=window)
        mark = list(self.tokenizer(request.mark)["input_ids"])
        while mark and mark[-1] == self.tokenizer.eos_token_id:
            mark.pop()
        start_ids = [config.decoder_start_token_id, *mark]
        with torch.inference_mode():
            generated = self.network.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                decoder_input_ids=torch.tensor([start_ids]),
                num_beams=beam,
                num_return_sequences=n,
                max_new_tokens=_MAX_SEQUENCE_TOKENS,
                do_sample=False,
            )
        texts = self.tokenizer.batch_decode(generated[:, len(start_ids) :], skip_special_tokens=True)
        return first_lines_of_outputs(texts, n)[0]

    def details(self) -> dict[str, str]:
        """Return what determines a statement."""
        return {"digest": self.digest[:12]}


def open_statement_writer(name: str | None = None, device: Any = None) -> StatementWriter:
    """Open the writer of the package, of a folder that ``rejoinder train statements`` wrote, or a sequence model."""
    if name is None or (Path(name) / STATEMENTS_LORA.card).is_file():
        return open_lora_writer(name, device)
    model = load_sequence_comet(name)
    return SequenceStatementWriter(model.network, model.tokenizer, model.digest)
