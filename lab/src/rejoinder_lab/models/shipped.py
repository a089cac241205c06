"""The weights of the published baselines: trained on the vectors of the research set, and of no use with another."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rejoinder.models.weight_sets import WeightsMissingError, default_set

WEIGHTS = Path(__file__).parent.parent / "weights"
SET: Literal["research"] = "research"


def shipped_folder(model: str) -> Path:
    """Return the folder of a baseline that comes with the lab; raise where another set of weights was asked for."""
    if (name := default_set()) != SET:
        raise WeightsMissingError(
            f"the weights {name!r} have none for {model}; use those called {SET!r}, or train your own with: "
            f"rejoinder train {model} -o FOLDER"
        )
    return WEIGHTS / model
