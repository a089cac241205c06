"""Our own COMET: the embedded language model with a small addition that writes the tails of ATOMIC and ConceptNet.

Given an event and a relation ("PersonX asks PersonY for help", oWant) it writes what may follow ("to help PersonX"), as
COMET (Bosselut et al. 2019) does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.models.batching import batches
from rejoinder.models.language_model import LanguageModel, load_language_model
from rejoinder.models.manifest import WEIGHTS

NAME, PARTS = "comet.json", "additions.safetensors"
FORMAT = 1
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


@dataclass(frozen=True)
class CometCard:
    """What a folder adds to which language model, and where that comes from."""

    base: str
    base_digest: str
    parts: str  # sha256 of the additions
    about: dict[str, Any] = field(default_factory=dict)  # recipe, data, licence, measured
    format: int = FORMAT


def read(folder: Path) -> CometCard:
    """The card of a folder."""
    path = folder / NAME
    try:
        card = CometCard(**orjson.loads(path.read_bytes()))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); train one with: rejoinder train comet") from None
    except (ValueError, TypeError):
        raise InputError(f"{path}: is not a card of comet; train it again: rejoinder train comet") from None
    if card.format != FORMAT:
        raise InputError(f"{path}: has the format {card.format}, not {FORMAT}; train it again: rejoinder train comet")
    return card


def write(folder: Path, parts: Mapping[str, Any], base: LanguageModel, about: Mapping[str, Any]) -> CometCard:
    """Write a folder: the additions in half precision, then the card."""
    import torch
    from safetensors.torch import save

    folder.mkdir(parents=True, exist_ok=True)
    whole = save({name: part.to(torch.float16).contiguous() for name, part in sorted(parts.items())})
    (folder / PARTS).write_bytes(whole)
    card = CometCard(base.name, base.digest, hashlib.sha256(whole).hexdigest(), dict(about))
    option = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    (folder / NAME).write_bytes(orjson.dumps(asdict(card), option=option))
    return card


@dataclass(frozen=True)
class Comet:
    """A language model that writes tails."""

    model: LanguageModel
    card: CometCard

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

        from rejoinder.models.causal import fill_left

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
    card = read(where)
    return _open(where, (where / NAME).stat().st_mtime_ns, card.base, device)


@lru_cache(maxsize=1)
def _open(folder: Path, changed: int, base: str, device: Any) -> Comet:
    card = read(folder)
    model = load_language_model(base, device=device)
    try:
        from safetensors.torch import load

        from rejoinder.models.low_rank import add
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "torch", "comet") from None
    try:
        whole = (folder / PARTS).read_bytes()
    except OSError as error:
        raise InputError(f"{folder / PARTS}: cannot be read ({error.strerror})") from None
    if hashlib.sha256(whole).hexdigest() != card.parts:
        raise InputError(f"{folder / PARTS}: is not the file of its card; get or train it again")
    if model.digest != card.base_digest:
        raise InputError(
            f"{folder}: was trained on other weights of {card.base} (digest {card.base_digest[:12]}, here "
            f"{model.digest[:12]}); train it again: rejoinder train comet"
        )
    add(model.network, {name: part.float() for name, part in load(whole).items()})
    return Comet(model, card)
