"""Context adaptation of proposals: what is kept, what is accepted, and that a second call computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rejoinder import spec as specs
from rejoinder.augmentation import adaptation
from rejoinder.augmentation.acceptance import Acceptance, AdaptationOutcome, judge_adaptations
from rejoinder.augmentation.adaptation import adapt, adapt_proposals, parse_delorean
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.store import Adaptation, AdaptationStore, TextLikelihood, adaptation_key
from rejoinder.errors import RejoinderError, SpecError
from rejoinder.models.delorean.decoder import DeloreanTask
from rejoinder.models.delorean.settings import DeloreanSettings
from rejoinder.types import Turn

CONTEXT = (Turn("how was the train"), Turn("it was fast"))
QUICK = DeloreanSettings(iterations=2, updates=2, extra=2)
TEXTS = ["the cat sat on the mat", "i like the night train very much", "", "ok"]


def pairs(texts: Sequence[str] = TEXTS) -> list[tuple[tuple[Turn, ...], Proposal]]:
    return [(CONTEXT, Proposal(text, "retrieval", 1.5, past=("what about the dog",))) for text in texts]


@pytest.fixture
def tiny(own_cache: Path) -> Path:
    """A tiny language model under the name of the embedded one."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    import tiny_language_model

    return tiny_language_model.install(own_cache)


def test_every_proposal_comes_back_in_order_with_what_it_was_made_of(tiny: Path) -> None:
    found = adapt(pairs(), QUICK, Acceptance(gain=-100, drop=100, similarity=-1))
    assert len(found) == len(TEXTS)
    for text, one in zip(TEXTS, found, strict=True):
        assert (one.proposal.source, one.proposal.score, one.proposal.past) == (
            *("retrieval", 1.5), ("what about the dog",)
        )  # fmt: skip
        if one.verdict == "adapted":
            assert one.proposal.origin == text != one.proposal.text == one.text
        else:
            assert (one.proposal.text, one.proposal.origin) == (text, None)
    assert any(one.verdict == "adapted" for one in found)
    assert found[2].verdict == "left alone"
    assert [one.proposal for one in adapt(pairs(), QUICK)] == adapt_proposals(pairs(), QUICK)


def test_a_second_call_finishes_from_the_cache(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = adapt(pairs(), QUICK)

    def not_again(*_: Any) -> None:
        raise AssertionError("the language model was opened")

    monkeypatch.setattr(adaptation, "_open_model", not_again)
    assert adapt(pairs(), QUICK) == first
    assert adapt(pairs()[::-1], QUICK) == first[::-1]
    with pytest.raises(AssertionError, match="was opened"):
        adapt(pairs(), DeloreanSettings(iterations=1, extra=2))


def test_a_killed_command_goes_on_where_it_stopped(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = adapt(pairs(), QUICK, batch_size=1)
    (file,) = (tiny.parents[1] / "adaptations").iterdir()
    lines = [line for line in file.read_bytes().splitlines() if line]
    file.write_bytes(lines[0] + b"\n" + lines[1] + b"\n" + lines[2][:20])
    asked = []
    plain = adaptation.rewrite_batches

    def counting(model: Any, jobs: Any, *rest: Any) -> Any:
        asked.extend(jobs)
        return plain(model, jobs, *rest)

    monkeypatch.setattr(adaptation, "rewrite_batches", counting)
    assert adapt(pairs(), QUICK, batch_size=1) == whole
    assert len(asked) == 2
    assert adapt(pairs(), QUICK, batch_size=1) == whole
    assert len(asked) == 2, "what follows a torn line is found again"


def test_at_most_so_many_are_adapted_and_the_others_wait(tiny: Path) -> None:
    found = adapt(pairs(), QUICK, most=1)
    assert [one.verdict == "not tried" for one in found] == [False, True, True, True]
    assert [one.proposal.text for one in found[1:]] == TEXTS[1:]
    assert "not tried" not in {one.verdict for one in adapt(pairs(), QUICK, most=3)}


def test_results_other_stores_serve_without_a_model(tiny: Path, tmp_path: Path, own_cache: Path) -> None:
    first = adapt(pairs(), QUICK)
    (file,) = (own_cache / "adaptations").iterdir()
    elsewhere = file.rename(tmp_path / "made.jsonl")
    tiny.rename(tmp_path / "away")
    assert adapt(pairs(), QUICK, other_stores=[elsewhere]) == first
    with pytest.raises(RejoinderError, match="smollm2-135m"):
        adapt(pairs(), QUICK)
    with pytest.raises(RejoinderError, match="cannot be read"):
        adapt(pairs(), QUICK, other_stores=[tmp_path / "nothing"])


def test_settings_have_a_spec() -> None:
    settings = DeloreanSettings(mixing=0.9, iterations=10)
    assert parse_delorean("delorean(iterations=10, mixing=0.9)") == settings
    assert parse_delorean(specs.format_spec("delorean", settings)) == settings
    with pytest.raises(SpecError, match="known: delorean"):
        parse_delorean("gibbs")
    with pytest.raises(SpecError, match="mixing must be from 0 to 1"):
        parse_delorean("delorean(mixing=2)")


def judged(text: str, new: str | None, gain: float = 1.0, worst: float = -8.0, **acceptance: Any) -> AdaptationOutcome:
    """What is made of an adaptation, without a language model."""
    kept = Adaptation(new, 3, TextLikelihood(-3.0, -9.0), TextLikelihood(-3.0 + gain, worst))
    (outcome,) = judge_adaptations([(CONTEXT, Proposal(text, "retrieval"))], [kept], Acceptance(**acceptance))
    return outcome


@pytest.mark.parametrize(
    ("text", "new", "verdict"),
    [
        ("I like the night train .", "I like the fast train .", "adapted"),
        ("I like the night train .", "i like the night train", "unchanged"),
        ("I like the night train .", "I like the fast train and", "breaks off"),
        ("I like the train .", "I like the train, I like the train .", "repeats itself"),
        ("The train was fast .", "It was fast .", "repeats the context"),
        ("I like the night train .", "Bananas are cheap at this shop .", "too different"),
        ("I like the night train .", None, "left alone"),
        ("I like the night train .", "", "left alone"),
    ],
)
def test_the_original_stays_where_adaptation_harms_it(text: str, new: str | None, verdict: str) -> None:
    found = judged(text, new)
    assert found.verdict == verdict
    if verdict == "adapted":
        assert (found.proposal.text, found.proposal.origin) == (new, text)
    else:
        assert (found.proposal.text, found.proposal.origin) == (text, None)


def test_a_text_that_is_less_likely_than_the_original_is_not_taken() -> None:
    text, new = "I like the night train .", "I like the fast train ."
    assert judged(text, new, gain=-0.1).verdict == "less likely"
    assert judged(text, new, gain=0.1).verdict == "adapted"
    assert judged(text, new, worst=-10.0).verdict == "stumbles"
    assert judged(text, new, similarity=0.999).verdict == "too different"


def test_a_damaged_line_is_passed_over(tmp_path: Path) -> None:
    store = AdaptationStore(tmp_path / "kept.jsonl")
    store.put([("a", Adaptation("x", 1, TextLikelihood(-1.0, -2.0), TextLikelihood(-0.5, -1.0)))])
    with store.path.open("ab") as file:
        file.write(b'{"key": "b", "text"')
    again = AdaptationStore(store.path)
    again.put([("c", Adaptation(None))])
    with store.path.open("ab") as file:
        file.write(b'[1]\n{"key": "d", "other": 1}\n{"key": "e", "before": 3}\n')
    third = AdaptationStore(store.path)
    assert third.get("a") == Adaptation("x", 1, TextLikelihood(-1.0, -2.0), TextLikelihood(-0.5, -1.0))
    assert third.get("c") == Adaptation(None)
    assert third.get("b") is third.get("d") is third.get("e") is None


def test_keys_tell_apart_whatever_decides_a_text() -> None:
    base = DeloreanTask((Turn("a", "Ann"), Turn("b")), "c")
    jobs = [
        base,
        DeloreanTask((Turn("a", "Bob"), Turn("b")), "c"),
        DeloreanTask((Turn("a", "Ann"),), "bc"),
        DeloreanTask((), "c"),
        DeloreanTask((), "\ud800"),
    ]
    keys = {adaptation_key("s", job) for job in jobs} | {adaptation_key("t", base)}
    assert len(keys) == len(jobs) + 1
