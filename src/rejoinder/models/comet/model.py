"""Our own COMET: the embedded language model with a small addition that writes the tails of ATOMIC and ConceptNet.

Given an event and a relation ("PersonX asks PersonY for help", oWant) it writes what may follow ("to help PersonX"), as
COMET (Bosselut et al. 2019) does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError
from rejoinder.models.batching import batches
from rejoinder.models.catalog.manifest import WEIGHTS
from rejoinder.models.language_model import lora_folder
from rejoinder.models.language_model.lora_folder import AdditionCard
from rejoinder.models.language_model.model import LanguageModel

NAME = "comet.json"
KIND = lora_folder.Kind("comet", NAME, "rejoinder train comet")
SHIPPED = WEIGHTS / "comet"
# What is written between an event and what follows from it.
PROMPTS: Mapping[str, str] = {
    "oReact": "As a result, others feel",
    "oEffect": "As a result, others",
    "oWant": "As a result, others want",
    "xAttr": "PersonX is seen as",
    "xReact": "As a result, PersonX feels",
    "xEffect": "As a result, PersonX",
    "xWant": "As a result, PersonX wants",
    "xIntent": "PersonX does this because PersonX wanted",
    "xNeed": "Before that, PersonX needed",
    "Causes": "This causes:",
    "CausesDesire": "This makes people want to",
    "Desires": "It wants:",
    "HasFirstSubevent": "The first thing one does is to",
    "HasLastSubevent": "The last thing one does is to",
    "HasPrerequisite": "For that one must first",
    "HasSubevent": "Doing that, one does this:",
    "MotivatedByGoal": "One does that because one wants to",
}
_MOST_TOKENS = 16  # of a tail
_MOST_ROWS = 16


def prompt_of(head: str, relation: str) -> str:
    """What the model reads; the tail follows on the same line."""
    if relation not in PROMPTS:
        raise InputError(f"comet knows no relation {relation!r}; it knows {', '.join(PROMPTS)}")
    return f"{head.strip().rstrip('.')}. {PROMPTS[relation]}"


def write(folder: Path, parts: Mapping[str, Any], base: LanguageModel, about: Mapping[str, Any]) -> AdditionCard:
    """Write a folder: the additions in half precision, then the card."""
    return lora_folder.write(folder, KIND, parts, base, about)


@dataclass(frozen=True)
class Comet:
    """A language model that writes tails."""

    model: LanguageModel
    card: AdditionCard

    def tails(self, heads: Sequence[str], relation: str, n: int = 5) -> list[list[str]]:
        """The n most likely tails of each head by beam search, the likeliest first; fewer where some are alike."""
        prompts = [prompt_of(head, relation) for head in heads]
        distinct = list(dict.fromkeys(prompts))
        rows = [self.model.tokenizer.encode(text, add_special_tokens=False) for text in distinct]
        found: dict[str, list[str]] = {}
        for batch in batches([len(row) for row in rows], most_rows=_MOST_ROWS, most_tokens=4_096):
            together = [distinct[i] for i in batch]
            found.update(zip(together, self._written([rows[i] for i in batch], n), strict=True))
        return [found[prompt] for prompt in prompts]

    def _written(self, rows: Sequence[Sequence[int]], n: int) -> list[list[str]]:
        import torch

        from rejoinder.models.language_model.network import fill_left

        network, tokenizer = self.model.network, self.model.tokenizer
        ids, mask = fill_left(rows, network.device)
        with torch.no_grad():
            out = network.generate(
                input_ids=ids,
                attention_mask=mask.long(),
                max_new_tokens=_MOST_TOKENS,
                do_sample=False,
                num_beams=2 * n,
                num_return_sequences=n,
                early_stopping=True,
                eos_token_id=_line_end(tokenizer),
                pad_token_id=_line_end(tokenizer),
            )
        written = out[:, ids.shape[1] :]
        texts = tokenizer.batch_decode(written, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        lines = [" ".join(text.partition("\n")[0].split()) for text in texts]
        return [list(dict.fromkeys(line for line in lines[i : i + n] if line)) for i in range(0, len(lines), n)]

    def details(self) -> dict[str, str]:
        """What decides a tail, for signatures."""
        return {**self.model.details(), "additions": self.card.parts[:12]}


def _line_end(tokenizer: Any) -> int:
    return int(tokenizer.encode("\n", add_special_tokens=False)[-1])


def open_comet(folder: str | Path | None = None, device: Any = None) -> Comet:
    """The addition of a folder (that of the package where none is named) on its language model."""
    where = SHIPPED if folder is None else Path(folder)
    card = lora_folder.read(where, KIND)
    return _open(where, (where / NAME).stat().st_mtime_ns, card.base, device)


@lru_cache(maxsize=1)
def _open(folder: Path, changed: int, base: str, device: Any) -> Comet:
    return Comet(*lora_folder.open_addition(folder, KIND, device))
