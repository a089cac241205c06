"""What a shown command or snippet needs beyond a fresh install: said under it on the site, heeded by the tests."""

from __future__ import annotations

import re

DATA = "a published set (rejoinder data get, or REJOINDER_DATA)"
MODEL = "a model that is fetched first (rejoinder models get)"
NETWORK = "the network"
TORCH = "rejoinder[torch] and time, better a GPU"
ENDPOINT = "a language model behind an endpoint"
PEOPLE = "people: it serves a page until Ctrl+C"
ANSWERS = "what people filled in"
SERVER = "a server that runs"
TRAINED = "a folder that was trained before"
CHECKPOINT = "the authors' checkpoints"

# The first that fits says it; a rule is read in one line of a shell block, or in a whole snippet of Python.
RULES = (
    (r"^(\S*/)?(pip|npm|git) ", NETWORK),
    (r"^curl ", SERVER),
    (r"^make ", "a checkout of the repository"),
    (r"s3://|--engine ray", "a cluster and an object store of your own"),
    (r"--approximate", "rejoinder[ann]"),
    (r"rejoinder (models|data) get", NETWORK),
    (r"dataset:|rejoinder (reproduce|data (get|write|show))|papers\.\w+\.jobs|read_dataset\(|\.reproduce\(", DATA),
    (r"rejoinder (annotate .*--raters|annotate project\.toml *(#|$)|serve)", PEOPLE),
    (r"import (parquet|huggingface)", "rejoinder[arrow]"),
    (
        r"--people \S|--from said\.jsonl|score chats\.jsonl ratings\.jsonl|estimate RUN .*--ratings ratings\.jsonl",
        ANSWERS,
    ),
    (r"rejoinder train (adem|bert_ruber|dynaeval|grade|usl_h|usr)\b", DATA),
    (r"rejoinder train (aptness|nup|generator|comet|ranker|statements)|--writer|delorean|float_networks", TORCH),
    (r"generator:|new-aptness|ranker\(folder|(folder|FOLDER)='mine'|model='large'", TRAINED),
    (r"(grade|dynaeval)\(folder|write_rarity", CHECKPOINT),
    (r"judge\(model|Judge\(|Chat\(|rejoinder (judge|arena)|vllm run-batch|choices\.jsonl|chats-1a2b3c4d", ENDPOINT),
    (r"rejoinder attack( -m \S+)* *(#|$)", DATA),
    (r"--measure-acceptability|--acceptability|situate seeds --mine", DATA),
    (
        r"hf:|embedded|-m judge|minilm|smollm2|norm_prob|\bfed\b|\bnup\b|glove|greedy_matching|vector_extrema|"
        r"embedding_average|seq2seq:|load_language_model|opus-mt|find_pools|rejoinder\.build\(|"
        r"build\(dialogues, repository",
        MODEL,
    ),
)


def need(text: str) -> str | None:
    """What a command or a snippet needs, in words; None where a fresh install is enough."""
    return next((said for rule, said in RULES if re.search(rule, text, re.MULTILINE)), None)


def commands(block: str) -> list[str]:
    """The commands of a shell block, one string each: continued lines joined, output left out after a prompt."""
    lines = re.sub(r"\\\n\s*", "", block).splitlines()
    prompted = any(line.startswith("$ ") for line in lines)
    if prompted:
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def is_shell(language: str, block: str) -> bool:
    """Whether a block shows commands: by its language, or by its first word where it names none."""
    if language in {"sh", "bash", "console"}:
        return True
    return not language and bool(re.match(r"(\$ )?(rejoinder|pip|make|git|python) ", block))


def notes(language: str, block: str) -> list[str]:
    """What stands under a block on the site: one sentence, or one a need where its lines differ."""
    if language == "python":
        found = need(block)
        return [f"Needs {found}."] if found else []
    if not is_shell(language, block):
        return []
    lines = commands(block)
    by_need: dict[str, list[int]] = {}
    for number, line in enumerate(lines, 1):
        found = need(line)
        if found:
            by_need.setdefault(found, []).append(number)
    return [_sentence(said, numbers, len(lines)) for said, numbers in by_need.items()]


def _sentence(said: str, numbers: list[int], of: int) -> str:
    if len(numbers) == of:
        return f"Needs {said}."
    which = ", ".join(map(str, numbers[:-1])) + " and " * (len(numbers) > 1) + str(numbers[-1])
    return f"Command {which} needs {said}." if len(numbers) == 1 else f"Commands {which} need {said}."
