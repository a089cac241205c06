"""The card of a test set as a page for people, and both files beside the set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from rejoinder.files import whole_file
from rejoinder.report.table import Cell, Estimate, Table, to_markdown

_JUDGED = {
    "people": "by people, by the rules of Sato et al. 2020, section 3.1",
    "model": "by the model pass alone: no person has looked at it",
    "nobody": "by nobody: some of its false candidates may be acceptable",
}


def card_paths(path: str | Path) -> tuple[Path, Path]:
    """Where the two cards of a set stand: ``SET.card.json`` and ``SET.card.md``."""
    path = Path(path)
    stem = path.name.removesuffix(".gz").removesuffix(".jsonl")
    return path.with_name(f"{stem}.card.json"), path.with_name(f"{stem}.card.md")


def write_card(card: Mapping[str, Any], path: str | Path) -> tuple[Path, Path]:
    """Write both cards beside a set."""
    machine, page = card_paths(path)
    with whole_file(machine) as file:
        file.write(orjson.dumps(card, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    with whole_file(page) as file:
        file.write(page_of(card, Path(path).name).encode())
    return machine, page


def page_of(card: Mapping[str, Any], name: str) -> str:
    """The whole page."""
    found = "drawn at random" if card["kind"] == "random" else "found with the true reply as the query"
    head = (
        f"# {name}\n\n{card['questions']:,} questions with {card['candidates']} candidates, one of them true. "
        f"The false ones were {found}, and judged {_JUDGED[card['judged by']]}. "
        f"Made by rejoinder {card['rejoinder']} with the seed {card['settings']['seed']}.\n"
    )
    tables = [step_table(card), _source_table(card), _model_table(card), _people_table(card), _input_table(card)]
    return "\n".join([head, *(to_markdown(table) for table in tables if table is not None)])


def step_table(card: Mapping[str, Any]) -> Table:
    """What became of everything, step by step."""
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
        f"{_percent(share)} of the false candidates share a content word with the truth "
        f"({card['overlap']['truths without content words']:,} truths have none).",
        f"The truth stands in place 1, 2, ... {', '.join(map(str, card['places of the truth']))} times.",
        f"True replies have {card['words a text']['truths']} words, false candidates {card['words a text']['false']}.",
    ]
    return Table("Step by step", ["step", "n"], rows, notes)


def _source_table(card: Mapping[str, Any]) -> Table:
    by_source = card["overlap"]["by source"]
    rows: list[list[Cell]] = [[spec, n, by_source.get(spec)] for spec, n in card["found"].items()]
    told = [
        f"{s['spec']}: {s['citation']}" + (f" ({s['model']})" if "model" in s else "") for s in card.get("sources", ())
    ]
    return Table("False candidates by source", ["source", "n", "share a content word"], rows, told)


def _model_table(card: Mapping[str, Any]) -> Table | None:
    model = card["model"]
    if model is None:
        return None
    notes = [f"It accepts {_percent(model['true replies that it accepts'])} of the true replies of this set."]
    if model["against people"] is not None:
        notes.append(f"Against what people accept here its AUC is {_shown(model['against people']['auc'])}.")
    if card["judged by"] == "model":
        notes.append(
            "The false candidates of this set are those that this metric rejects: a system that is this metric, or was "
            "trained like it, must not be ranked on it."
        )
    return acceptability_table(model, notes)


def acceptability_table(model: Mapping[str, Any], notes: Sequence[str]) -> Table:
    """How often a judge errs, on the split that its threshold was chosen on and on the other."""
    rows: list[list[Cell]] = []
    for split, rates in (("dev, chosen on", model["chosen"]), ("test", model["measured"])):
        others = [rates["passed"].get(grade) for grade in ("adversarial", "random")]
        cells = [_estimate(one) for one in (rates["auc"], rates["missed"], *others)]
        rows.append([f"DailyDialog++ {split}", rates["questions"], *cells])
    heads = ["on", "contexts", "AUC", "acceptable, missed", "adversarial, accepted", "random, accepted"]
    told = [
        f"{model['metric']} and the content words that a reply repeats call it acceptable from a probability of "
        f"{model['threshold']} on: 1 / (1 + exp(-({model['intercept']} + {model['slope']} score + "
        f"{model['repeating']} words))).",
        f"Signature: {model['signature']}.",
    ]
    return Table("The model pass", heads, rows, [*told, *notes])


def _people_table(card: Mapping[str, Any]) -> Table | None:
    people = card["people"]
    if people is None:
        return None
    few, many = people["scores a candidate"]
    rows: list[list[Cell]] = [[name, _estimate(people[f"kappa of {name}"])] for name in ("six classes", "two classes")]
    notes = [f"{people['candidates']:,} candidates and true replies with {few} to {many} scores each."]
    return Table("Agreement of people (Fleiss' kappa)", ["scores in", "kappa"], rows, notes)


def _input_table(card: Mapping[str, Any]) -> Table | None:
    rows: list[list[Cell]] = [[one["role"], one["name"], one["licence"], one["sha256"][:12]] for one in card["inputs"]]
    return Table("Inputs", ["as", "name", "licence", "sha256"], rows) if rows else None


def _estimate(found: Mapping[str, Any] | None) -> Estimate | None:
    if found is None or found["value"] is None:
        return None
    nan = float("nan")
    return Estimate(found["value"], *(nan if found[end] is None else found[end] for end in ("low", "high")))


def _shown(found: Mapping[str, Any] | None) -> str:
    return Table("", [], []).text(_estimate(found))


def _percent(found: Mapping[str, Any] | None) -> str:
    return "–" if found is None or found["value"] is None else f"{found['value']:.1%}"
