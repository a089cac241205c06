"""The checkpoint of a generator's training, in two files: arrays and JSON, and no code."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import torch

from rejoinder.errors import InputError
from rejoinder.files import put_in_place
from rejoinder.models.tensors import read_tensors, write_tensors

if TYPE_CHECKING:
    from rejoinder_lab.models.generator.network import GeneratorNetwork

ARRAYS, NOTE = "checkpoint.safetensors", "checkpoint.json"


@dataclass
class GeneratorTrainingState:
    """All that the next step depends on, besides the weights and the moments of the optimiser."""

    best: dict[str, Any]
    step: int = 0
    epoch: int = 0
    at: int = 0  # batches of the epoch that are done
    best_loss: float = float("inf")
    best_step: int = 0
    history: list[list[float]] = field(default_factory=list)


def save_checkpoint(
    folder: Path,
    network: GeneratorNetwork,
    optimizer: torch.optim.Adam,
    training_state: GeneratorTrainingState,
    recipe: Any,
    examples: int,
) -> None:
    """Write a checkpoint; the note is written last and names its arrays."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [name for name, _ in network.named_parameters()]
    moments = optimizer.state_dict()["state"]
    tensors = {f"now.{k}": v for k, v in network.state_dict().items()} | {
        f"best.{k}": v for k, v in training_state.best.items()
    }
    for number, moment_state in moments.items():
        tensors |= {f"{key}.{names[number]}": value for key, value in moment_state.items()}
    arrays = {k: v.detach().float().cpu().numpy() for k, v in tensors.items()}
    scratch = folder / f"{ARRAYS}.{training_state.step}"
    write_tensors(scratch, arrays)
    note = {k: v for k, v in vars(training_state).items() if k != "best"} | {"of": _training_id(recipe, examples)}
    part = folder / (NOTE + ".part")
    part.write_bytes(orjson.dumps(note))
    put_in_place(part, folder / NOTE)
    for old in folder.glob(f"{ARRAYS}.*"):
        if old != scratch:
            old.unlink()


def resume_checkpoint(
    folder: Path, network: GeneratorNetwork, optimizer: torch.optim.Adam, recipe: Any, examples: int
) -> GeneratorTrainingState:
    """Load the checkpoint of a folder into the network and the optimiser; return a new state where there is none."""
    if not (folder / NOTE).is_file():
        return GeneratorTrainingState({name: value.detach().clone() for name, value in network.state_dict().items()})
    try:
        note = orjson.loads((folder / NOTE).read_bytes())
        if note.pop("of") != _training_id(recipe, examples):
            raise InputError(f"{folder}: holds another training (other data or options); name another folder")
        arrays = read_tensors(folder / f"{ARRAYS}.{note['step']}")
    except (KeyError, ValueError):
        raise InputError(f"{folder / NOTE}: is not a checkpoint of a generator; delete it and train again") from None
    device = next(network.parameters()).device
    parts: dict[str, dict[str, Any]] = {}
    for name, array in arrays.items():
        kind, _, rest = name.partition(".")
        parts.setdefault(kind, {})[rest] = torch.from_numpy(array).to(device)
    network.load_state_dict(parts.pop("now"))
    best = parts.pop("best")
    optimizer_state = optimizer.state_dict()
    optimizer_state["state"] = {
        number: {key: values[name] for key, values in parts.items()}
        for number, (name, _) in enumerate(network.named_parameters())
    }
    optimizer.load_state_dict(optimizer_state)
    return GeneratorTrainingState(best, **note)


def _training_id(recipe: Any, examples: int) -> str:
    """Return what identifies a training; with more steps, it is the same one."""
    fields = asdict(recipe)
    del fields["steps"]
    return f"{orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode()} {examples}"
