"""Our own writer of statements: the embedded language model with a small addition that was taught SUGAR's Figure 3.

Given a request, the goal behind it, a reply and a category it writes what the situation may be like, by a beam search
of width 3, as the paper's BART does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from rejoinder.data.questions import CATEGORIES
from rejoinder.errors import InputError, nearest
from rejoinder.models.batching import batches
from rejoinder.models.catalog.manifest import WEIGHTS
from rejoinder.models.language_model.lora_folder import AdditionCard, Kind, open_addition, read
from rejoinder.models.language_model.model import LanguageModel

MOST_WORDS = 100  # of each text that is read: what is beyond does not matter to a statement


@dataclass(frozen=True)
class Asked:
    """What a statement is wanted for."""

    request: str
    goal: str
    reply: str
    category: str

    def __post_init__(self) -> None:
        if self.category not in CATEGORIES:
            raise InputError(f"no category is called {self.category!r}; {nearest(self.category, CATEGORIES)}")

    @property
    def given(self) -> str:
        """Request, goal and reply with their marks, each on the same line and cut to so many words."""
        parts = (("u", self.request), ("g", self.goal), ("r", self.reply))
        return " ".join(f"[{mark}]{' '.join(text.split()[:MOST_WORDS])}" for mark, text in parts)

    @property
    def mark(self) -> str:
        """The beginning of what is written."""
        return f"[{self.category}]"

    @property
    def prompt(self) -> str:
        """All that stands before the statement, for a model that continues a text."""
        return f"{self.given} {self.mark}"


KIND = Kind("statements", "statements.json", "rejoinder train statements")
SHIPPED = WEIGHTS / "statements"
BEAM = 3
_MOST_TOKENS = 32  # of a statement; the longest of SUGAR has 27
_MOST_ROWS = 32


class StatementWriter(Protocol):
    """Whatever writes statements."""

    def write(self, asked: Sequence[Asked], n: int = BEAM, beam: int = BEAM) -> list[list[str]]:
        """Up to n statements for each, the likeliest first, each once."""
        ...

    def details(self) -> dict[str, str]:
        """What decides a statement, for cards."""
        ...


def check_beam(n: int, beam: int) -> None:
    """Whether so many statements can come out of a beam of that width."""
    if not 1 <= n <= beam:
        raise InputError(f"a beam of width {beam} cannot give {n} statements; ask for 1 to {beam}, or widen the beam")


def lines_of(texts: Sequence[str], n: int) -> list[list[str]]:
    """What was written in groups of n: one line each, without what is empty or was said before."""
    lines = [" ".join(text.strip().partition("\n")[0].split()) for text in texts]
    return [list(dict.fromkeys(line for line in lines[i : i + n] if line)) for i in range(0, len(lines), n)]


@dataclass(frozen=True, eq=False)
class AddedStatementWriter:
    """A language model that was taught to write statements."""

    model: LanguageModel
    card: AdditionCard

    def write(self, asked: Sequence[Asked], n: int = BEAM, beam: int = BEAM) -> list[list[str]]:
        """Up to n statements for each, the likeliest first, each once."""
        check_beam(n, beam)
        distinct = list(dict.fromkeys(one.prompt for one in asked))
        rows = [self.model.tokenizer.encode(text, add_special_tokens=False) for text in distinct]
        rows = [row[-(self.model.window - _MOST_TOKENS) :] for row in rows]
        found: dict[str, list[str]] = {}
        for batch in batches([len(row) for row in rows], most_rows=_MOST_ROWS, most_tokens=4_096):
            written = self._written([rows[i] for i in batch], n, beam)
            found.update(zip((distinct[i] for i in batch), written, strict=True))
        return [found[one.prompt] for one in asked]

    def _written(self, rows: Sequence[Sequence[int]], n: int, beam: int) -> list[list[str]]:
        import torch

        from rejoinder.models.language_model.network import fill_left

        network, tokenizer = self.model.network, self.model.tokenizer
        end = int(tokenizer.encode("\n", add_special_tokens=False)[-1])
        ids, mask = fill_left(rows, network.device)
        with torch.no_grad():
            out = network.generate(
                input_ids=ids,
                attention_mask=mask.long(),
                max_new_tokens=_MOST_TOKENS,
                do_sample=False,
                num_beams=beam,
                num_return_sequences=n,
                early_stopping=True,
                eos_token_id=end,
                pad_token_id=end,
            )
        written = out[:, ids.shape[1] :]
        texts = tokenizer.batch_decode(written, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return lines_of(texts, n)

    def details(self) -> dict[str, str]:
        """What decides a statement."""
        return {**self.model.details(), "additions": self.card.parts[:12]}


def open_statement_writer(folder: str | Path | None = None, device: Any = None) -> AddedStatementWriter:
    """The writer of a folder (that of the package where none is named)."""
    where = SHIPPED if folder is None else Path(folder)
    read(where, KIND)
    return _open(where, (where / KIND.card).stat().st_mtime_ns, device)


@lru_cache(maxsize=1)
def _open(folder: Path, changed: int, device: Any) -> AddedStatementWriter:
    return AddedStatementWriter(*open_addition(folder, KIND, device))
