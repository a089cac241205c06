"""Questions for systems under test, and what such systems are made of: tiny models and a server that answers them."""

from __future__ import annotations

import dataclasses
import json
import random
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from judge_server import Act, Handler, completion
from made_once import made_once
from tiny_models import WORDS, byte_pairs

from rejoinder.types import Candidate, Question, Turn


def question(name: str, context: Sequence[str], *candidates: str) -> Question:
    """A question whose first candidate is the true one."""
    graded = [Candidate(text, grade="false" if n else "true") for n, text in enumerate(candidates)]
    return Question(name, tuple(Turn(text) for text in context), tuple(graded))


QUESTIONS = [
    question("q1", ["the cat sat on the mat", "how do you like the cat"], "i love the cat", "the train leaves", "no"),
    question("q2", ["what about the train"], "the train leaves at nine", "yes so fine", "maybe very good day", "dog"),
    question("empty", [], "good night", "bad dog", "you and i"),
    question("one", ["how is it"], "fine thanks"),
    question("twice", ["see you soon"], "ok", "ok", "see you"),
    question("blank", ["what is it", " "], " ", "it is a dog", "we ran fast"),
]


def shuffled(questions: Sequence[Question], seed: int = 7) -> tuple[list[Question], list[list[int]]]:
    """The questions with their candidates in another order, and where each now stands."""
    rng = random.Random(seed)
    made, orders = [], []
    for one in questions:
        order = list(range(len(one.candidates)))
        rng.shuffle(order)
        made.append(dataclasses.replace(one, candidates=tuple(one.candidates[k] for k in order)))
        orders.append(order)
    return made, orders


def shown(sent: dict[str, Any]) -> dict[str, Any]:
    """The line of JSON in a chat request: the conversation and the replies."""
    found: dict[str, Any] = json.loads(sent["messages"][1]["content"].splitlines()[1])
    return found


def prefers_long(handler: Handler, sent: dict[str, Any]) -> None:
    """Choose the longest reply, wherever it stands."""
    replies = shown(sent)["replies"]
    handler.give(200, completion(max(replies, key=lambda letter: (len(replies[letter]), replies[letter]))))


def log_probability(before: str, sign: str) -> float:
    """What the test's own language model makes of a character after another."""
    return -1 - (7 * ord(before) + 3 * ord(sign)) % 11 / 10


def echo(sent: dict[str, Any], first_mark: str = "", written: str = "") -> dict[str, Any]:
    """The answer of a completion endpoint whose tokens are single characters.

    With a first mark, offsets are counted as if it stood in the text; ``written`` is added behind the prompt.
    """
    text = sent["prompt"] + written
    tokens = [*([first_mark] if first_mark else []), *text]
    values = [None if n == 0 else log_probability(tokens[n - 1][-1], sign) for n, sign in enumerate(tokens)]
    places = [sum(map(len, tokens[:n])) for n in range(len(tokens))]
    told = {"tokens": tokens, "token_logprobs": values, "text_offset": places, "top_logprobs": None}
    usage = {"prompt_tokens": len(sent["prompt"]), "completion_tokens": len(written)}
    return {"model": "test-2", "choices": [{"index": 0, "text": text, "logprobs": told}], "usage": usage}


def echoes(**how: str) -> Act:
    """Repeat each prompt with log-probabilities."""
    return lambda handler, sent: handler.give(200, json.dumps(echo(sent, **how)).encode())


@made_once
def write_sequence_model(folder: Path, kind: str, positions: int = 48) -> Path:
    """A random BART or T5 of 2 layers as transformers saves it; needs torch."""
    import torch
    import transformers

    folder.mkdir(parents=True)
    if kind == "bart":
        core = byte_pairs(False)
        transformers.BartTokenizer(tokenizer_object=core, model_max_length=positions).save_pretrained(folder)
        shape: dict[str, Any] = {"d_model": 32, "max_position_embeddings": positions, "init_std": 0.3}
        for side in ("encoder", "decoder"):
            shape |= {f"{side}_layers": 2, f"{side}_attention_heads": 4, f"{side}_ffn_dim": 64}
        marks = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
        made: Any = transformers.BartForConditionalGeneration
        config: Any = transformers.BartConfig(vocab_size=core.get_vocab_size(), **shape, **marks)
    else:
        tokens = _unigrams()
        tokens.save_pretrained(folder)
        made = transformers.T5ForConditionalGeneration
        config = transformers.T5Config(
            **{"vocab_size": len(tokens), "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4},
            **{"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "dropout_rate": 0.1},
            initializer_factor=3.0,
        )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made(config).save_pretrained(folder)
    return folder


def _unigrams() -> Any:
    """A tokeniser such as T5's: pieces with a mark for the space before them, and an end."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -5.0)]
    pieces += [(f"▁{word}", -3.0 - n / 100) for n, word in enumerate(WORDS)]
    pieces += [(sign, -8.0) for sign in string.ascii_lowercase + string.ascii_uppercase + ".,!?'</>"]
    core: Any = Tokenizer(models.Unigram(pieces, unk_id=2))
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.decoder = decoders.Metaspace()
    core.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    made: Any = PreTrainedTokenizerFast
    return made(tokenizer_object=core, eos_token="</s>", pad_token="<pad>", unk_token="<unk>")
