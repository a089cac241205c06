"""Tiny random checkpoints of GRADE and DynaEval in their authors' layout, with all that the adapters read beside them.

The names and shapes are written out here as the authors' code makes them (texar-pytorch and torch_geometric 1.4.3), not
taken from the adapters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import tiny_models

NODES, DIMENSIONS, HEADS = 18, 12, 4
HIDDEN, INNER, LAYERS, POSITIONS = 128, 32, 2, 160
TOPIC, JOINT, LAST = 8, 6, 5
# "" is a keyword of its own in the published list, where an utterance without keywords left it.
KEYWORDS = ["train", "leave", "", "think", "cat", "dog", "good", "night", "love", "clock"]
NOUNS, VERBS, ADJECTIVES = ["train", "cat", "dog", "night", "clock", "mouse"], ["leave", "think", "love"], ["good"]
TAGS = {
    **dict.fromkeys(["train", "trains", "cat", "cats", "dog", "night", "clock", "mice", "kiosk"], "NN"),
    **dict.fromkeys(["leaves", "leaving", "think", "thinks", "love"], "VBZ"),
    **dict.fromkeys(["good", "better"], "JJ"),
    **dict.fromkeys(["the", "a", "at", "i", "so", "what", "you", "yes", "no", "and", "ha", "maybe"], "DT"),
}
STEPS = {("train", "leave"): 2, ("train", "train"): 1, ("cat", "dog"): 3, ("think", "love"): -1, ("dog", "cat"): 4}
IDF = {"train": 1.5, "leave": 1.25, "think": 1.0, "cat": 2.0, "dog": 2.25, "good": 1.75, "night": 1.5, "love": 2.0}
IDF |= {"clock": 0.01, "mouse": 2.5, "kiosk": 3.0}


def grade_shapes(tokens: int) -> dict[str, tuple[int, ...]]:
    """The weights of GRADE_K2_N10_N10, but for its sizes."""
    line = NODES * DIMENSIONS
    linear = {"linear_onehop_weight": (DIMENSIONS, line), "linear_twohop_weight": (DIMENSIONS, line)}
    linear |= {f"linear0_{i}": (DIMENSIONS, line) for i in (1, 2, 3)}
    linear |= {"linear1": (TOPIC, DIMENSIONS), "linear2_1": (TOPIC, HIDDEN), "linear2_2": (TOPIC, HIDDEN)}
    linear |= {"linear3": (JOINT, 2 * TOPIC), "linear4_1": (LAST, JOINT), "linear4_2": (LAST, JOINT)}
    linear |= {"linear5": (1, LAST)}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, (out, given) in linear.items():
        shapes |= {f"{name}._linear_layer.weight": (out, given), f"{name}._linear_layer.bias": (out,)}
    shapes["word_embedder._embedding"] = (len(KEYWORDS) + 4, DIMENSIONS)
    for i in (1, 2, 3):
        for head in range(HEADS):
            shapes[f"gat_{i}.heads.{head}.W"] = (DIMENSIONS, DIMENSIONS // HEADS)
            shapes[f"gat_{i}.heads.{head}.a"] = (2 * DIMENSIONS // HEADS, 1)
    bert: dict[str, tuple[int, ...]] = {
        "word_embedder._embedding": (tokens, HIDDEN),
        "segment_embedder._embedding": (2, HIDDEN),
        "position_embedder._embedding": (POSITIONS, HIDDEN),
        "pooler.0.weight": (HIDDEN, HIDDEN),
        "pooler.0.bias": (HIDDEN,),
    }
    norms = ["encoder.input_normalizer"]
    for i in range(LAYERS):
        for part in "QKVO":
            name = f"encoder.self_attns.{i}.{part}_dense"
            bert |= {f"{name}.weight": (HIDDEN, HIDDEN), f"{name}.bias": (HIDDEN,)}
        name = f"encoder.poswise_networks.{i}._layers"
        bert |= {f"{name}.0.weight": (INNER, HIDDEN), f"{name}.0.bias": (INNER,)}
        bert |= {f"{name}.2.weight": (HIDDEN, INNER), f"{name}.2.bias": (HIDDEN,)}
        norms += [f"encoder.poswise_layer_norm.{i}", f"encoder.output_layer_norm.{i}"]
    bert |= {f"{name}.{part}": (HIDDEN,) for name in norms for part in ("weight", "bias")}
    return shapes | {f"bert_encoder.{name}": shape for name, shape in bert.items()}


def random_weights(shapes: dict[str, tuple[int, ...]], seed: int, scale: float = 0.3) -> dict[str, Any]:
    """Random numpy arrays; the weights of norms lie around 1."""
    random = np.random.default_rng(seed)
    found = {}
    for name, shape in shapes.items():
        middle = 1.0 if name.endswith(".weight") and "norm" in name else 0.0
        found[name] = (middle + scale * random.normal(size=shape)).astype(np.float32)
    return found


def write_grade(folder: Path, flat: bool = False, seed: int = 0) -> Path:
    """A whole folder for ``grade``: in the authors' places, or all files side by side."""
    import torch

    data = folder if flat else folder / "data" / "DailyDialog"
    output = folder if flat else folder / "output" / "71" / "GRADE_K2_N10_N10"
    data.mkdir(parents=True, exist_ok=True)
    output.mkdir(parents=True, exist_ok=True)
    tokens = [token for token, _ in sorted(tiny_models.word_pieces().get_vocab().items(), key=lambda item: item[1])]
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    weights = random_weights(grade_shapes(len(tokens)), seed)
    states = {
        "model": {f"module.{name}": torch.from_numpy(value) for name, value in weights.items()},
        "optimizer": {"state": {}, "param_groups": [{"lr": 2e-5, "params": [0, 1]}]},
        "scheduler": {"last_epoch": 3, "lr_lambdas": [{}]},
    }
    torch.save(states, output / "model_eval_best_71.ckpt")
    (data / "keyword.vocab").write_text("".join(f"{word}\n" for word in KEYWORDS), encoding="utf-8")
    hops = "".join(f"{a}|||{b}|||{n}\n" for (a, b), n in STEPS.items())
    (data / "dialog_keyword_tuples_multiGraph.hop").write_text(hops, encoding="utf-8")
    random = np.random.default_rng(seed + 1)
    for name in ("1st_hop_nr10.embedding", "2nd_hop_nr10.embedding"):
        vectors = {word: random.normal(size=DIMENSIONS).round(4) for word in KEYWORDS if word not in ("", "love")}
        lines = "".join(f"{word} {' '.join(map(str, vector.tolist()))}\n" for word, vector in vectors.items())
        (data / name).write_text(lines, encoding="utf-8")
    (folder / "candi_keywords.txt").write_text("".join(f"{word}\n" for word in IDF), encoding="utf-8")
    (folder / "idf.json").write_bytes(orjson.dumps(IDF))
    write_language(folder)
    return folder


def write_language(folder: Path) -> None:
    """NLTK's data in small: no abbreviations, a tagger that knows some words, a WordNet of a dozen lemmas."""
    punkt = folder / "nltk_data" / "tokenizers" / "punkt_tab" / "english"
    tagger = folder / "nltk_data" / "taggers" / "averaged_perceptron_tagger_eng"
    wordnet = folder / "nltk_data" / "corpora" / "wordnet"
    for part in (punkt, tagger, wordnet):
        part.mkdir(parents=True, exist_ok=True)
    punkt_files = {"collocations.tab": "", "sent_starters.txt": "", "abbrev_types.txt": "mr\n", "ortho_context.tab": ""}
    for name, content in punkt_files.items():
        (punkt / name).write_text(content, encoding="utf-8")
    for name, value in {"weights": {}, "tagdict": TAGS, "classes": ["DT", "IN", "JJ", "NN", "UH", "VBZ"]}.items():
        (tagger / f"averaged_perceptron_tagger_eng.{name}.json").write_bytes(orjson.dumps(value))
    for part, lemmas in {"noun": NOUNS, "verb": VERBS, "adj": ADJECTIVES}.items():
        lines = ["  1 This is a licence.  ", *(f"{lemma} {part[0]} 1 0 1 0 00000001" for lemma in lemmas)]
        (wordnet / f"index.{part}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for part, forms in {"noun": "mice mouse\n", "verb": "", "adj": "better good well\n"}.items():
        (wordnet / f"{part}.exc").write_text(forms, encoding="utf-8")


SENTENCE, WIDTH, BASES, FIRST, SECOND, CLASSES = 32, 20, 5, 10, 7, 9


def dynaeval_shapes(narrow_twice: bool = False) -> dict[str, tuple[int, ...]]:
    """The weights of DynaEval, but for its sizes."""
    shapes: dict[str, tuple[int, ...]] = {"ds_1.weight": (WIDTH, SENTENCE), "ds_1.bias": (WIDTH,)}
    if narrow_twice:
        shapes |= {"ds_1.weight": (16, SENTENCE), "ds_1.bias": (16,), "ds_2.weight": (WIDTH, 16), "ds_2.bias": (WIDTH,)}
    half = WIDTH // 2
    for layer in (0, 1):
        for end in ("", "_reverse"):
            shapes |= {f"rnn.rnn.weight_ih_l{layer}{end}": (4 * half, WIDTH)}
            shapes |= {f"rnn.rnn.weight_hh_l{layer}{end}": (4 * half, half)}
            shapes |= {f"rnn.rnn.bias_{kind}_l{layer}{end}": (4 * half,) for kind in ("ih", "hh")}
    shapes |= {"edge_att.weight": (WIDTH, WIDTH)}
    shapes |= {"gcn.conv1.basis": (BASES, WIDTH, FIRST), "gcn.conv1.att": (8, BASES)}
    shapes |= {"gcn.conv1.root": (WIDTH, FIRST), "gcn.conv1.bias": (FIRST,)}
    shapes |= {"gcn.conv2.weight": (FIRST, SECOND), "gcn.conv2.lin.weight": (SECOND, FIRST)}
    shapes |= {"gcn.conv2.lin.bias": (SECOND,), "clf.lin1.weight": (CLASSES, WIDTH + SECOND)}
    return shapes | {"clf.lin1.bias": (CLASSES,), "clf.lin2.weight": (1, CLASSES), "clf.lin2.bias": (1,)}


def write_dynaeval(folder: Path, flat: bool = False, narrow_twice: bool = False, seed: int = 0) -> Path:
    """A whole folder for ``dynaeval``; RoBERTa's weights lie in a file of torch's, as the authors' do."""
    import torch
    from safetensors.torch import load_file

    output = folder if flat else folder / "output" / "empathetic-us-345678"
    output.mkdir(parents=True, exist_ok=True)
    weights = random_weights(dynaeval_shapes(narrow_twice), seed)
    state = {name: torch.from_numpy(value) for name, value in weights.items()}
    # The accuracy comes from scikit-learn, so it is a number of numpy's.
    torch.save({"best_dev_acc": np.float64(0.75), "best_epoch": 3, "best_state": state}, output / "best.pt")
    encoder = tiny_models.write_transformers_encoder(folder / "SRoBERTa", kind="roberta")
    torch.save(load_file(encoder / "model.safetensors"), encoder / "pytorch_model.bin")
    (encoder / "model.safetensors").unlink()
    return folder


def install(cache: Path, metric: str) -> None:
    """Put the checkpoint of an adapter where it is looked for when no folder is named."""
    writers = {"grade": write_grade, "dynaeval": write_dynaeval}
    name = metric.partition("(")[0]
    if name in writers:
        writers[name](cache / "models" / name)
