"""Texts that a model cannot read whole are counted and said, in memory and in a run."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_models

import rejoinder
from rejoinder.scoring.run import Plan, run


@pytest.mark.parametrize("spec", ["sentence_cosine(encoder='minilm')", "bertscore(encoder='minilm')"])
def test_a_text_that_is_too_long_is_counted_and_said(spec: str, tmp_path: Path, own_cache: Path) -> None:
    tiny_models.install(own_cache)
    texts = ["the cat sat", "the dog ran " * 60, "yes"]
    references = [["the cat"], ["the dog"], ["the mat " * 60]]
    in_memory = rejoinder.score(texts, references=references, metrics=[spec, "length"])
    assert in_memory.cut == {spec: 2}
    assert f"{spec}: 2 of 3 responses, or what they were read with, were cut" in str(in_memory)
    rejoinder.write(rejoinder.from_lists(texts, references=references), tmp_path / "chats.jsonl")
    kept = run([tmp_path / "chats.jsonl"], Plan.of([spec, "length"]), tmp_path / "run")
    assert kept.scores.cut == rejoinder.load(tmp_path / "run").cut == {spec: 2}
    assert [metric.get("cut") for metric in kept.about["metrics"]] == [2, None]
