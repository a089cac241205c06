"""One reference becomes many (SCARCE): proposals from several places, adapted to the context, and a choice of them."""

from typing import TYPE_CHECKING

from rejoinder.exports import export_lazily

if TYPE_CHECKING:
    from rejoinder.augmentation.acceptance import Acceptance as Acceptance
    from rejoinder.augmentation.adaptation import parse_delorean as parse_delorean
    from rejoinder.augmentation.commonsense.knowledge import read_knowledge as read_knowledge
    from rejoinder.augmentation.inference import GeneratedKnowledge as GeneratedKnowledge
    from rejoinder.augmentation.inference import MatchedKnowledge as MatchedKnowledge
    from rejoinder.augmentation.plan import AugmentationPlan as AugmentationPlan
    from rejoinder.augmentation.retrieval import Retrieval as Retrieval
    from rejoinder.augmentation.summary import AugmentationTally as AugmentationTally

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "acceptance": ("Acceptance",),
        "adaptation": ("parse_delorean",),
        "commonsense.knowledge": ("read_knowledge",),
        "inference": ("GeneratedKnowledge", "MatchedKnowledge"),
        "plan": ("AugmentationPlan",),
        "retrieval": ("Retrieval",),
        "summary": ("AugmentationTally",),
    },
)
