"""Context adaptation: proposals rewritten by DELOREAN to fit an item's context (SCARCE, section 2.2 and appendix B.2).

The original stays if rewriting harms it: if the language model does not find the new text more likely, or if it says
something entirely different.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from rejoinder import spec as specs
from rejoinder.augmentation.acceptance import Acceptance, AdaptationOutcome, ContextProposals, judge_adaptations
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.store import Adaptation, AdaptationStore, TextLikelihood, adaptation_key
from rejoinder.errors import SpecError
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import model_folder
from rejoinder.models.delorean.decoder import VERSION, DeloreanTask, rewrite_batches
from rejoinder.models.delorean.settings import DeloreanSettings
from rejoinder.models.language_model.folder import language_model_digest
from rejoinder.models.language_model.likelihood import TokenScores
from rejoinder.models.language_model.model import LanguageModel, model_batch_limits, open_language_model
from rejoinder.models.language_model.prompt_format import Join, check_join
from rejoinder.paths import cache_home

DEFAULT_MODEL = "smollm2-135m"


def adapt(
    pairs: ContextProposals,
    settings: DeloreanSettings | None = None,
    acceptance: Acceptance | None = None,
    *,
    model: str = DEFAULT_MODEL,
    join: Join = "newline",
    most: int | None = None,
    batch_size: int | None = None,
    other_stores: Sequence[Path] = (),
) -> list[AdaptationOutcome]:
    """Adapt each proposal to its context, and return the outcomes in order.

    - ``pairs``: contexts, each with a proposal.
    - ``settings``: of the decoding, e.g. from ``parse_delorean``.
    - ``acceptance``: when an adapted text replaces the proposal.
    - ``model``: the language model.
    - ``join``: how turns become one text.
    - ``most``: the largest number of texts to adapt that are not in the cache; the others stay as they are.
    - ``batch_size``: how many texts are adapted at once.
    - ``other_stores``: files with texts that were adapted on other machines.

    All results are cached under everything that decides them: the same call again computes nothing and needs no
    language model.

    >>> import rejoinder
    >>> outcomes = rejoinder.adapt([], rejoinder.augmentation.parse_delorean("delorean(iterations=5)"), most=0)
    >>> [outcome.verdict for outcome in outcomes]
    []
    """
    settings = settings or DeloreanSettings()
    jobs = [DeloreanTask(tuple(context), proposal.text) for context, proposal in pairs]
    # All values, not only those that differ from the current defaults.
    signature = f"{VERSION} {Path(model).name} {join} {settings!r}"
    store = AdaptationStore(_store_path(model), *other_stores)
    keys = [adaptation_key(signature, job) for job in jobs]
    missing = {key: job for key, job in zip(keys, jobs, strict=True) if store.get(key) is None}
    if most is not None:
        missing = dict(list(missing.items())[:most])
    if missing:
        _adapt_jobs(_open_model(model, join), missing, settings, store, batch_size)
    return judge_adaptations(pairs, [store.get(key) for key in keys], acceptance or Acceptance())


def adapt_proposals(pairs: ContextProposals, settings: DeloreanSettings | None = None) -> list[Proposal]:
    """Return the proposals, each adapted to its context if that improves it."""
    return [outcome.proposal for outcome in adapt(pairs, settings)]


def parse_delorean(text: str) -> DeloreanSettings:
    """Return the settings of a spec, such as ``delorean`` or ``delorean(mixing=0.9, iterations=10)``.

    - ``text``: the spec.

    >>> import rejoinder
    >>> rejoinder.augmentation.parse_delorean("delorean(iterations=5)").iterations
    5
    """
    spec = specs.parse_spec(text, "method of adaptation")
    if spec.name != "delorean":
        raise SpecError(f"there is no method of adaptation {spec.name!r}; known: delorean")
    return specs.construct(DeloreanSettings, spec)


def _adapt_jobs(
    model: LanguageModel,
    jobs: dict[str, DeloreanTask],
    settings: DeloreanSettings,
    store: AdaptationStore,
    batch_size: int | None,
) -> None:
    """Adapt texts batch by batch, and measure how likely they are before and after."""
    keys, tasks = list(jobs), list(jobs.values())
    for batch in rewrite_batches(model, tasks, settings, batch_size):
        texts = [(tasks[i], result.text) for i, result in batch]
        scored = [
            (job.context, text)
            for job, new_text in texts
            for text in (job.text, job.text if new_text is None else new_text)
        ]
        rows, tokens = model_batch_limits(model)
        scores = model.log_probabilities(*zip(*scored, strict=True), most_rows=rows, most_tokens=tokens)
        likelihoods = [_adaptation_likelihood(one) for one in scores]
        store.put(
            (keys[i], Adaptation(result.text, result.rounds, before, after))
            for (i, result), before, after in zip(batch, likelihoods[::2], likelihoods[1::2], strict=True)
        )


def _adaptation_likelihood(scores: TokenScores) -> TextLikelihood | None:
    return TextLikelihood(scores.mean, float(scores.log_probabilities.min())) if scores.tokens else None


def _open_model(name: str, join: Join) -> LanguageModel:
    model = open_language_model(name)
    return dataclasses.replace(model, join=check_join(model.tokenizer, join, name))


def _store_path(model: str) -> Path:
    """The path of a model's store; different models of the same name have different ones."""
    folder = model_folder(MODELS[model]) if model in MODELS else Path(model)
    here = (folder / "config.json").is_file()
    digest = language_model_digest(folder)[:12] if here else "absent"
    return cache_home() / "adaptations" / f"{Path(model).name}-{digest}.jsonl"
