"""DELOREAN decoding: against a step-by-step implementation with autograd and whole passes, on tiny random models."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import tiny_language_model  # noqa: E402

from rejoinder.errors import SpecError  # noqa: E402
from rejoinder.models.delorean import passes  # noqa: E402
from rejoinder.models.delorean.decoder import (  # noqa: E402
    DeloreanResult,
    DeloreanTask,
    _token_penalties,
    rewrite_batches,
    rewrite_texts,
)
from rejoinder.models.delorean.passes import RewriteTarget, backward_pass, content_loss, forward_pass  # noqa: E402
from rejoinder.models.delorean.settings import DeloreanSettings  # noqa: E402
from rejoinder.models.language_model.model import LanguageModel, load_language_model  # noqa: E402
from rejoinder.models.language_model.prompt_format import context_ids  # noqa: E402
from rejoinder.models.language_model.sentence_end import cut_at_sentence, ends_sentence  # noqa: E402
from rejoinder.types import Turn  # noqa: E402

LONG = (
    Turn("what do you think about the train"),
    Turn("it leaves at nine"),
    Turn("the cat and the dog sat on the mat"),
)
JOBS = [
    DeloreanTask((Turn("how do you do"),), "fine thanks and you"),
    DeloreanTask(LONG, "the dog ran fast and the cat sat"),
    DeloreanTask(LONG, "so much fun"),
    DeloreanTask((), "no, not very much, no."),
    DeloreanTask((Turn("can you help"), Turn("yes")), "ok"),
]
GENTLE = DeloreanSettings(iterations=3, updates=4, step_size=0.01, mixing=0.6, extra=4)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    folder = tmp_path_factory.mktemp("language") / "tiny"
    tiny_language_model.write_language_model(folder)
    return load_language_model(folder, device="cpu", dtype="float64", join="newline")


def by_hand(model: LanguageModel, job: DeloreanTask, settings: DeloreanSettings) -> dict[str, Any]:
    """The algorithm as the papers tell it: one text, whole passes, no cache, gradients from autograd."""
    network = model.network
    table = network.get_input_embeddings().weight
    before = context_ids(model.tokenizer, job.context, model.join)
    context = table[[*before.start, *before.body]]
    target = torch.tensor(model.reply_ids(job.text))
    banned = _token_penalties(model).double()

    def expected(vectors: list[Any]) -> Any:
        """Log-probabilities of the next token after the context and some vectors."""
        whole = torch.cat([context, *[vector[None] for vector in vectors]])[None]
        return network(inputs_embeds=whole, use_cache=False).logits[0, -1].double().log_softmax(-1)

    def forwards(pulled: Any) -> Any:
        vectors: list[Any] = []
        mixed = []
        for row in pulled:
            both = settings.mixing * expected(vectors) + (1 - settings.mixing) * row
            mixed.append(both.log_softmax(-1))
            vectors.append(((mixed[-1] + banned) / settings.temperature).softmax(-1) @ table)
        return torch.stack(mixed)

    tokens: list[int] = []
    rows: list[Any] = []
    for _ in target:
        rows.append(expected([table[token] for token in tokens]))
        tokens.append(int((rows[-1] + banned).argmax()) if settings.start == "greedy" else int(target[len(tokens)]))
    logits = torch.stack(rows)
    if settings.start == "original":
        logits = forwards(logits)
    seen = [(logits + banned).argmax(-1)]
    losses = []
    for _ in range(settings.iterations):
        losses.append([float(torch.nn.functional.cross_entropy(logits, target))])
        for _ in range(settings.updates):
            logits = logits.detach().requires_grad_()
            torch.nn.functional.cross_entropy(logits, target).backward()
            assert logits.grad is not None
            step = settings.step_size * logits.detach().norm() * logits.grad / logits.grad.norm()
            logits = (logits.detach() - step).log_softmax(-1)
        losses[-1].append(float(torch.nn.functional.cross_entropy(logits, target)))
        logits = forwards(logits)
        seen.append((logits + banned).argmax(-1))
        if settings.stop == "unchanged" and torch.equal(seen[-1], seen[-2]):
            break
    return {"ids": seen[1:], "losses": losses, "logits": logits}


@pytest.mark.parametrize("start", ["greedy", "original"])
@pytest.mark.parametrize("stop", ["unchanged", "never"])
def test_it_is_the_algorithm_step_by_step(model: LanguageModel, start: Any, stop: Any) -> None:
    settings = dataclasses.replace(GENTLE, start=start, stop=stop, extra=0)
    found = rewrite_texts(model, JOBS, settings)
    for job, one in zip(JOBS, found, strict=True):
        expected = by_hand(model, job, settings)
        assert one.rounds == len(expected["ids"])
        np.testing.assert_allclose(np.transpose([one.loss_before, one.loss_after]), expected["losses"], atol=1e-6)
        text = model.tokenizer.decode(expected["ids"][-1], skip_special_tokens=True)
        assert one.text == " ".join(text.split())


def test_a_backward_pass_lowers_the_content_loss(model: LanguageModel) -> None:
    for one in rewrite_texts(model, JOBS, dataclasses.replace(GENTLE, stop="never")):
        assert one.rounds == GENTLE.iterations
        assert all(after < before for before, after in zip(one.loss_before, one.loss_after, strict=True))
        assert one.loss_before[-1] < one.loss_before[0], "what the passes leave is nearer to the text than the start"


def test_each_gradient_step_lowers_the_content_loss() -> None:
    random = torch.Generator().manual_seed(0)
    logits = torch.randn((2, 4, 50), generator=random).log_softmax(-1)
    target = RewriteTarget.from_texts([(1, 2, 3, 4), (5, 6)], torch.device("cpu"))
    losses = [content_loss(logits, target)]
    for _ in range(5):
        logits = backward_pass(logits, target, DeloreanSettings(updates=1, step_size=0.01))
        losses.append(content_loss(logits, target))
    assert bool((torch.stack(losses).diff(dim=0) < 0).all())


def test_a_text_depends_neither_on_its_batch_nor_on_the_order(model: LanguageModel) -> None:
    together = rewrite_texts(model, JOBS, GENTLE)
    alone = [rewrite_texts(model, [job], GENTLE)[0] for job in JOBS]
    pairwise = rewrite_texts(model, JOBS[::-1], GENTLE, batch_size=2)[::-1]
    for one, other, third in zip(together, alone, pairwise, strict=True):
        assert one.text == other.text == third.text
        np.testing.assert_allclose(one.loss_after, other.loss_after, atol=1e-6)
        np.testing.assert_allclose(one.loss_after, third.loss_after, atol=1e-6)


def test_a_forward_pass_from_the_cache_is_one_of_whole_passes(model: LanguageModel) -> None:
    """One forward pass over soft outputs, against passes that read the context anew at each place."""
    reading = model.read(LONG, room=8)
    banned = _token_penalties(model).double()
    random = torch.Generator().manual_seed(1)
    size = (1, 6, model.network.config.vocab_size)
    pulled = torch.randn(size, generator=random, dtype=torch.float64).log_softmax(-1)
    with torch.no_grad():
        found = forward_pass(model.network, reading, pulled, GENTLE, banned)[0]
        before = context_ids(model.tokenizer, LONG, model.join)
        table = model.network.get_input_embeddings().weight
        whole = table[[*before.start, *before.body]][None]
        for place in range(6):
            expected = model.network(inputs_embeds=whole, use_cache=False).logits[0, -1].log_softmax(-1)
            mixed = (GENTLE.mixing * expected + (1 - GENTLE.mixing) * pulled[0, place]).log_softmax(-1)
            np.testing.assert_allclose(found[place], mixed, atol=1e-6)
            soft = ((mixed + banned) / GENTLE.temperature).softmax(-1) @ table
            whole = torch.cat([whole, soft[None, None]], dim=1)


def test_all_weight_on_the_text_gives_the_text_and_all_on_the_model_its_own(model: LanguageModel) -> None:
    strong = dataclasses.replace(GENTLE, mixing=0.0, step_size=0.5, extra=0)
    assert [one.text for one in rewrite_texts(model, JOBS, strong)] == [job.text for job in JOBS]
    free = dataclasses.replace(GENTLE, mixing=1.0, temperature=1e-4, extra=0)
    greedy = rewrite_texts(model, JOBS, dataclasses.replace(free, iterations=1))
    assert [one.text for one in rewrite_texts(model, JOBS, free)] == [one.text for one in greedy]
    assert all(one.rounds == 1 for one in greedy), "the greedy start is where such passes stay"


def test_a_stable_text_stops_and_leaves_the_batch(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = []
    plain = passes.forward_pass

    def counting(network: Any, reading: Any, pulled: Any, *rest: Any) -> Any:
        rows.append(len(pulled))
        return plain(network, reading, pulled, *rest)

    monkeypatch.setattr(passes, "forward_pass", counting)
    settings = dataclasses.replace(GENTLE, iterations=12, extra=0)
    found = rewrite_texts(model, JOBS, settings)
    assert sum(rows) == sum(one.rounds for one in found)
    assert len(rows) == max(one.rounds for one in found)


def test_texts_without_tokens_and_texts_that_are_too_long_are_left_alone(model: LanguageModel) -> None:
    jobs = [
        DeloreanTask(LONG, ""),
        DeloreanTask(LONG, "  \n "),
        DeloreanTask(LONG, "the cat " * 40),
        DeloreanTask(LONG, "the cat sat"),
    ]
    *left, done = rewrite_texts(model, jobs, dataclasses.replace(GENTLE, most_tokens=20))
    assert left == [DeloreanResult()] * 3
    assert done.text
    assert rewrite_texts(model, []) == []


def test_a_context_beyond_the_window_loses_its_beginning(model: LanguageModel) -> None:
    small = dataclasses.replace(model, window=40)
    end = Turn("the cat and the dog sat on the mat")
    long, longer = ((*[Turn("a very much " * n)] * 8, end) for n in (20, 40))
    first, second = rewrite_texts(small, [DeloreanTask(long, "it is so"), DeloreanTask(longer, "it is so")], GENTLE)
    assert first == second
    assert first.text
    assert rewrite_texts(small, [DeloreanTask(long, "the " * 60)], GENTLE) == [DeloreanResult()], (
        "no room for it even alone"
    )


def test_nothing_ends_an_output_early(model: LanguageModel) -> None:
    found = rewrite_texts(model, JOBS, dataclasses.replace(GENTLE, mixing=1.0, extra=0))
    assert not any(re.search(r"<\||\n", one.text or "") for one in found)
    banned = _token_penalties(model)
    assert float(banned[model.tokenizer.eos_token_id]) < -1e8
    assert float(banned[model.reply_ids("cat")[0]]) == 0


def test_a_text_that_breaks_off_may_end_its_sentence() -> None:
    assert ends_sentence("Yes . I do .")
    assert ends_sentence('He said "no!"')
    assert not ends_sentence("Yes . I do")
    assert not ends_sentence("")
    assert cut_at_sentence("I came . You saw . We", 8) == "I came . You saw ."
    assert cut_at_sentence("I came", 0) is None


def test_batches_hold_every_job_once(model: LanguageModel) -> None:
    batches = list(rewrite_batches(model, JOBS, GENTLE, batch_size=2))
    assert sorted(i for batch in batches for i, _ in batch) == list(range(len(JOBS)))
    assert max(map(len, batches)) == 2


@pytest.mark.parametrize(
    "wrong",
    [{"iterations": 0}, {"updates": 0}, {"step_size": 0.0}, {"mixing": 1.5}, {"temperature": 0.0}, {"extra": -1}],
)
def test_wrong_settings_are_a_users_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="delorean: "):
        DeloreanSettings(**wrong)


def test_no_weight_is_changed(model: LanguageModel, tmp_path: Path) -> None:
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    rewrite_texts(model, JOBS[:2], GENTLE)
    assert all(torch.equal(before[name], value) for name, value in model.network.state_dict().items())
