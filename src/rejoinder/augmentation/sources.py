"""The sources of a plan, opened: each proposes references for a batch of items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import TypeAlias

from rejoinder import spec as specs
from rejoinder.augmentation.commonsense.knowledge import read_knowledge
from rejoinder.augmentation.inference import GeneratedKnowledge, MatchedKnowledge, TailGenerator
from rejoinder.augmentation.paraphrase import paraphrase as paraphrased
from rejoinder.augmentation.paraphrase import parse_paraphraser
from rejoinder.augmentation.plan import AugmentationPlan
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.retrieval import collect_dialogues
from rejoinder.errors import InputError
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import is_model_available
from rejoinder.types import Item, Record, Reference

Propose: TypeAlias = Callable[[Sequence[Item]], list[list[Proposal]]]
COMET_BASE = "smollm2-135m"  # the base model of the package's own COMET
OWN_KINDS = ("retrieval", "commonsense", "paraphrase")  # the kinds of source of this package


@dataclass
class OpenedSources:
    """Functions that propose references, and notes for the user, such as what was left out."""

    propose: list[Propose] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def is_generated_reference(reference: Reference) -> bool:
    """Whether a reference comes from a source of this package, not from a person."""
    return reference.source.partition("/")[0] in OWN_KINDS


def open_sources(plan: AugmentationPlan, records: Sequence[Record] = ()) -> OpenedSources:
    """Open the sources of a plan; ``records`` are searched if it names no corpus."""
    sources = OpenedSources()
    if plan.retrieval is not None:
        _open_retrieval(sources, plan, records)
    if plan.knowledge:
        _open_knowledge(sources, plan)
    _open_comet(sources, plan)
    if plan.paraphrase is not None:
        _open_paraphrase(sources, plan, plan.paraphrase)
    if not sources.propose:
        raise InputError("no source of references is left; use retrieval, a knowledge file, comet or paraphrases")
    return sources


def _open_retrieval(sources: OpenedSources, plan: AugmentationPlan, records: Sequence[Record]) -> None:
    retrieval = plan.retrieval
    if retrieval is None:
        return
    if plan.corpus is not None:
        source = retrieval.over_file(plan.corpus)
    else:
        dialogues = list(collect_dialogues(records))
        if not any(dialogue.turns for dialogue in dialogues):
            raise InputError("the items have no turns to retrieve from; name a corpus of dialogues")
        source = retrieval.over(dialogues)
        sources.notes.append(
            f"no corpus is named, so {len(dialogues):,} dialogues of the file itself are searched; "
            "better name a corpus of dialogues like yours"
        )
    sources.propose.append(lambda items: source.propose(items, plan.wanted, plan.split))


def _open_knowledge(sources: OpenedSources, plan: AugmentationPlan) -> None:
    from rejoinder.models.encoder.centred import load_centred_encoder

    for name in plan.knowledge:
        knowledge = read_knowledge(name, skip_broken=plan.skip_broken)
        if knowledge.broken:
            lines = "line was" if knowledge.broken == 1 else "lines were"
            sources.notes.append(f"{knowledge.name}: {knowledge.broken:,} unreadable {lines} left out")
        sources.propose.append(MatchedKnowledge(knowledge, load_centred_encoder("aptness")).infer)


def _open_comet(sources: OpenedSources, plan: AugmentationPlan) -> None:
    if plan.comet is False:
        return
    if plan.comet is None and plan.comet_model is None and (missing := _explain_missing_comet()):
        sources.notes.append(f"comet was left out: {missing}")
        return
    if plan.comet is None:
        sources.notes.append("comet runs a language model on every item, which takes some seconds per item on a CPU")
    source = GeneratedKnowledge(_open_tail_generator(plan.comet_model))
    # No relation is better than another, so the first tails of all relations come first.
    sources.propose.append(
        lambda items: [_interleave_proposals(_group_by_relation(of_item)) for of_item in source.infer(items)]
    )


def _explain_missing_comet() -> str | None:
    """Return what the package's own COMET lacks, and how to get it; None if it can run."""
    if any(find_spec(module) is None for module in ("torch", "transformers")):
        return 'it needs torch; install it with: pip install "rejoinder[torch]"'
    if not is_model_available(MODELS[COMET_BASE]):
        return f"it needs the model {COMET_BASE!r}; get it with: rejoinder models get {COMET_BASE}"
    return None


def _open_tail_generator(name: str | None) -> TailGenerator:
    from rejoinder.augmentation.store import cached_comet
    from rejoinder.models.comet.model import CARD_FILE, load_sequence_comet, open_comet

    if name is None:
        return cached_comet()
    return open_comet(name) if (Path(name) / CARD_FILE).is_file() else load_sequence_comet(name)


def _open_paraphrase(sources: OpenedSources, plan: AugmentationPlan, spec: str) -> None:
    method = parse_paraphraser(spec)
    if "seed" not in specs.parse_spec(spec, "method of paraphrasing").arguments:
        method = replace(method, seed=plan.seed)  # type: ignore[type-var]

    def propose(items: Sequence[Item]) -> list[list[Proposal]]:
        """Return paraphrases of the items' own references, the first ones of each reference first."""
        texts = [[r.text for r in item.references if not is_generated_reference(r)] for item in items]
        paraphrases = iter(paraphrased([text for of_item in texts for text in of_item], method, plan.paraphrases))
        return [_interleave_proposals([next(paraphrases) for _ in of_item]) for of_item in texts]

    sources.propose.append(propose)


def _group_by_relation(proposals: Sequence[Proposal]) -> list[list[Proposal]]:
    """Group inferences by their relation, which is part of the origin: event, relation, tail."""
    groups: dict[str, list[Proposal]] = {}
    for proposal in proposals:
        groups.setdefault((proposal.origin or "").split(" | ")[-2:][0], []).append(proposal)
    return list(groups.values())


def _interleave_proposals(lists: Sequence[Sequence[Proposal]]) -> list[Proposal]:
    return [one for row in zip_longest(*lists) for one in row if one is not None]
