"""The sources of a plan, opened: each proposes references for some items at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import TypeAlias

from rejoinder import spec as specs
from rejoinder.augmentation.commonsense.inference import GeneratedKnowledge, MatchedKnowledge, TailGenerator
from rejoinder.augmentation.commonsense.knowledge import read_knowledge
from rejoinder.augmentation.paraphrase import paraphrase as paraphrased
from rejoinder.augmentation.paraphrase import parse_paraphraser
from rejoinder.augmentation.plan import AugmentationPlan
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.retrieval import collect_dialogues
from rejoinder.errors import InputError
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import is_available
from rejoinder.types import Item, Record, Reference

Propose: TypeAlias = Callable[[Sequence[Item]], list[list[Proposal]]]
COMET_BASE = "smollm2-135m"  # the language model of our own COMET
OWN_KINDS = ("retrieval", "commonsense", "paraphrase")  # the kinds of source that are ours


@dataclass
class Sources:
    """What proposes references, and what is said of it: what a source holds, and what was left out."""

    propose: list[Propose] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def is_generated(reference: Reference) -> bool:
    """Whether a reference comes from a source of ours, and so from no person."""
    return reference.source.partition("/")[0] in OWN_KINDS


def open_sources(plan: AugmentationPlan, records: Sequence[Record] = ()) -> Sources:
    """The sources of a plan; ``records`` stand in where it names no corpus."""
    opened = Sources()
    if plan.retrieval is not None:
        _open_retrieval(opened, plan, records)
    if plan.knowledge:
        _open_knowledge(opened, plan)
    _open_comet(opened, plan)
    if plan.paraphrase is not None:
        _open_paraphrase(opened, plan, plan.paraphrase)
    if not opened.propose:
        raise InputError("no source of references is left; take retrieval, a knowledge file, comet or paraphrases")
    return opened


def _open_retrieval(opened: Sources, plan: AugmentationPlan, records: Sequence[Record]) -> None:
    retrieval = plan.retrieval
    if retrieval is None:
        return
    if plan.corpus is not None:
        source = retrieval.over_file(plan.corpus)
    else:
        dialogues = list(collect_dialogues(records))
        if not any(dialogue.turns for dialogue in dialogues):
            raise InputError("the items hold no turn that could be retrieved; name dialogues with --corpus FILE")
        source = retrieval.over(dialogues)
        opened.notes.append(
            f"no corpus is named, so {len(dialogues):,} dialogues of the file itself are searched; "
            "name dialogues like yours with --corpus FILE"
        )
    opened.propose.append(lambda items: source.propose(items, plan.wanted, plan.split))


def _open_knowledge(opened: Sources, plan: AugmentationPlan) -> None:
    from rejoinder.models.encoder.factory import load_encoder

    for name in plan.knowledge:
        knowledge = read_knowledge(name, skip_broken=plan.skip_broken)
        if knowledge.broken:
            opened.notes.append(f"{knowledge.name}: {knowledge.broken:,} broken lines were left out")
        opened.propose.append(MatchedKnowledge(knowledge, load_encoder("aptness")).infer)


def _open_comet(opened: Sources, plan: AugmentationPlan) -> None:
    if plan.comet is False:
        return
    if plan.comet is None and plan.comet_model is None and (lacking := _explain_missing_comet()):
        opened.notes.append(f"comet was left out: {lacking}")
        return
    if plan.comet is None:
        opened.notes.append("comet asks a language model about every item, which takes some seconds each on a CPU")
    source = GeneratedKnowledge(_generator(plan.comet_model))
    # No relation is better than another, so their first tails come first.
    opened.propose.append(lambda items: [_interleave(_group_by_relation(of_item)) for of_item in source.infer(items)])


def _explain_missing_comet() -> str | None:
    """What our own COMET would need, and how to get it."""
    if any(find_spec(module) is None for module in ("torch", "transformers")):
        return 'it needs torch; install it with: pip install "rejoinder[torch]"'
    if not is_available(MODELS[COMET_BASE]):
        return f"it needs the model {COMET_BASE!r}; get it with: rejoinder models get {COMET_BASE}"
    return None


def _generator(name: str | None) -> TailGenerator:
    from rejoinder.augmentation.store import kept_comet
    from rejoinder.models.comet.model import CARD_FILE, load_sequence_comet, open_comet

    if name is None:
        return kept_comet()
    return open_comet(name) if (Path(name) / CARD_FILE).is_file() else load_sequence_comet(name)


def _open_paraphrase(opened: Sources, plan: AugmentationPlan, spec: str) -> None:
    method = parse_paraphraser(spec)
    if "seed" not in specs.parse_spec(spec, "method of paraphrasing").arguments:
        method = replace(method, seed=plan.seed)  # type: ignore[type-var]

    def propose(items: Sequence[Item]) -> list[list[Proposal]]:
        """Paraphrases of what came with the items, each reference's first ones first; what we made gets none."""
        texts = [[r.text for r in item.references if not is_generated(r)] for item in items]
        written = iter(paraphrased([text for of_item in texts for text in of_item], method, plan.paraphrases))
        return [_interleave([next(written) for _ in of_item]) for of_item in texts]

    opened.propose.append(propose)


def _group_by_relation(proposals: Sequence[Proposal]) -> list[list[Proposal]]:
    """Inferences apart by their relation, which stands in the origin: event, relation, tail."""
    found: dict[str, list[Proposal]] = {}
    for proposal in proposals:
        found.setdefault((proposal.origin or "").split(" | ")[-2:][0], []).append(proposal)
    return list(found.values())


def _interleave(shelves: Sequence[Sequence[Proposal]]) -> list[Proposal]:
    return [one for row in zip_longest(*shelves) for one in row if one is not None]
