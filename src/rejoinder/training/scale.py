"""A recipe cut down: fewer or smaller steps, for a trial or for a machine without a GPU."""

from __future__ import annotations

from dataclasses import replace

from rejoinder.training.aptness.recipe import AptnessRecipe


def scaled(
    recipe: AptnessRecipe,
    bi_steps: int | None = None,
    cross_steps: int | None = None,
    batch: float = 1.0,
    places: int | None = None,
) -> AptnessRecipe:
    """The recipe with other numbers of steps, a step's size as a share, and other numbers of held-out places."""
    bi, cross = recipe.bi, recipe.cross
    bi = replace(
        bi,
        steps=bi_steps or bi.steps,
        windows=_share(bi.windows, batch),
        merged=_share(bi.merged, batch),
        spoiled=min(_share(bi.spoiled, batch), _share(bi.merged, batch)),
    )
    cross = replace(cross, steps=cross_steps or cross.steps, places=_share(cross.places, batch))
    return replace(recipe, bi=bi, cross=cross, places=places or recipe.places)


def _share(number: int, share: float) -> int:
    return max(2, round(number * share))
