"""Exports and imports: every form leaves in every format that can hold it and comes back the same.

The files are also read by the tools that the formats belong to, where those are installed.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest

from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.exports import export_judgements, import_judgements, list_judgement_formats
from rejoinder.annotation.exports.prolific import links_csv, study_link
from rejoinder.annotation.form import FORMS
from rejoinder.annotation.project import Project, ProjectCheck, RaterExercise
from rejoinder.annotation.store import open_store
from rejoinder.annotation.store.base import Store
from rejoinder.annotation.unit import FormName
from rejoinder.annotation.units import make_units
from rejoinder.data.collection import collect, read_files
from rejoinder.data.writer import write
from rejoinder.errors import InputError, SpecError
from rejoinder.types import Item, Preference, Rating, Reference, Response, Turn
from tests.annotation_projects import NAMES, SYSTEMS, answer_to, data, project_of, units_for

TEXTS: tuple[FormName, ...] = ("write", "situation")
RATED = [form for form in NAMES if form not in TEXTS]
Opened = Callable[..., Store]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    stores: list[Store] = []

    def open_one(project: Project, items: int = 4, name: str = "a", judged: int = 2) -> Store:
        path = tmp_path / "data.jsonl"
        if not path.exists():
            write(data(items), path)
        store = open_store(
            Project(**{f: getattr(project, f) for f in project.__dataclass_fields__} | {"data": (str(path),)}),
            str(tmp_path / f"{name}.sqlite"),
        )
        store.load(units_for(project, items))
        for n in range(judged):
            judge(store, f"rater-{n}")
        stores.append(store)
        return store

    yield open_one
    for store in stores:
        store.close()


def judge(store: Store, name: str, seed: object = "") -> None:
    """One rater answers everything there is."""
    me = store.who(store.add_rater(name))
    assert me is not None
    while (given := store.next_unit(me)) is not None:
        store.submit(me, given.id, answer_to(store.project, given.unit, f"{name}{seed}"), 4)


def answers(store: Store) -> dict[tuple[str, str], Any]:
    return {(j.unit, j.rater): j.answer for j in store.judgements() if j.kind != "exercise"}


def table(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def test_the_formats_are_listed_and_a_wrong_name_tells_the_nearest(opened: Opened) -> None:
    assert list(list_judgement_formats()) == [
        *("ratings", "csv", "texts", "crowdkit", "labelstudio", "labelstudio-config", "mturk", "mturk-layout")
    ]
    assert list(list_judgement_formats(readable=True)) == ["ratings", "csv", "crowdkit", "labelstudio", "mturk"]
    store = opened(project_of(), judged=0)
    with pytest.raises(SpecError, match="did you mean 'crowdkit'"):
        export_judgements(store, "crowd-kit")
    with pytest.raises(SpecError, match="there is no format 'texts' here"):
        import_judgements(store, "texts", b"")


@pytest.mark.parametrize("form", NAMES)
@pytest.mark.parametrize("name", list(list_judgement_formats()))
def test_every_form_leaves_in_every_format_or_says_why_not(opened: Opened, form: FormName, name: str) -> None:
    store = opened(project_of(form, comments=True))
    texts = ("write", "situation", "validate", "review")
    if (name in ("ratings", "crowdkit") and form in TEXTS) or (name == "texts" and form not in texts):
        with pytest.raises(AnnotationError, match="collects"):
            export_judgements(store, name)
        return
    file = export_judgements(store, name)
    assert file.name.startswith("small.")
    assert file.content or name == "texts"  # it may be that nothing was approved
    assert export_judgements(store, name) == file  # the same results, the same bytes


@pytest.mark.parametrize("form", NAMES)
@pytest.mark.parametrize("name", ["csv", "labelstudio"])
def test_what_left_comes_back_the_same(opened: Opened, form: FormName, name: str) -> None:
    project = project_of(form, comments=True)
    there, here = opened(project), opened(project, name="b", judged=0)
    content = export_judgements(there, name).content
    count = len(there.judgements())
    assert import_judgements(here, name, content) == (count, 0, {})
    assert answers(here) == answers(there)
    assert import_judgements(here, name, content) == (0, count, {})
    if name == "csv":
        assert [j.at for j in here.judgements()] == pytest.approx([j.at for j in there.judgements()], abs=1e-3)
        assert export_judgements(here, "csv").content == content


@pytest.mark.parametrize("form", [form for form in RATED if form != "review"])
def test_ratings_come_back_the_same(opened: Opened, form: FormName) -> None:
    there, here = opened(project_of(form)), opened(project_of(form), name="b", judged=0)
    content = export_judgements(there, "ratings").content
    assert import_judgements(here, "ratings", content) == (len(there.judgements()), 0, {})
    assert answers(here) == answers(there)
    assert export_judgements(here, "ratings").content == content


@pytest.mark.parametrize("form", RATED)
def test_ratings_are_read_by_themselves_or_with_the_data(opened: Opened, form: FormName, tmp_path: Path) -> None:
    store = opened(project_of(form))
    path = tmp_path / "ratings.jsonl"
    path.write_bytes(export_judgements(store, "ratings").content)
    made = form in ("candidates", "grade", "references", "review")
    found = read_files([path] if made else [tmp_path / "data.jsonl", path])
    said = len(found.preferences) if form == "compare" else len(found.ratings)
    per_unit = {"rate": 2, "candidates": 3, "grade": 3, "validate": 2, "errors": 7}.get(form, 1)
    assert said == per_unit * len(store.judgements())
    if made:
        assert {r.response for r in found.ratings} == set(found.responses)


def test_preferences_name_the_responses_as_they_stood(opened: Opened) -> None:
    store = opened(project_of("compare"), judged=1)
    units = {unit.id: unit for unit in store.units()}
    records = [orjson.loads(line) for line in export_judgements(store, "ratings").content.splitlines()]
    chosen = {}
    for record in records:
        pair = {"first": record["first"], "second": record["second"], "tie": None}
        chosen[record["meta"]["unit"]] = pair[record["choice"]]
    for judgement in store.judgements():
        value = str(judgement.answer["overall"])
        replies = units[judgement.unit].hidden["replies"]
        assert chosen[judgement.unit] == (None if value == "tie" else replies[value]["response"])
    sides = Counter(record["first"].partition("/")[2] for record in records)
    assert len(sides) > 1  # not always the same system on the left


def test_labels_become_ratings_of_0_and_1(opened: Opened) -> None:
    store = opened(project_of("errors"), judged=1)
    ratings = [orjson.loads(line) for line in export_judgements(store, "ratings").content.splitlines()]
    given = Counter(label for j in store.judgements() for label in j.answer["errors.r1"] if label != "none")
    assert Counter(r["aspect"] for r in ratings if r["value"] == 1) == given
    assert {r["aspect"] for r in ratings} == set(store.project.labels)


def test_only_the_latest_answer_and_no_check_leaves_as_a_rating(opened: Opened) -> None:
    gold = ProjectCheck({"appropriate": 5}, "item-1/secret-beta")
    exercise = RaterExercise((ProjectCheck({}, None, {"context": ["Hi"], "reply": "Yes."}),), 0, 1)
    store = opened(project_of(gold=(gold,), exercise=exercise, checks_every=1), judged=0)
    judge(store, "ann")
    me = store.raters()[0]
    again = store.undo(me)
    assert again is not None
    store.submit(me, again.id, answer_to(store.project, again.unit, "changed"), 1)
    found = [orjson.loads(line) for line in export_judgements(store, "ratings").content.splitlines()]
    assert len(found) == 2 * 11
    assert "item-1/secret-beta" not in {r["response"] for r in found}
    kinds = Counter(row["kind"] for row in table(export_judgements(store, "csv").content))
    assert kinds == {"unit": 22, "gold": 2, "exercise": 2}


def test_texts_that_a_spreadsheet_would_run_are_marked_and_come_back_whole(opened: Opened) -> None:
    project = project_of("write")
    there, here = opened(project, judged=0), opened(project, name="b", judged=0)
    me = there.who(there.add_rater("ann"))
    assert me is not None
    for text in ("=1+1", "+1", "-1", "@x", "'quoted'", '"a", b\nc'):
        given = there.next_unit(me)
        if given is None:
            break
        there.submit(me, given.id, {"accepting": text, "rejecting": "no"}, 1)
    content = export_judgements(there, "csv").content
    assert not [row for row in table(content) for cell in row.values() if re.match("[=+@-]", cell)]
    import_judgements(here, "csv", content)
    assert answers(here) == answers(there)


def test_a_table_from_elsewhere_needs_four_columns_and_tells_what_it_leaves_out(opened: Opened) -> None:
    store = opened(project_of(), judged=0)
    unit = store.units()[0].id
    rows = [
        "unit,rater,field,value",
        f"{unit},ann,appropriate.r1,4",
        f"{unit},ann,on-topic.r1,5",
        f"{unit},bob,appropriate.r1,4",
        "nothing,ann,appropriate.r1,4",
        f"{unit},=cmd,appropriate.r1,4",
        f"{unit},=cmd,on-topic.r1,4",
    ]
    found = import_judgements(store, "csv", "\n".join(rows).encode())
    assert (found.added, found.already) == (1, 0)
    assert sum(found.left_out.values()) == 3
    assert any("on-topic.r1: please answer this" in reason for reason in found.left_out)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("csv", b"unit,rater\n1,2", "no column 'field'"),
        ("csv", b"\xff\xfe", "not valid UTF-8"),
        ("csv", b"unit,rater,field,value,seconds\na,b,c,1,soon", "invalid number in 'seconds' on line 2"),
        ("csv", b"unit,rater,field,value,at\na,b,c,1,soon", "invalid time in 'at' on line 2"),
        ("csv", b'unit,rater,field,value\n"a', "could not be read as CSV"),
        ("labelstudio", b"{", "not valid JSON"),
        ("labelstudio", b'[{"context": "x"}]', "not a list of tasks"),
        ("mturk", b"HITId\n1", "no column 'WorkerId'"),
        ("mturk", b"WorkerId,Input.unit,Answer.taskAnswers\nA,x,nonsense", "answers on line 2 of the results"),
        ("ratings", b"{}", "ratings line 1"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(opened: Opened, name: str, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        import_judgements(opened(project_of(), judged=0), name, content)


# Crowd-Kit


def test_crowd_kits_columns(opened: Opened) -> None:
    rows = table(export_judgements(opened(project_of("grade")), "crowdkit").content)
    assert set(rows[0]) == {"aspect", "task", "worker", "label"}
    assert len(rows) == 2 * 4 * 3
    assert rows[0]["task"].startswith("question-")
    two = table(export_judgements(opened(project_of(name="two"), name="two"), "crowdkit").content)
    assert {row["task"].partition(": ")[0] for row in two} == {"appropriate", "on-topic"}
    pairs = table(export_judgements(opened(project_of("compare", name="pairs"), name="pairs"), "crowdkit").content)
    assert set(pairs[0]) == {"aspect", "worker", "left", "right", "label"}
    assert all(row["label"] in (row["left"], row["right"]) for row in pairs)


@pytest.mark.parametrize("form", [form for form in RATED if form != "review"])
def test_crowd_kits_columns_come_back_the_same(opened: Opened, form: FormName) -> None:
    project = project_of(form, ties=False)
    there, here = opened(project), opened(project, name="b", judged=0)
    content = export_judgements(there, "crowdkit").content
    count = len(there.judgements())
    assert import_judgements(here, "crowdkit", content) == (count, 0, {})
    assert answers(here) == answers(there)
    assert import_judgements(here, "crowdkit", content) == (0, count, {})
    assert export_judgements(here, "crowdkit").content == content


def test_columns_of_crowd_kit_that_do_not_fit_are_told(opened: Opened) -> None:
    store = opened(project_of("grade"), judged=0)
    whole = "".join(f"question-0/c{c},ann,2\r\n" for c in range(3))
    rows = f"task,worker,label\r\n{whole}question-1/c0,ann,2\r\nquestion-9/c0,ann,1\r\n"
    taken = import_judgements(store, "crowdkit", rows.encode())
    assert (taken.added, taken.already) == (1, 0)
    assert sorted(taken.left_out.values()) == [1, 1]
    assert "for something that this project does not ask about" in taken.left_out
    wrong = import_judgements(store, "crowdkit", f"task,worker,label\r\n{whole.replace('ann,2', 'bea,7')}".encode())
    assert (wrong.added, sum(wrong.left_out.values())) == (0, 1)
    with pytest.raises(InputError, match="no column 'task'"):
        import_judgements(store, "crowdkit", b"worker,label\r\n")
    with pytest.raises(AnnotationError, match="collects texts"):
        import_judgements(
            opened(project_of("write", name="w"), name="w", judged=0), "crowdkit", b"task,worker,label\r\n"
        )


def test_what_came_in_without_a_time_has_none(opened: Opened) -> None:
    there, here = opened(project_of()), opened(project_of(), name="b", judged=0)
    import_judgements(here, "crowdkit", export_judgements(there, "crowdkit").content)
    assert {row["seconds"] for row in table(export_judgements(here, "csv").content)} == {""}
    assert b"seconds" not in export_judgements(here, "ratings").content
    raters = here.progress().raters
    assert raters
    assert all(math.isnan(one.median_seconds) for one in raters)


@pytest.mark.filterwarnings("ignore")  # of pandas, at what Crowd-Kit does with it
def test_crowd_kit_reads_its_columns(opened: Opened, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    aggregation = pytest.importorskip("crowdkit.aggregation")
    for form, model in (("grade", aggregation.DawidSkene(n_iter=10)), ("rate", aggregation.MajorityVote())):
        store = opened(project_of(form, name=form), name=form)
        path = tmp_path / f"{form}.csv"
        path.write_bytes(export_judgements(store, "crowdkit").content)
        frame = pandas.read_csv(path)
        labels = model.fit_predict(frame)
        assert set(labels.index) == set(frame["task"])
        if form == "rate":
            most = frame.groupby("task")["label"].agg(lambda found: found.value_counts().max())
            for task, label in labels.items():
                counts = frame[frame["task"] == task]["label"].value_counts()
                assert counts[label] == most[task]
    store = opened(project_of("compare", name="compare"), name="compare")
    path = tmp_path / "compare.csv"
    path.write_bytes(export_judgements(store, "crowdkit").content)
    scores = aggregation.BradleyTerry(n_iter=20).fit_predict(pandas.read_csv(path))
    assert scores.sum() == pytest.approx(1)


# Label Studio


def test_label_studios_configuration_names_what_the_tasks_have(opened: Opened) -> None:
    for form in NAMES:
        store = opened(project_of(form, name=form, comments=True), name=form)
        view = ElementTree.fromstring(export_judgements(store, "labelstudio-config").content)
        shown = {tag.get("name"): tag.get("value", "") for tag in view.iter("Text")}
        controls = {tag.get("name"): tag for tag in view.iter() if tag.tag in ("Choices", "TextArea")}
        assert all(control.get("toName") in shown for control in controls.values())
        used = {value[1:] for value in [*shown.values(), *(c.get("value", "") for c in controls.values())] if value}
        tasks = orjson.loads(export_judgements(store, "labelstudio").content)
        for task in tasks:
            assert used <= task["data"].keys()
            for annotation in task["annotations"]:
                for result in annotation["result"]:
                    control = controls[result["from_name"]]
                    assert result["to_name"] == control.get("toName")
                    allowed = {choice.get("alias") or choice.get("value") for choice in control.iter("Choice")}
                    assert set(result["value"].get("choices", ())) <= allowed
        assert not any(system in repr([task["data"] for task in tasks]) for system in SYSTEMS)


def test_label_studio_reads_its_files(opened: Opened) -> None:
    interfaces = pytest.importorskip("label_studio_sdk.label_interface")
    for form in NAMES:
        store = opened(project_of(form, name=form, comments=True), name=form)
        interface = interfaces.LabelInterface(export_judgements(store, "labelstudio-config").content.decode())
        interface.validate()
        tasks = orjson.loads(export_judgements(store, "labelstudio").content)
        assert tasks
        for task in tasks:
            assert interface.validate_task({"data": task["data"]})
            for annotation in task["annotations"]:
                assert interface.validate_annotation(annotation), (form, annotation)


def test_label_studio_converts_its_file(opened: Opened, tmp_path: Path) -> None:
    converter = pytest.importorskip("label_studio_sdk.converter")
    store = opened(project_of())
    (tmp_path / "tasks.json").write_bytes(export_judgements(store, "labelstudio").content)
    config = export_judgements(store, "labelstudio-config").content.decode()
    made = converter.Converter(config, str(tmp_path), download_resources=False)
    made.convert_to_csv(str(tmp_path / "tasks.json"), str(tmp_path / "out"), is_dir=False, sep=",")
    rows = table((tmp_path / "out" / "result.csv").read_bytes())
    assert len(rows) == len(store.judgements())
    by_unit = {(j.unit, str(j.answer["appropriate.r1"])) for j in store.judgements()}
    assert {(row["unit"], row["appropriate_r1"]) for row in rows} == by_unit


def test_annotations_made_in_label_studio_come_in_under_its_users(opened: Opened) -> None:
    there, here = opened(project_of(), judged=1), opened(project_of(), name="b", judged=0)
    tasks = orjson.loads(export_judgements(there, "labelstudio").content)
    for task in tasks:
        del task["meta"]
        task["annotations"].append({**task["annotations"][0], "completed_by": {"id": 7, "email": "x@example.org"}})
        task["annotations"].append({**task["annotations"][0], "completed_by": 8, "was_cancelled": True})
    found = import_judgements(here, "labelstudio", orjson.dumps(tasks))
    assert found == (2 * len(tasks), 0, {"cancelled": len(tasks)})
    assert {j.rater for j in here.judgements()} == {"labelstudio-1", "labelstudio-7"}


# Mechanical Turk


class Layout(HTMLParser):
    """The inputs of a layout, by name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inputs: dict[str, list[str]] = {}
        self.tags: Counter[str] = Counter()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags[tag] += 1
        if tag in ("input", "textarea"):
            self.inputs.setdefault(given["name"] or "", []).append(given.get("value") or "")


@pytest.mark.parametrize("form", NAMES)
def test_the_layout_of_mechanical_turk_uses_the_columns_of_its_input(opened: Opened, form: FormName) -> None:
    store = opened(
        project_of(
            form,
            comments=True,
            title="Pay $5? ${unit} <b>",
            replies_per_unit=2 if form == "rate" else FORMS[form].replies_per_unit,
        )
    )
    layout = export_judgements(store, "mturk-layout").content.decode()
    rows = table(export_judgements(store, "mturk").content)
    assert set(re.findall(r"\$\{(\w+)\}", layout)) == set(rows[0]) - {"unit"}
    assert "<b>" not in layout
    assert len(rows) == len(store.units())
    assert not any(system in repr(rows) for system in SYSTEMS)
    found = Layout(layout)
    assert found.tags["crowd-form"] == 1
    assert "comment" in found.inputs


def test_texts_of_mechanical_turk_are_html_in_the_basic_plane() -> None:
    found = collect(
        [
            Item("a", (Turn("<script>alert(1)</script> 🙂\nNew line", "user"),)),
            Response("a/s", "a", "s", '=SUM("x") & more'),
        ]
    )
    from rejoinder.annotation.exports import export_results
    from rejoinder.annotation.store.results import ProjectResults

    project = project_of()
    units = {unit.id: unit for unit in make_units(project, found)}
    (row,) = table(export_results(ProjectResults(project, units, ()), "mturk").content)
    assert row["context"] == "user: &lt;script&gt;alert(1)&lt;/script&gt; &#128578;<br>New line"
    assert row["r1"] == "&#61;SUM(&quot;x&quot;) &amp; more"


def results_file(store: Store, shape: str) -> bytes:
    """What Mechanical Turk gives back, made from the answers in a store, in one of its three shapes."""
    from rejoinder.annotation.exports._shape import find_shape
    from rejoinder.annotation.store.results import read_results

    names = find_shape(read_results(store)).fields
    rows = []
    for judgement in store.judgements():
        row: dict[str, Any] = {"HITId": "H", "WorkerId": f"W{judgement.rater}", "WorkTimeInSeconds": "12"}
        row |= {"AssignmentStatus": "Approved", "Input.unit": judgement.unit}
        nested: dict[str, Any] = {}
        for name, field in names.items():
            value = judgement.answer.get(field.name)
            if value is None:
                continue
            if field.kind == "labels":
                for n, option in enumerate(field.options):
                    nested[f"{name}.{n}"] = {"on": isinstance(value, list) and option.value in value}
            elif field.kind == "choice":
                nested[name] = {str(option.value): option.value == value for option in field.options}
            else:
                nested[name] = value
        if shape == "together":
            row["Answer.taskAnswers"] = orjson.dumps([nested]).decode()
        for name, inner in nested.items() if shape != "together" else ():
            if isinstance(inner, dict) and shape == "flat":
                row |= {f"Answer.{name}.{key}": str(ticked).lower() for key, ticked in inner.items()}
            elif isinstance(inner, dict):
                row[f"Answer.{name}"] = next((key for key, ticked in inner.items() if ticked), "")
            else:
                row[f"Answer.{name}"] = inner
        rows.append(row)
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(dict.fromkeys(key for row in rows for key in row)), restval="")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


@pytest.mark.parametrize("form", NAMES)
@pytest.mark.parametrize("shape", ["plain", "flat", "together"])
def test_the_results_of_mechanical_turk_come_in_under_pseudonyms(opened: Opened, form: FormName, shape: str) -> None:
    project = project_of(form)
    there, here = opened(project), opened(project, name="b", judged=0)
    found = import_judgements(here, "mturk", results_file(there, shape))
    assert found == (len(there.judgements()), 0, {})
    names = {j.rater for j in here.judgements()}
    assert len(names) == min(2, project.raters_per_unit)
    assert all(re.fullmatch("mturk-[0-9a-f]{16}", name) for name in names)
    assert sorted(map(repr, answers(here).values())) == sorted(map(repr, answers(there).values()))
    assert {j.seconds for j in here.judgements()} == {12.0}


def test_rejected_results_of_mechanical_turk_stay_out(opened: Opened) -> None:
    there, here = opened(project_of()), opened(project_of(), name="b", judged=0)
    content = results_file(there, "plain").replace(b"Approved", b"Rejected", 1)
    assert import_judgements(here, "mturk", content).left_out == {"rejected": 1}


# Prolific


def test_prolifics_links() -> None:
    assert study_link("https://example.org/r/abc") == (
        "https://example.org/r/abc?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    rows = table(links_csv({"rater-1": "https://example.org/r/abc"}))
    assert rows == [{"rater": "rater-1", "link": "https://example.org/r/abc", "places": "1"}]


# Texts


def read_back(store: Store, tmp_path: Path) -> Any:
    path = tmp_path / "texts.jsonl"
    path.write_bytes(export_judgements(store, "texts").content)
    return read_files([path])


def test_what_was_written_becomes_responses_that_can_be_validated(opened: Opened, tmp_path: Path) -> None:
    written = read_back(opened(project_of("write")), tmp_path)
    assert len(written.items) == 4
    assert len(written.responses) == 4 * 2 * 2
    assert {r.system for r in written.responses.values()} == {"rater-0", "rater-1"}
    assert {r.meta["aspect"] for r in written.responses.values()} == {"accepting", "rejecting"}
    project = project_of("validate", replies_per_unit=0)
    assert all(unit.hidden["not_for"] == ["rater-0", "rater-1"] for unit in make_units(project, written))


def test_situations_become_statements_in_their_categories(opened: Opened, tmp_path: Path) -> None:
    found = read_back(opened(project_of("situation"), judged=1), tmp_path)
    statements = found.items["item-0"].situation
    assert {s.category for s in statements} == {*("location", "possession", "time", "date", "behavior", "environment")}
    assert {s.text for s in statements} == {"The window is open.", "The user is at home."}


def test_two_of_three_approvals_make_a_reference(opened: Opened, tmp_path: Path) -> None:
    store = opened(project_of("validate"), judged=0)
    yes = {"item-0/secret-alpha": 3, "item-0/secret-beta": 2, "item-0/secret-gamma": 1}  # the rest: nobody
    for n in range(3):
        me = store.who(store.add_rater(f"rater-{n}"))
        assert me is not None
        units = {unit.id: unit for unit in store.units()}
        while (given := store.next_unit(me)) is not None:
            response = units[given.unit.id].hidden["replies"]["r1"]["response"]
            helpful = int(yes.get(response, 0) > n)
            store.submit(me, given.id, {"new.r1": 1, "helpful.r1": helpful}, 1)
    found = read_back(store, tmp_path)
    assert list(found.items) == ["item-0"]
    added = [r for r in found.items["item-0"].references if r.source.startswith("secret-") and "reply to" in r.text]
    assert {r.source for r in added} == {"secret-alpha", "secret-beta"}


def test_reviewed_references_are_kept_edited_or_gone(opened: Opened, tmp_path: Path) -> None:
    store = opened(project_of("review"), judged=0)
    verdicts = {"I would look at 0 first.": "edit", "That is 0 again.": "reject", "I would look at 1 first.": "accept"}
    for unit in store.units():
        text = unit.payload["replies"][0]["text"]
        if text in verdicts:
            said = {"verdict.r1": verdicts[text]} | ({"text.r1": "Look at 0."} if verdicts[text] == "edit" else {})
            store.record("ann", unit.id, said, 1)
    items = read_back(store, tmp_path).items
    assert items["item-0"].references == (
        Reference("Of course, what about 0?"),
        Reference("Look at 0.", "secret-bm25, edited", 0.5, "I would look at 0 first."),
    )
    assert [r.text for r in items["item-1"].references] == ["Of course, what about 1?", "I would look at 1 first."]
    assert [r.text for r in items["item-2"].references] == ["Of course, what about 2?"]  # nobody has seen the others


def test_ratings_of_the_example_can_be_used_at_once(tmp_path: Path) -> None:
    import rejoinder
    from rejoinder.annotation.project_file import read_project

    example = Path(__file__).parent.parent / "examples" / "annotation" / "project.toml"
    project = read_project(example)
    store = open_store(project, str(tmp_path / "x.sqlite"))
    units = make_units(project)
    store.load(units)
    for unit in units:
        if unit.kind == "unit":
            store.record("ann", unit.id, answer_to(project, unit, 1), 3)
            store.record("bob", unit.id, answer_to(project, unit, 2), 3)
    path = tmp_path / "ratings.jsonl"
    path.write_bytes(export_judgements(store, "ratings").content)
    store.close()
    chats = read_files([example.parent.parent / "chats.jsonl"])
    bare = tmp_path / "bare.jsonl"
    write([r for r in chats if not isinstance(r, Rating | Preference)], bare)
    found = rejoinder.read(bare, path)
    assert len(found.ratings) == 2 * 2 * 191
    assert {r.rater for r in found.ratings} == {"ann", "bob"}
