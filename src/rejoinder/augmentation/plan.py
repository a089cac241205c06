"""The plan of an augmentation: where references come from, and which are chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import get_args

from rejoinder import spec as specs
from rejoinder.augmentation.acceptance import Acceptance
from rejoinder.augmentation.retrieval import Retrieval
from rejoinder.errors import SpecError, nearest
from rejoinder.indexes.three_field.cache import ThreeFieldKind
from rejoinder.models.delorean.settings import DeloreanSettings

# Rather the true reply than one from another conversation: below it, a text is no reference (docs/augmenting.md).
LEAST_APTNESS = 0.5


@dataclass(frozen=True)
class AugmentationPlan:
    """How items get more references.

    ``corpus`` is a file or ``dataset:NAME``; without it, the dialogues that the items come from are searched.
    ``retrieved`` texts are retrieved for an item (by default, twice k), only from ``split`` if one is named. ``comet``
    is on, off, or None: on if what it needs is available; ``comet_model`` is a folder of ``rejoinder train comet``, or
    a sequence model of a hub (``comet``, or its folder). ``paraphrase`` is a method's spec. ``adapt`` is how many texts
    may be newly adapted by ``model``, besides those in the cache (None: no adaptation, 0: only those in the cache).
    ``k`` is the largest number of references that are added to an item. ``least_aptness`` is the aptness that a text
    must have; 0 or None: all are kept.
    """

    corpus: str | None = None
    retrieval: Retrieval | None = field(default_factory=Retrieval)
    retrieved: int | None = None
    split: str | None = None
    knowledge: tuple[str, ...] = ()
    skip_broken: bool = False
    comet: bool | None = None
    comet_model: str | None = None
    paraphrase: str | None = None
    paraphrases: int = 5
    adapt: int | None = None
    delorean: DeloreanSettings = field(default_factory=DeloreanSettings)
    acceptance: Acceptance = field(default_factory=Acceptance)
    model: str = "smollm2-135m"
    k: int = 20
    least_aptness: float | None = LEAST_APTNESS
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("k", 0), ("retrieved", 1), ("paraphrases", 1), ("adapt", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise SpecError(f"{name} must be at least {least}, found {value}")
        if self.least_aptness is not None and not 0 <= self.least_aptness <= 1:
            raise SpecError(f"least_aptness must be from 0 to 1, not {self.least_aptness:g}")
        if self.comet is False and self.comet_model is not None:
            raise SpecError(f"comet is off, but comet_model is {self.comet_model!r}; leave out one of the two")

    @property
    def wanted(self) -> int:
        """How many texts are retrieved for an item: by default twice k, so that there is a choice."""
        return self.retrieved or max(2 * self.k, 1)


def parse_retrieval(text: str) -> Retrieval | None:
    """Return the retrieval of a spec, a kind with parameters of ``Retrieval``: ``bm25(k1=0.9)``. None for ``none``."""
    spec = specs.parse_spec(text, "kind of retrieval")
    if spec.name == "none":
        return None
    if spec.name not in get_args(ThreeFieldKind):
        raise SpecError(
            f"there is no kind of retrieval {spec.name!r}; {nearest(spec.name, [*get_args(ThreeFieldKind), 'none'])}"
        )
    return specs.construct(Retrieval, specs.Spec(spec.name, {**spec.arguments, "kind": spec.name}))
