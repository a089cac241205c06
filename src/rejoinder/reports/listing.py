"""Tables of everything that has a name, taken from the registries."""

from __future__ import annotations

import dataclasses
import inspect
import math
import sys
import typing
from collections.abc import Callable

from rejoinder import lab
from rejoinder.entry_points import find_entry_points
from rejoinder.errors import SpecError, nearest
from rejoinder.lab import explain_absence
from rejoinder.metric import Metric, SetMetric, metric_class, metric_names
from rejoinder.paths import data_home
from rejoinder.table import Cell, Table

_SHORT = 74  # characters of a description in a list of one line each
_RUBRIC_NOTE = (
    "Use: rejoinder score chats.jsonl -m \"judge(rubric='NAME')\", or a .toml file of your own; see docs/judge.md"
)
_BETTER = {True: "higher", False: "lower", None: "neither"}


def metric_table() -> Table:
    """Every metric, with what a user must know to choose one."""
    heads = ["metric", "parameters (default)", "needs", "range", "better", "languages", "what it is", "citation"]
    rows = [_metric_row(name, metric_class(name)) for name in metric_names()]
    notes = [
        "A spec is NAME or NAME(parameter=value, ...), e.g. bleu(n=2). Your own metric: --metric ./mine.py",
        "Every metric reads the reply; 'needs' says what else the item must have. (set): computed over the whole set.",
        "Languages: any; spaces: those with spaces between words; English; model: those of the model in use.",
    ]
    return Table("Metrics", heads, rows, notes)


def short_metric_table() -> Table:
    """Every metric in one line of at most 100 characters: its name, what it needs, what it is."""
    rows: list[list[Cell]] = []
    for name in metric_names():
        cls = metric_class(name)
        module = inspect.getdoc(sys.modules[cls.__module__]) or ""
        needs = "".join(sorted(part[0] for part in cls.needs)) or "–"
        rows.append([name, needs, _shorten(_drop_name(module.partition("\n")[0], name))])
    notes = [
        "needs, besides the reply: c context, r references. Parameters, ranges and citations: rejoinder list metrics "
        "--long",
        "Your own: --metric ./mine.py, or ./mine.py:function",
    ]
    return Table("Metrics", ["metric", "needs", "what it is"], rows, notes)


def _drop_name(text: str, name: str) -> str:
    """A description without the name of what it describes, where it begins with that."""
    first, colon, rest = text.partition(": ")
    return rest if colon and first.lower().replace(" ", "_").replace("-", "_") == name else text


def _shorten(text: str) -> str:
    """The beginning of a sentence that fits a line: up to the end of a clause if possible, else of a word."""
    text = text.rstrip(".")
    if len(text) <= _SHORT:
        return text
    clause = max(text.rfind(mark, _SHORT - 28, _SHORT) for mark in (", ", "; "))
    return text[:clause] if clause > 0 else text[: text.rfind(" ", 0, _SHORT)].rstrip(",;:") + "…"


def _metric_row(name: str, cls: type[Metric]) -> list[Cell]:
    needs = ", ".join(sorted(cls.needs)) or "–"
    low, high = (_format_bound(b) for b in cls.range)
    kind = " (set)" if issubclass(cls, SetMetric) else ""
    better = _BETTER[cls.higher_is_better]
    return [
        *(name + kind, _format_parameters(cls), needs, f"{low} to {high}", better, cls.languages),
        *(_first_sentence(cls), cls.citation),
    ]


def _format_default(field: dataclasses.Field[typing.Any]) -> str:
    return "…" if field.default is dataclasses.MISSING else repr(field.default)


def _format_bound(value: float) -> str:
    return "no bound" if math.isinf(value) else f"{value:g}"


def source_table() -> Table:
    """Every source of candidates."""
    from rejoinder.sources import source_class, source_names

    rows: list[list[Cell]] = []
    for name in source_names():
        cls = source_class(name)
        rows.append([name, _format_parameters(cls), _first_sentence(cls), cls.citation])
    notes = ["A source proposes replies from a corpus of dialogues; see docs/speakers.md and docs/retrieval.md."]
    return Table("Sources", ["source", "parameters (default)", "what it is", "citation"], rows, notes)


def system_table() -> Table:
    """Every kind of system that can choose among candidates."""
    from rejoinder.systems import system_class, system_names

    rows: list[list[Cell]] = []
    for name in system_names():
        cls = system_class(name)
        rows.append([name, _format_parameters(cls), _first_sentence(cls), cls.citation])
    notes = [
        "Use: rejoinder select TESTSET --system SPEC. A metric's spec is also a system, as are hf:NAME, "
        "generator:FOLDER and ./mine.py:function; see docs/systems.md."
    ]
    return Table("Systems", ["system", "parameters (default)", "what it is", "citation"], rows, notes)


def _format_parameters(cls: type) -> str:
    return ", ".join(f"{f.name}={_format_default(f)}" for f in dataclasses.fields(cls)) or "–"


def _first_sentence(cls: type) -> str:
    return (inspect.getdoc(cls) or "").split("\n")[0].replace("``", "'")


def importer_table() -> Table:
    """Every importer with its one-line summary."""
    from rejoinder.data.importers import importer, importer_names

    rows: list[list[Cell]] = [[name, importer(name).SUMMARY] for name in importer_names()]
    return Table("Importers", ["name", "what it reads"], rows, ["Use: rejoinder import NAME PATH -o chats.jsonl"])


def dataset_table() -> Table:
    """Every published set, and whether its files are in the data folder."""
    from rejoinder.data.datasets import list_datasets

    home = data_home()
    rows: list[list[Cell]] = []
    for dataset in list_datasets():
        is_present = all((home / file.path).is_file() for file in dataset.files)
        rows.append([dataset.name, "yes" if is_present else "no", dataset.summary, dataset.licence, dataset.citation])
    notes = [
        "Use: rejoinder score dataset:NAME; rejoinder data get NAME downloads it, rejoinder data show NAME lists its "
        "files.",
        f"The data folder is {home} (set REJOINDER_DATA to change it)."
        if home.is_dir()
        else "There is no data folder yet (set REJOINDER_DATA to one, or download a set).",
    ]
    return Table("Published sets", ["name", "here", "what it is", "licence", "citation"], rows, notes)


def rubric_table() -> Table:
    """Every rubric for judges: what it rates and needs, and its card."""
    from rejoinder.judges.rubric import ALIASES, load_rubric, rubric_names

    rows: list[list[Cell]] = []
    for name in rubric_names():
        rubric, aliases = load_rubric(name), [alias for alias, target in ALIASES.items() if target == name]
        parts = (", ".join(part.replace("_", " ") for part in of) or "–" for of in (rubric.needs, rubric.shows))
        card = (rubric.card.get(key, "–") for key in ("purpose", "tried_on", "not_for"))
        scale = f"{rubric.low} to {rubric.high}"
        rows.append([", ".join([name, *aliases]), rubric.unit, *parts, scale, *card])
    heads = ["rubric", "rates", "needs", "also shows", "scale", "what for", "tried on", "not for"]
    return Table("Rubrics", heads, rows, [_RUBRIC_NOTE])


def short_rubric_table() -> Table:
    """Every rubric for judges in one line."""
    whole = rubric_table()
    rows = [[row[0], row[1], row[2], _shorten(str(row[5]))] for row in whole.rows]
    notes = [
        *whole.notes,
        "What is shown besides, what each was tried on and is not for: rejoinder list rubrics --long",
    ]
    return Table(whole.title, ["rubric", "rates", "needs", "what for"], rows, notes)


def price_table() -> Table:
    """The prices by which the cost of judges is computed."""
    from rejoinder.judges.prices import INPUT_PRICE, OUTPUT_PRICE, list_prices, user_prices_path
    from rejoinder.judges.settings import read_token_prices

    rows: list[list[Cell]] = [
        [pattern, f"{price.input:g}", f"{price.output:g}", price.currency or "–", price.source]
        for pattern, price in list_prices()
    ]
    notes = [
        "Per million tokens. Prices change: compare them with your provider's.",
        f'Your own: write them to {user_prices_path()}, as ["NAME"] and below it input = 0.15 and output = 0.60.',
    ]
    if read_token_prices() is not None:
        notes.append(f"{INPUT_PRICE} and {OUTPUT_PRICE} are set, and count instead of all of these.")
    return Table("Prices", ["model", "input", "output", "currency", "where from"], rows, notes)


LISTS: dict[str, Callable[[], Table]] = {
    "metrics": metric_table,
    "rubrics": rubric_table,
    "prices": price_table,
    "sources": source_table,
    "systems": system_table,
    "importers": importer_table,
    "datasets": dataset_table,
}

PLUG_INS = "rejoinder.reports.listing"  # the group of entry points, each a function that returns a table
SHORT_LISTS = {"metrics": short_metric_table, "rubrics": short_rubric_table}


def list_(what: str) -> Table:
    """A table of all metrics, rubrics, prices, sources, systems, importers, published sets, or of a plug-in's.

    - ``what``: ``metrics``, ``rubrics``, ``prices``, ``sources``, ``systems``, ``importers``, ``datasets``, with
      rejoinder-lab also ``reproductions``.

    >>> import rejoinder
    >>> "aptness" in [row[0] for row in rejoinder.list_("metrics").rows]
    True
    """
    if what in LISTS:
        return LISTS[what]()
    for entry in find_entry_points(PLUG_INS):
        if entry.name == what:
            table: Table = entry.load()()
            return table
    if what in lab.LISTS:
        raise SpecError(explain_absence(f"the list of {what}"))
    raise SpecError(f"there is no list of {what!r}; {nearest(what, LISTS)}")


def weights_table() -> Table:
    """The sets of shipped weights: whether each is installed, what it has, under which licences."""
    from rejoinder.model_use import format_licence
    from rejoinder.models.weight_sets import DISTRIBUTIONS, LARGE, VARIABLE, WEIGHT_SETS, default_set, list_weights

    rows: list[list[Cell]] = []
    for name in (*WEIGHT_SETS, LARGE):
        models = list_weights(name)
        by_licence: dict[str, list[str]] = {}
        for model, licence in models.items():
            by_licence.setdefault(format_licence(licence), []).append(model)
        package = f"Python package {DISTRIBUTIONS[name]}"
        for licence, which in by_licence.items():
            rows.append([name, "yes", licence, ", ".join(which), package])
        if not models:
            rows.append([name, "no", None, None, package])
    notes = [
        f"{default_set()} is used where a metric names none (weights='SET'); set {VARIABLE} to choose for everything.",
        f"{LARGE} is the adapter of aptness(model='{LARGE}').",
        "NC in a licence: not for commercial use.",
    ]
    return Table("Sets of weights", ["weights", "here", "licence", "of", "from"], rows, notes)


def model_table() -> Table:
    """The catalog, and which models are in the cache."""
    from rejoinder.models.catalog import manifest
    from rejoinder.models.catalog.entries import MODELS
    from rejoinder.models.device import describe_backend

    rows: list[list[Cell]] = []
    for model in MODELS.values():
        available = "yes" if manifest.is_model_available(model) else "no"
        size = format_model_size(model.size) if model.size else "–"
        licence = manifest.find_licence(model)
        rows.append([model.name, model.kind, available, size, licence, str(model.origin), model.purpose])
    notes = [
        "Use: rejoinder models get NAME. The size is what is downloaded.",
        f"Downloaded models are in {manifest.models_home()} (set REJOINDER_CACHE to move it).",
        f"Models compute on {describe_backend()} (set REJOINDER_DEVICE to cpu or cuda to choose).",
    ]
    return Table("Models", ["name", "kind", "here", "size", "licence", "from", "what for"], rows, notes)


def format_model_size(n: int) -> str:
    """The size of a model as the catalog shows it."""
    return f"{n / 1e6:,.0f} MB" if n >= 1e6 else f"{n / 1e3:.1f} kB"
