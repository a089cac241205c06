"""What a signature says of a language model."""

from __future__ import annotations

from rejoinder.models.language_model.model import open_language_model


def language_model_details(name: str) -> dict[str, str]:
    """The digest of a language model and how it reads turns; raises where it is absent."""
    found = open_language_model(name).details()
    return {"weights": found["digest"], "join": found["join"], "window": found["window"]}
