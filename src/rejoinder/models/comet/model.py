"""COMET, our own and published ones: models that complete inferences about an event, such as oWant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, SpecError
from rejoinder.models.batching import split_into_batches
from rejoinder.models.card import folder_digest
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import require_model
from rejoinder.models.device import count_threads
from rejoinder.models.language_model import lora_folder
from rejoinder.models.language_model.lora_folder import LoraCard
from rejoinder.models.language_model.model import LanguageModel
from rejoinder.models.text_model import load_text_model
from rejoinder.models.weight_sets import WEIGHTS

CARD_FILE = "comet.json"
COMET_LORA = lora_folder.LoraKind("comet", CARD_FILE, "rejoinder train comet")
SHIPPED_FOLDER = WEIGHTS / "comet"
# The text between an event and what follows from it.
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
_MAX_TAIL_TOKENS = 16  # of a tail
_MAX_ROWS = 16


def build_comet_prompt(head: str, relation: str) -> str:
    """Return the model's input; the tail follows on the same line."""
    if relation not in PROMPTS:
        raise InputError(f"comet has no relation {relation!r}; it has {', '.join(PROMPTS)}")
    return f"{head.strip().rstrip('.')}. {PROMPTS[relation]}"


def write_comet(folder: Path, parts: Mapping[str, Any], base: LanguageModel, about: Mapping[str, Any]) -> LoraCard:
    """Write a folder: the LoRA matrices in half precision, then the card."""
    return lora_folder.write_lora(folder, COMET_LORA, parts, base, about)


@dataclass(frozen=True)
class Comet:
    """A language model that writes tails."""

    model: LanguageModel
    card: LoraCard

    def tails(self, heads: Sequence[str], relation: str, n: int = 5) -> list[list[str]]:
        """Return the n most likely tails of each head by beam search, best first; fewer if some are equal."""
        prompts = [build_comet_prompt(head, relation) for head in heads]
        distinct = list(dict.fromkeys(prompts))
        rows = [self.model.tokenizer.encode(text, add_special_tokens=False) for text in distinct]
        tails_by_prompt: dict[str, list[str]] = {}
        for batch in split_into_batches([len(row) for row in rows], most_rows=_MAX_ROWS, most_tokens=4_096):
            batch_prompts = [distinct[i] for i in batch]
            tails_by_prompt.update(zip(batch_prompts, self._generate([rows[i] for i in batch], n), strict=True))
        return [tails_by_prompt[prompt] for prompt in prompts]

    def _generate(self, rows: Sequence[Sequence[int]], n: int) -> list[list[str]]:
        import torch

        from rejoinder.models.language_model.network import pad_left

        network, tokenizer = self.model.network, self.model.tokenizer
        ids, mask = pad_left(rows, network.device)
        with torch.no_grad():
            generated = network.generate(
                input_ids=ids,
                attention_mask=mask.long(),
                max_new_tokens=_MAX_TAIL_TOKENS,
                do_sample=False,
                num_beams=2 * n,
                num_return_sequences=n,
                early_stopping=True,
                eos_token_id=_newline_id(tokenizer),
                pad_token_id=_newline_id(tokenizer),
            )
        new_ids = generated[:, ids.shape[1] :]
        texts = tokenizer.batch_decode(new_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        lines = [" ".join(text.partition("\n")[0].split()) for text in texts]
        return [list(dict.fromkeys(line for line in lines[i : i + n] if line)) for i in range(0, len(lines), n)]

    def details(self) -> dict[str, str]:
        """Return what determines a tail, for signatures."""
        return {**self.model.details(), "additions": self.card.parts[:12]}


def _newline_id(tokenizer: Any) -> int:
    return int(tokenizer.encode("\n", add_special_tokens=False)[-1])


def open_comet(folder: str | Path | None = None, device: Any = None) -> Comet:
    """Open the LoRA of a folder, or by default that of the package, on its language model."""
    location = SHIPPED_FOLDER if folder is None else Path(folder)
    card = lora_folder.read_lora_card(location, COMET_LORA)
    lora_folder.record_lora(card, COMET_LORA)
    return _open_comet_folder(location, (location / CARD_FILE).stat().st_mtime_ns, card.base, device)


@lru_cache(maxsize=1)
def _open_comet_folder(folder: Path, changed: int, base: str, device: Any) -> Comet:
    return Comet(*lora_folder.open_lora(folder, COMET_LORA, device))


GENERATION_MARK = "[GEN]"
_MAX_SEQUENCE_TOKENS = 24  # of a tail


@dataclass(frozen=True, eq=False)
class SequenceComet:
    """A sequence model from a folder, decoded by beam search."""

    network: Any
    tokenizer: Any
    digest: str

    def tails(self, heads: Sequence[str], relation: str, n: int = 5) -> list[list[str]]:
        """Return up to n tails of each event, best first, without duplicates."""
        if n < 1:
            raise SpecError(f"n must be at least 1, not {n}")
        return [self._tails(head, relation, n) for head in heads]  # one by one: padding would change the scores

    def _tails(self, head: str, relation: str, n: int) -> list[str]:
        import torch

        inputs = self.tokenizer(
            f"{head} {relation} {GENERATION_MARK}", return_tensors="pt", truncation=True, max_length=self._window
        )
        with torch.inference_mode():
            generated = self.network.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                num_beams=max(n, 2),
                num_return_sequences=n,
                max_new_tokens=_MAX_SEQUENCE_TOKENS,
                do_sample=False,
            )
        texts = (text.strip() for text in self.tokenizer.batch_decode(generated, skip_special_tokens=True))
        return list(dict.fromkeys(text for text in texts if text))

    @property
    def _window(self) -> int:
        return min(int(self.tokenizer.model_max_length), int(self.network.config.max_position_embeddings))


def load_sequence_comet(name: str = "comet") -> SequenceComet:
    """Open a sequence model from the catalog or a folder with safetensors; nothing is downloaded, no code is run."""
    if name in MODELS and MODELS[name].kind != "sequence-model":
        raise SpecError(f"{name!r} is of kind {MODELS[name].kind}, not a sequence model; use 'comet' or a folder")
    folder = require_model(name) if name in MODELS else Path(name)
    if not (folder / "config.json").is_file():
        raise SpecError(f"no sequence model and no folder with a config.json is called {name!r}")
    network, tokenizer = load_text_model(folder, "AutoModelForSeq2SeqLM", "a sequence model")
    import torch

    torch.set_num_threads(count_threads())
    return SequenceComet(network, tokenizer, folder_digest(folder))
