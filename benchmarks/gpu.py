"""``python -m benchmarks.gpu [-o FILE]``: what models compute a second on the CPU and on the GPU, and how they differ.

Each device is measured in a process of its own, asked for as a user does, with REJOINDER_DEVICE. Without a GPU the CPU
is measured alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.encoding import folder_of_minilm, made_up
from benchmarks.language_model import CONTEXT, replies, save_random
from rejoinder.models import device
from rejoinder.models.catalog.manifest import ModelMissingError, require_model
from rejoinder.models.device import Device, count_threads

COMPARED = {"aptness": 400, "encoder": 2_000, "language model": 20}  # rows, which the CPU computes too
MORE = {"aptness": 50, "encoder": 40, "language model": 100}  # as many times that on a GPU
STEPS: dict[Device, int] = {"cpu": 1, "cuda": 40}
DECIMALS = 4
Measured = dict[str, Any]


def dialogues(count: int) -> tuple[list[list[str]], list[str]]:
    """So many contexts of one to five turns, each with a reply, all made up."""
    texts = made_up(2 * count)
    turns = np.random.default_rng(1).integers(1, 6, count)
    starts = np.random.default_rng(2).integers(0, len(texts) - 6, count)
    contexts = [texts[start : start + n] for start, n in zip(starts, turns, strict=True)]
    return contexts, texts[:count]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    found = work()  # every part hands back arrays of the CPU, so nothing is under way afterwards
    return time.perf_counter() - begun, found


def rows_of(part: str, on: Device) -> int:
    return COMPARED[part] * (MORE[part] if on == "cuda" else 1)


def aptness(on: Device) -> tuple[list[Measured], dict[str, Any]]:
    """Replies a second of both networks of `aptness`, nothing cached."""
    from rejoinder.models.aptness.model import open_aptness

    model = open_aptness()
    contexts, said = dialogues(COMPARED["aptness"] * MORE["aptness"])
    n = rows_of("aptness", on)
    contexts, said = contexts[:n], said[:n]
    tokens = sum(len(t) for row in model._tokens(contexts, said)[0] for t in row)
    tokens += sum(map(len, model._tokens(contexts, said)[1]))
    entries, found = [], {}
    model.probabilities(contexts[:64], said[:64])  # what is opened and compiled once
    fresh = type(model)(model.folder)
    fresh.probabilities(contexts[:1], said[:1])
    for name, score in (("bi", fresh.bi_scores), ("cross", fresh.cross_scores)):
        seconds, found[name] = timed(lambda score=score: score(contexts, said))  # type: ignore[misc]
        entries.append(_entry(f"aptness(model='{name}')", "replies", n, tokens, seconds))
    found["aptness"] = fresh.probabilities(contexts[: COMPARED["aptness"]], said[: COMPARED["aptness"]])
    return entries, {name: values[: COMPARED["aptness"]] for name, values in found.items()}


def encoder(on: Device, folder: Path) -> tuple[list[Measured], dict[str, Any]]:
    """Utterances a second of MiniLM, as an exported graph."""
    from rejoinder.models.encoder.onnx import OnnxEncoder

    opened = OnnxEncoder(folder)
    texts = made_up(COMPARED["encoder"] * MORE["encoder"])[: rows_of("encoder", on)]
    opened.encode(texts[:64])
    tokens = sum(map(len, opened._tokenizer.ids(texts, "right")))
    seconds, vectors = timed(lambda: opened.encode(texts))
    name = "MiniLM" if folder.name == "minilm" else "MiniLM's shape with random weights"
    return [_entry(name, "utterances", len(texts), tokens, seconds)], {"vectors": vectors[: COMPARED["encoder"]]}


def language_model(on: Device, folder: Path) -> tuple[list[Measured], dict[str, Any]]:
    """Replies a second of a language model, contexts in batches."""
    from rejoinder.models.language_model.model import load_language_model
    from rejoinder.types import Turn

    model = load_language_model(folder)
    n, most = rows_of("language model", on), COMPARED["language model"] * MORE["language model"]
    made = replies(2 * most)  # the same rows on either device
    contexts = [(*CONTEXT[i % 3 :], Turn(text)) for i, text in enumerate(made[:n])]
    said = made[most : most + n]
    model.log_probabilities(contexts[:8], said[:8])
    seconds, found = timed(lambda: model.log_probabilities(contexts, said))
    tokens = sum(one.context_tokens + len(one.tokens) for one in found)
    means = np.array([one.mean for one in found[: COMPARED["language model"]]])
    return [_entry(f"language model {folder.name}", "replies", n, tokens, seconds)], {"log-probability": means}


def training(on: Device) -> list[Measured]:
    """Steps a second of the bi-encoder of `aptness`, of 64 windows of 6 turns."""
    import torch
    from rejoinder_lab.training.aptness.bi_encoder import train_bi_encoder
    from rejoinder_lab.training.recipes import BiRecipe
    from rejoinder_lab.training.sampling import TokenCorpus, TokenProperties
    from rejoinder_lab.training.tokens import read_corpus_tokens

    from rejoinder.models.aptness.network import float_networks
    from rejoinder.types import Dialogue, Turn

    folder, where = require_model("aptness"), torch.device(device.torch_device())
    tokenizer = (folder / "tokenizer.json").read_text(encoding="utf-8")
    texts = made_up(4_000)
    talks = [
        Dialogue(str(i), tuple(Turn(text) for text in texts[8 * i : 8 * i + 8]), corpus="made up", split="train")
        for i in range(len(texts) // 8)
    ]
    corpus = TokenCorpus(read_corpus_tokens(talks, tokenizer)["train"], where)
    words = TokenProperties.of(tokenizer, ["ok", "i see", "yes"], where)
    network = float_networks(folder)[0].to(where)
    drawn = torch.Generator(where).manual_seed(0)

    def train(steps: int) -> None:
        recipe = BiRecipe(steps=steps, windows=64, merged=48, spoiled=32, similarity=0.0)
        train_bi_encoder(network, corpus, torch.ones(1, device=where), words, recipe, drawn, None, lambda *_: None)

    train(1)
    seconds, _ = timed(lambda: train(STEPS[on]))
    turns = STEPS[on] * (64 * 6 + 2 * 48 + 32)
    return [_entry("training steps of the bi-encoder, 64 windows each", "steps", STEPS[on], 0, seconds, turns)]


def _entry(name: str, unit: str, n: int, tokens: int, seconds: float, turns: int = 0) -> Measured:
    rates = {"tokens/s": round(tokens / seconds)} if tokens else {}
    if turns:
        rates = {"turns/s": round(turns / seconds)}
    return {"name": name, "unit": f"{unit}/s", "rows": n, "rate": float(f"{n / seconds:.4g}"), **rates}


def measure(on: Device, encoder_folder: Path, model_folder: Path, out: Path) -> None:
    """Measure everything on the device that this process was asked for, and write it down."""
    where = device.graph_backend()
    parts = [aptness(on), encoder(on, encoder_folder), language_model(on, model_folder), (training(on), {})]
    arrays = {name: values for _, found in parts for name, values in found.items()}
    np.savez(out.with_suffix(".npz"), **arrays)
    entries = [entry for found, _ in parts for entry in found]
    out.write_text(json.dumps({"device": where.device, "graphs by": where.runtime, "entries": entries}))


def compared(one: Path, other: Path) -> list[Measured]:
    """How far the numbers of two devices differ."""
    found = []
    with np.load(one) as first, np.load(other) as second:
        for name in first.files:
            a, b = first[name], second[name]
            entry = {"name": name, "numbers": int(a.size), "largest difference": float(np.abs(a - b).max())}
            if name != "vectors":
                apart = np.abs(np.round(a, DECIMALS) - np.round(b, DECIMALS))
                entry["differ in the last decimal"] = int((apart > 10**-DECIMALS / 2).sum())
                entry["differ by more"] = int((apart > 1.5 * 10**-DECIMALS).sum())
                entry["difference of the means"] = float(abs(a.mean() - b.mean()))
            found.append(entry)
    return found


def _gpu() -> str | None:
    try:
        if device._choose_backend(None).device != "cuda":
            return None
        import torch

        return str(torch.cuda.get_device_name(0))
    except (ImportError, RuntimeError, AssertionError):
        return "a GPU"


def _language_model(spare: Path) -> Path:
    """SmolLM2-135M where it is in the cache, else a smaller network of random weights."""
    try:
        return require_model("smollm2-135m")
    except ModelMissingError:
        import torch

        torch.manual_seed(0)
        save_random(spare)
        return spare


def _devices(scratch: Path, gpu: str | None) -> dict[str, Any]:
    os.environ.pop("REJOINDER_DEVICE", None)
    encoder_folder, model_folder = folder_of_minilm(scratch / "random"), _language_model(scratch / "random-12-layers")
    found: dict[str, Any] = {}
    for on in ("cpu", "cuda") if gpu else ("cpu",):
        environment = {**os.environ, "REJOINDER_DEVICE": on, "REJOINDER_CACHE": str(scratch / f"cache-{on}")}
        given = ["--on", on, str(encoder_folder), str(model_folder), str(scratch / f"{on}.json")]
        subprocess.run([sys.executable, "-m", "benchmarks.gpu", *given], check=True, env=environment)
        found[on] = json.loads((scratch / f"{on}.json").read_text())
    return found


def main(out: Path | None) -> int:
    """Measure the devices that there are, print and compare."""
    gpu = _gpu()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        found = _devices(scratch, gpu)
        apart = compared(scratch / "cpu.npz", scratch / "cuda.npz") if gpu else []
    for on, about in found.items():
        where = f"{gpu}, graphs by {about['graphs by']}" if on == "cuda" else f"CPU, {count_threads()} threads"
        for i, entry in enumerate(about["entries"]):
            more = [f"{entry[key]:,} {key}" for key in ("tokens/s", "turns/s") if key in entry]
            times = entry["rate"] / found["cpu"]["entries"][i]["rate"]
            told = f", {times:.1f} times the CPU" if on == "cuda" else ""
            print(f"{where}: {entry['name']}: {entry['rate']:,.4g} {entry['unit']} ({', '.join(more)}){told}")
    for one in apart:
        print("CPU against GPU: " + ", ".join(f"{key} {value}" for key, value in one.items()))
    if not gpu:
        print("no GPU here: install onnxruntime-gpu, or torch with CUDA and onnx, on a machine that has one")
    if out is not None:
        machine = {
            "machine": platform.machine(),
            "threads": count_threads(),
            "gpu": gpu,
            "date": time.strftime("%Y-%m-%d"),
        }
        out.write_text(json.dumps({**machine, "devices": found, "apart": apart}, indent=1) + "\n")
    return 1 if any(one.get("differ by more") for one in apart) else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--on", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.on:
        measure(asked.on[0], *map(Path, asked.on[1:]))
    else:
        sys.exit(main(asked.out))
