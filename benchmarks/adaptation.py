"""Context adaptation: the context in a key-value cache against whole passes; on a GPU, candidates together."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

from benchmarks.language_model import CONTEXT, a_model, replies
from rejoinder.models.delorean.decoder import DeloreanTask, _token_penalties, rewrite_texts
from rejoinder.models.delorean.passes import RewriteTarget, backward_pass, forward_pass, initial_logits
from rejoinder.models.delorean.settings import DeloreanSettings
from rejoinder.models.device import count_threads
from rejoinder.models.language_model.model import LanguageModel
from rejoinder.models.language_model.prompt_format import context_ids

SETTINGS = DeloreanSettings(stop="never")
PLACES = 16


def uncached(model: LanguageModel, pulled: Any, banned: Any) -> Any:
    """A forward pass without a cache: at each place the network reads the context and all soft tokens before it."""
    import torch

    table = model.network.get_input_embeddings().weight
    before = context_ids(model.tokenizer, CONTEXT, model.join)
    read = table[[*before.start, *before.body]].expand(len(pulled), -1, -1)
    mixed: list[Any] = []
    for place in range(pulled.shape[1]):
        logits = model.network(inputs_embeds=read, use_cache=False, logits_to_keep=1).logits[:, -1]
        both = SETTINGS.mixing * logits.log_softmax(-1) + (1 - SETTINGS.mixing) * pulled[:, place]
        mixed.append(both.log_softmax(-1))
        soft = ((mixed[-1] + banned) / SETTINGS.temperature).softmax(-1) @ table
        read = torch.cat([read, soft[:, None]], dim=1)
    return torch.stack(mixed, dim=1)


def timed(work: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    spent = []
    for _ in range(rounds):
        begun = time.perf_counter()
        found = work()
        spent.append(time.perf_counter() - begun)
    return min(spent), found


def a_step(model: LanguageModel, rounds: int = 3) -> list[dict[str, Any]]:
    """Seconds for one backward and one forward pass of one candidate, all three ways in turn."""
    import torch

    torch.set_num_threads(count_threads())
    banned = _token_penalties(model)
    text = model.reply_ids(replies(1)[0])[:PLACES]
    target = RewriteTarget.from_texts([text], model.network.device)
    with torch.no_grad():
        reading = model.read(CONTEXT, PLACES)
        first = initial_logits(model.network, reading, target, SETTINGS, banned)
        ways = {
            "cached": lambda: forward_pass(
                model.network, reading, backward_pass(first, target, SETTINGS), SETTINGS, banned
            ),
            "read anew": lambda: forward_pass(
                model.network, model.read(CONTEXT, PLACES), backward_pass(first, target, SETTINGS), SETTINGS, banned
            ),
            "uncached": lambda: uncached(model, backward_pass(first, target, SETTINGS), banned),
        }
        seconds, found = {}, {}
        for name, way in ways.items():
            seconds[name], found[name] = timed(way, rounds)
    for name in ("read anew", "uncached"):
        if not torch.allclose(found[name].exp(), found["cached"].exp(), atol=1e-3):
            raise RuntimeError(f"the passes differ: cached and {name}")
    size = f"{len(text)} tokens after a context of {reading.mask.shape[1]}, {model.name}"
    entry = {"value": round(seconds["cached"], 2), "unit": "s", "at_most": True}
    return [
        {
            **entry,
            "name": f"an adaptation step with the context cached, {size}",
            "against": f"nothing cached, {seconds['uncached']:.2f} s",
            "ratio": round(seconds["cached"] / seconds["uncached"], 3),
            "floor": 0.65,
        },
        {
            **entry,
            "name": f"an adaptation step with the context kept from step to step, {size}",
            "against": f"the context read anew at each step, {seconds['read anew']:.2f} s",
            "ratio": round(seconds["cached"] / seconds["read anew"], 3),
            "floor": None,
        },
    ]


def together(model: LanguageModel, count: int = 8) -> dict[str, Any]:
    """Candidates a second on a GPU, in one batch against one by one."""
    jobs = [DeloreanTask(CONTEXT, text) for text in replies(count)]
    settings = dataclasses.replace(SETTINGS, iterations=3, extra=0)
    rewrite_texts(model, jobs, settings)  # the first pass on a GPU chooses its kernels
    alone, _ = timed(lambda: [rewrite_texts(model, [job], settings) for job in jobs], 2)
    batch, _ = timed(lambda: rewrite_texts(model, jobs, settings), 2)
    return {
        "name": f"{count} candidates adapted together on a GPU, {model.name}",
        "value": round(count / batch, 2),
        "unit": "candidates/s",
        "against": f"one by one, {count / alone:.2f} candidates/s",
        "ratio": round(alone / batch, 2),
        "floor": 3.0,
    }


def measure() -> list[dict[str, Any]]:
    """A step on the processor; a batch where there is a GPU."""
    import torch

    entries = a_step(a_model())
    if torch.cuda.is_available():
        entries.append(together(a_model("cuda")))
    return entries


if __name__ == "__main__":
    for one in measure():
        print(one)
