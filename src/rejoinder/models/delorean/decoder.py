"""DELOREAN decoding (Qin et al. 2020, counterfactual setup; SCARCE, appendix B.2): a text rewritten to fit a context.

The output is a sequence of distributions over tokens, as long as the text. A backward pass pulls them towards the text
by the gradient of the content loss, the cross-entropy of the text; a forward pass reads them after the context, one by
one, and mixes in what the language model expects there. No weights change. The context stays in a key-value cache, and
texts for different contexts are processed together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rejoinder.models.delorean.passes import RewriteTarget, rewrite_rows
from rejoinder.models.delorean.settings import DeloreanSettings
from rejoinder.models.language_model.model import LanguageModel
from rejoinder.models.language_model.network import read_token_rows
from rejoinder.models.language_model.prompt_format import ContextIds, Ids, context_ids
from rejoinder.models.language_model.sentence_end import complete_sentences, line_stop_ids
from rejoinder.types import Turn

if TYPE_CHECKING:
    import torch

VERSION = 1  # of the arithmetic: another version gives other texts
MAX_TOKENS = 32_768  # of contexts and outputs at once, padding included: this limits the key-value cache
MAX_LOGITS = 1 << 28  # in the logits of all outputs: a gigabyte, of which about eight copies exist at a time
BATCH_ROWS = {"cuda": 256, "cpu": 8}  # on two cores, more rows at once gain nothing


class DeloreanTask(NamedTuple):
    """A text and the context that it should fit."""

    context: tuple[Turn, ...]
    text: str


class DeloreanResult(NamedTuple):
    """The result of a task: the text, the number of rounds, and the content loss before and after each backward pass.

    The loss is in nats per token. The result is empty (text None) if the text could not be adapted: it has no tokens or
    is too long.
    """

    text: str | None = None
    rounds: int = 0
    loss_before: tuple[float, ...] = ()
    loss_after: tuple[float, ...] = ()


def rewrite_texts(
    model: LanguageModel,
    jobs: Sequence[DeloreanTask],
    settings: DeloreanSettings | None = None,
    batch_size: int | None = None,
) -> list[DeloreanResult]:
    """Return the texts, each rewritten to fit its context, in order."""
    results = {i: result for batch in rewrite_batches(model, jobs, settings, batch_size) for i, result in batch}
    return [results[i] for i in range(len(jobs))]


def rewrite_batches(
    model: LanguageModel,
    jobs: Sequence[DeloreanTask],
    settings: DeloreanSettings | None = None,
    batch_size: int | None = None,
) -> Iterator[list[tuple[int, DeloreanResult]]]:
    """Yield batches of results, each with the index of its task; texts of similar length are processed together.

    Neither the batch nor its order changes a result beyond rounding. The default ``batch_size`` is 256 on a GPU,
    otherwise 8.
    """
    settings = settings or DeloreanSettings()
    texts = [model.reply_ids(job.text) for job in jobs]
    contexts = _context_ids(model, jobs)
    longest = min(settings.most_tokens, model.window - settings.extra - 1)
    if unsuitable := [i for i, ids in enumerate(texts) if not 0 < len(ids) <= longest]:
        yield [(i, DeloreanResult()) for i in unsuitable]
    fitted_contexts = {
        i: contexts[i].fit(model.window - len(ids) - settings.extra)
        for i, ids in enumerate(texts)
        if 0 < len(ids) <= longest
    }
    # The positions of an output are read one after the other, so their number counts more than the context's length.
    rows = sorted(fitted_contexts, key=lambda i: (-len(texts[i]), -len(fitted_contexts[i]), i))
    size = batch_size or BATCH_ROWS.get(model.network.device.type, 8)
    penalties = _token_penalties(model)
    while rows:
        width = max(len(fitted_contexts[i]) for i in rows[:size]) + len(texts[rows[0]])
        numbers = len(texts[rows[0]]) * len(penalties)
        batch = rows[: max(1, min(size, MAX_TOKENS // width, MAX_LOGITS // numbers))]
        rows = rows[len(batch) :]
        results = _adapt_batch(
            model, [fitted_contexts[i] for i in batch], [texts[i] for i in batch], settings, penalties
        )
        yield list(zip(batch, results, strict=True))


def _adapt_batch(
    model: LanguageModel,
    contexts: Sequence[Ids],
    texts: Sequence[Ids],
    settings: DeloreanSettings,
    penalties: torch.Tensor,
) -> list[DeloreanResult]:
    """Return texts rewritten together to fit their contexts; a context that occurs many times is read once."""
    import torch

    device = model.network.device
    distinct = {context: row for row, context in enumerate(dict.fromkeys(contexts))}
    with torch.no_grad():
        rows = torch.tensor([distinct[context] for context in contexts], device=device)
        reading = read_token_rows(model.network, list(distinct)).rows(rows)
        outputs = rewrite_rows(model.network, reading, RewriteTarget.from_texts(texts, device), settings, penalties)
    last = [output.ids[-1][: len(text)] for output, text in zip(outputs, texts, strict=True)]
    new_texts = complete_sentences(model, contexts, last, settings.extra)
    return [
        DeloreanResult(text, len(output.ids), tuple(output.before), tuple(output.after))
        for text, output in zip(new_texts, outputs, strict=True)
    ]


def _context_ids(model: LanguageModel, jobs: Sequence[DeloreanTask]) -> list[ContextIds]:
    ids_by_context = {turns: context_ids(model.tokenizer, turns, model.join) for turns in {job.context for job in jobs}}
    return [ids_by_context[job.context] for job in jobs]


def _token_penalties(model: LanguageModel) -> torch.Tensor:
    """Return what is added to logits: an output has the length of its text, so tokens that end a text are excluded."""
    import torch

    weights = model.network.get_input_embeddings().weight
    penalties = torch.zeros(len(weights), device=weights.device)
    special_ids = [i for i in model.tokenizer.all_special_ids if i < len(weights)]
    penalties[[*line_stop_ids(model), *special_ids, *range(len(model.tokenizer), len(weights))]] = -1e9
    return penalties
