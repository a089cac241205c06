"""The card of a test set, as JSON and as a page: how its candidates were found, who judged them, and how reliably."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import orjson

import rejoinder
from rejoinder.data.questions import TRUE, find_right_candidates
from rejoinder.files import atomic_write
from rejoinder.selection.acceptability import Acceptability
from rejoinder.selection.acceptability_file import acceptability_to_object
from rejoinder.selection.acceptability_rules import judge_candidate
from rejoinder.selection.assembly import QuestionAssembler, find_true_reply
from rejoinder.selection.grade_separation import ADVERSARIAL, POSITIVE, auc_interval, collect_graded_scores
from rejoinder.selection.human_scores import get_human_scores, measure_human_agreement
from rejoinder.selection.model_pass import ACCEPTABILITY_KEY
from rejoinder.selection.overlap import measure_overlap
from rejoinder.selection.pools import LEFT_OUT_KEY
from rejoinder.selection.settings import POOL_SETTINGS
from rejoinder.stats.interval import Interval, share_interval
from rejoinder.table import Cell, Estimate, Table, to_markdown
from rejoinder.text.tokens import get_tokenizer
from rejoinder.types import Candidate, Question

RenderCard: TypeAlias = Callable[[Mapping[str, Any], str], str]  # a card and the name of its set, as a page
_DECIMALS = 4


def make_selection_card(
    questions: Sequence[Question],
    pools: Sequence[Question],
    assembler: QuestionAssembler,
    facts: Mapping[str, Any],
    inputs: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the card of a test set."""
    settings = assembler.settings
    false = [one for question in questions for one in _list_false_candidates(question)]
    left_out: Counter[str] = Counter()
    for pool in pools:
        left_out.update(pool.meta.get(LEFT_OUT_KEY, {}))
    judge = "people" if assembler.by_people else "model" if assembler.acceptability is not None else "nobody"
    return {
        "rejoinder": rejoinder.__version__,
        "kind": "random" if settings.random else "chosen",
        "questions": len(questions),
        "candidates": len(questions[0].candidates),
        **{key: value for key, value in facts.items() if key not in ("inputs", "settings")},
        "settings": _describe_settings(assembler, facts.get("settings", {})),
        "inputs": [dict(one) for one in inputs],
        "pools": len(pools),
        "found": dict(sorted(Counter(one.source or "unknown" for one in false).items())),
        "left out of pools": dict(sorted(left_out.items())),
        "counts": {what: n for what, n in sorted(assembler.counts.items()) if n},
        "judged by": judge,
        "model": _describe_model(pools, assembler.acceptability, settings.least_raters),
        "people": _describe_people(pools),
        "overlap": _describe_overlap(questions),
        "places of the truth": _count_truth_places(questions),
        "words a text": _mean_lengths(questions),
        "truth by length": _count_length_ranks(questions),
    }


def _describe_settings(assembler: QuestionAssembler, pool_settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings; those that the pools depend on are the ones that the pools were found with."""
    pool_values = {key: pool_settings[key] for key in POOL_SETTINGS if key in pool_settings}
    return {
        **asdict(assembler.settings),
        **pool_values,
        "seed of the pools": pool_settings.get("seed", assembler.settings.seed),
    }


def _list_false_candidates(question: Question) -> list[Candidate]:
    return [one for n, one in enumerate(question.candidates) if n not in find_right_candidates(question)]


def _count_truth_places(questions: Sequence[Question]) -> list[int]:
    places = Counter(min(find_right_candidates(question)) for question in questions)
    return [places[n] for n in range(max(len(question.candidates) for question in questions))]


def _mean_lengths(questions: Sequence[Question]) -> dict[str, float]:
    """The mean length of true replies and of false candidates: if they differ, length alone gives some answers away."""
    count = get_tokenizer("words")
    truths = [len(count(one.text)) for question in questions for one in question.candidates if one.grade == TRUE]
    false = [len(count(one.text)) for question in questions for one in _list_false_candidates(question)]
    return {"truths": round(sum(truths) / len(truths), 2), "false": round(sum(false) / len(false), 2)}


def _count_length_ranks(questions: Sequence[Question]) -> dict[str, float]:
    """The share of questions whose true reply is the longest, or the shortest, in words; k that tie count 1/k each."""
    shares = {"longest": 0.0, "shortest": 0.0}
    for question in questions:
        lengths = [len(one.text.split()) for one in question.candidates]
        truth = lengths[min(find_right_candidates(question))]
        for name, end in (("longest", max(lengths)), ("shortest", min(lengths))):
            shares[name] += (truth == end) / lengths.count(end)
    return {name: round(share / len(questions), _DECIMALS) for name, share in shares.items()}


def _describe_overlap(questions: Sequence[Question]) -> dict[str, Any]:
    overlap = measure_overlap(questions)
    return {
        "share": interval_to_object(overlap.all),
        "share where the truth has content words": interval_to_object(overlap.where_possible),
        "by source": {name: round(value, _DECIMALS) for name, value in overlap.by_source.items()},
        "truths without content words": overlap.truths_without,
    }


def _describe_people(pools: Sequence[Question]) -> dict[str, Any] | None:
    agreement = measure_human_agreement(get_human_scores(one) for pool in pools for one in pool.candidates)
    if agreement is None:
        return None
    return {
        "candidates": agreement.candidates,
        "scores a candidate": list(agreement.raters),
        "kappa of six classes": interval_to_object(agreement.six),
        "kappa of two classes": interval_to_object(agreement.two),
    }


def _describe_model(
    pools: Sequence[Question], acceptability: Acceptability | None, least_raters: int
) -> dict[str, Any] | None:
    """Describe the model pass: its results on DailyDialog++, on the true replies here, and vs. people's scores."""
    if acceptability is None:
        return None
    truths = [
        float(find_true_reply(pool).meta[ACCEPTABILITY_KEY] >= acceptability.threshold)
        for pool in pools
        if _has_probability(find_true_reply(pool))
    ]
    return {
        **acceptability_to_object(acceptability),
        "true replies that it accepts": interval_to_object(share_interval(truths)) if truths else None,
        "against people": _compare_with_people(pools, least_raters),
    }


def _compare_with_people(pools: Sequence[Question], least_raters: int) -> dict[str, Any] | None:
    """How well the model's probability separates what people accept from what they reject."""
    grades = {"acceptable": POSITIVE, "false": ADVERSARIAL}
    rows = [
        (pool.id, one, grades[verdict])
        for pool in pools
        for one in pool.candidates
        if one is not find_true_reply(pool) and _has_probability(one)
        if (verdict := judge_candidate(get_human_scores(one), least_raters)) in grades
    ]
    if len({grade for _, _, grade in rows}) < 2:
        return None
    questions = [Question(name, (), (Candidate(one.text, grade=grade),)) for name, one, grade in rows]
    graded = collect_graded_scores(questions, [[float(one.meta[ACCEPTABILITY_KEY])] for _, one, _ in rows])
    return {"candidates": len(rows), "auc": interval_to_object(auc_interval(graded, POSITIVE, ADVERSARIAL))}


def _has_probability(candidate: Candidate) -> bool:
    return ACCEPTABILITY_KEY in candidate.meta


def interval_to_object(interval: Interval) -> dict[str, Any]:
    """Return an interval as a JSON object; NaN becomes null."""
    ends: Iterable[tuple[str, float]] = (("value", interval.value), ("low", interval.low), ("high", interval.high))
    return {**{key: None if value != value else round(value, _DECIMALS) for key, value in ends}, "n": interval.n}


_JUDGES = {
    "people": "by people, with the rules of Sato et al. 2020, section 3.1",
    "model": "by the model pass alone: no person has looked at them",
    "nobody": "by nobody: some of them may be acceptable",
}


def card_paths(path: str | Path) -> tuple[Path, Path]:
    """Return the paths of a set's card: ``SET.card.json`` and ``SET.card.md``."""
    path = Path(path)
    stem = path.name.removesuffix(".gz").removesuffix(".jsonl")
    return path.with_name(f"{stem}.card.json"), path.with_name(f"{stem}.card.md")


def write_test_set_card(card: Mapping[str, Any], path: str | Path, render: RenderCard) -> tuple[Path, Path]:
    """Write the card next to a test set, as JSON and as a page, and return their paths."""
    json_path, page_path = card_paths(path)
    with atomic_write(json_path) as file:
        file.write(orjson.dumps(card, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    with atomic_write(page_path) as file:
        file.write(render(card, Path(path).name).encode())
    return json_path, page_path


def render_selection_card(card: Mapping[str, Any], name: str) -> str:
    """Return the card as a page in Markdown."""
    method = "drawn at random" if card["kind"] == "random" else "found with the true reply as the query"
    head = (
        f"# {name}\n\n{card['questions']:,} questions with {card['candidates']} candidates, one of them true. "
        f"The false ones were {method}, and judged {_JUDGES[card['judged by']]}. "
        f"Made by rejoinder {card['rejoinder']} with the seed {card['settings']['seed']}.\n"
    )
    tables = [
        selection_step_table(card),
        _source_table(card),
        _model_table(card),
        _people_table(card),
        _input_table(card),
    ]
    return "\n".join([head, *(to_markdown(table) for table in tables if table is not None)])


def selection_step_table(card: Mapping[str, Any]) -> Table:
    """The counts of each step."""
    rows: list[list[Cell]] = [[what, n] for what, n in card.get("dialogues", {}).items()]
    rows += [[f"repository: {what}", n] for what, n in card.get("repository", {}).items() if isinstance(n, int)]
    rows += [[f"training: {what}", n] for what, n in card.get("leakage", {}).items()]
    rows += [
        ["pools", card["pools"]],
        *([f"left out of pools: {why}", n] for why, n in card["left out of pools"].items()),
    ]
    rows += [[what, n] for what, n in card["counts"].items() if what not in ("pools", "questions")]
    rows.append(["questions", card["questions"]])
    share = card["overlap"]["share"]
    notes = [
        f"{_format_percent(share)} of the false candidates share a content word with the true reply (true replies "
        f"without content words: {card['overlap']['truths without content words']:,}).",
        f"Positions of the true reply: {', '.join(map(str, card['places of the truth']))} times at position 1, 2, ...",
        f"Mean length in words: true replies {card['words a text']['truths']}, false candidates "
        f"{card['words a text']['false']}. The true reply is the longest candidate in "
        f"{card['truth by length']['longest']:.1%} of the questions and the shortest in "
        f"{card['truth by length']['shortest']:.1%}.",
    ]
    return Table("What happened at each step", ["step", "n"], rows, notes)


def _source_table(card: Mapping[str, Any]) -> Table:
    by_source = card["overlap"]["by source"]
    rows: list[list[Cell]] = [[spec, n, by_source.get(spec)] for spec, n in card["found"].items()]
    notes = [
        f"{s['spec']}: {s['citation']}" + (f" ({s['model']})" if "model" in s else "") for s in card.get("sources", ())
    ]
    return Table("False candidates by source", ["source", "n", "with a shared content word"], rows, notes)


def _model_table(card: Mapping[str, Any]) -> Table | None:
    model = card["model"]
    if model is None:
        return None
    notes = [f"It accepts {_format_percent(model['true replies that it accepts'])} of this set's true replies."]
    if model["against people"] is not None:
        notes.append(f"Its AUC for what people accept here: {_format_estimate(model['against people']['auc'])}.")
    if card["judged by"] == "model":
        notes.append(
            "The false candidates of this set are those that this metric rejects, so do not rank this metric, or a "
            "system trained like it, on this set."
        )
    return acceptability_table(model, notes)


def acceptability_table(model: Mapping[str, Any], notes: Sequence[str]) -> Table:
    """The error rates of a judge, on the split that its threshold was chosen on and on the other."""
    rows: list[list[Cell]] = []
    for split, rates in (("dev (threshold chosen here)", model["chosen"]), ("test", model["measured"])):
        others = [rates["passed"].get(grade) for grade in ("adversarial", "random")]
        cells = [_to_estimate(one) for one in (rates["auc"], rates["missed"], *others)]
        rows.append([f"DailyDialog++ {split}", rates["questions"], *cells])
    heads = ["on", "contexts", "AUC", "acceptable, missed", "adversarial, accepted", "random, accepted"]
    model_notes = [
        f"A reply is called acceptable if its probability is at least {model['threshold']}: 1 / (1 + exp(-("
        f"{model['intercept']} + {model['slope']} score + {model['repeating']} words))), with the score of "
        f"{model['metric']} and the number of content words repeated from the context.",
        f"Signature: {model['signature']}.",
    ]
    return Table("The model pass", heads, rows, [*model_notes, *notes])


def _people_table(card: Mapping[str, Any]) -> Table | None:
    people = card["people"]
    if people is None:
        return None
    few, many = people["scores a candidate"]
    rows: list[list[Cell]] = [
        [name, _to_estimate(people[f"kappa of {name}"])] for name in ("six classes", "two classes")
    ]
    notes = [f"{people['candidates']:,} candidates and true replies with {few} to {many} scores each."]
    return Table("Agreement between people (Fleiss' kappa)", ["scores as", "kappa"], rows, notes)


def _input_table(card: Mapping[str, Any]) -> Table | None:
    rows: list[list[Cell]] = [[one["role"], one["name"], one["licence"], one["sha256"][:12]] for one in card["inputs"]]
    return Table("Inputs", ["role", "name", "licence", "sha256"], rows) if rows else None


def _to_estimate(values: Mapping[str, Any] | None) -> Estimate | None:
    if values is None or values["value"] is None:
        return None
    nan = float("nan")
    return Estimate(values["value"], *(nan if values[end] is None else values[end] for end in ("low", "high")))


def _format_estimate(values: Mapping[str, Any] | None) -> str:
    return Table("", [], []).text(_to_estimate(values))


def _format_percent(values: Mapping[str, Any] | None) -> str:
    return "–" if values is None or values["value"] is None else f"{values['value']:.1%}"
