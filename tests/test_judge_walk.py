"""The commands of docs/judge.md, typed as they stand there, against a judge and people whose ways are known."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from judge_server import Handler, completion, forget_endpoints, served

import rejoinder
from rejoinder.cli import program
from rejoinder.server import server as servers

PAGE = (Path(__file__).parent.parent / "docs" / "judge.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```([^\n]*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [
    [line for line in text.splitlines() if line.startswith("rejoinder ")]
    for head, text in BLOCKS
    if head == "" and "rejoinder " in text
]
FILES = {head.partition(" ")[2]: text for head, text in BLOCKS if head.startswith("toml ")}
QUALITY = {"attentive": 4, "plain": 3, "drifter": 2, "parrot": 1}


def rate(text: str) -> int:
    """A judge that likes words, up to a point."""
    return min(5, 1 + len(text.split()) // 4)


def act(handler: Handler, sent: dict[str, Any]) -> None:
    shown = json.loads(sent["messages"][-1]["content"].splitlines()[1])
    if "reply" in shown:
        verdict: dict[str, Any] = {"score": rate(shown["reply"])}
    elif "conversation" in shown and "first reply" not in shown:
        verdict = {"score": rate(shown["conversation"][-1]["text"])}
    else:
        first, second = (
            rate(json.dumps(shown[f"{place} {what}"]))
            for place in ("first", "second")
            for what in ("reply", "conversation")
            if f"{place} {what}" in shown
        )
        verdict = {"better": "tie" if first == second else "first" if first > second else "second"}
    handler.give(200, completion(json.dumps({**verdict, "reason": "so"})))


def people_answer(project: Any, store: Any, sock: socket.socket, url: str) -> None:
    """Three people rate every unit instead of a server that waits for them."""
    sock.close()
    for unit in store.units():
        for number, rater in enumerate(("ana", "bo", "cy")):
            answer = {
                f"{aspect.name}.{key}": max(1, min(5, QUALITY[reply["system"]] + (number + len(unit.id)) % 3 - 1))
                for aspect in project.aspects
                for key, reply in unit.hidden["replies"].items()
            }
            store.record(rater, unit.id, answer, 5)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A folder with the files that the page names, and an endpoint that has every model."""
    forget_endpoints(monkeypatch)
    monkeypatch.chdir(tmp_path)
    open_socket = servers.open_listening_socket
    monkeypatch.setattr(servers, "open_listening_socket", lambda host, port: open_socket(host, 0))
    monkeypatch.setattr(servers, "serve_project", people_answer)
    CliRunner().invoke(program, ["demo"], catch_exceptions=False)
    shutil.copy("demo/chats.jsonl", "chats.jsonl")
    shutil.copy("demo/chats.jsonl", "talks.jsonl")
    for name, text in FILES.items():
        Path(name).write_text(text)
    with served(act) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        yield server


def enter(line: str) -> Any:
    done = CliRunner().invoke(program, shlex.split(line, comments=True)[1:], catch_exceptions=False)
    assert done.exit_code == 0, (line, done.output)
    return done


def test_from_a_judge_to_a_defensible_number_in_five_commands(workplace: Any) -> None:
    five = COMMANDS[0]
    assert len(five) == 5
    for line in five[:4]:
        enter(line)
    table = enter(five[4]).stdout
    assert "Ratings of 'appropriate' with judge(model='NAME')" in table
    assert "attentive" in table
    found = rejoinder.estimate("RUN", "judge", "ratings.jsonl", aspect="appropriate")
    assert found.sample.is_marked
    assert not found.warnings
    # The project itself gives the same numbers, and the number of ratings that a pilot asks for.
    assert enter(five[4].replace("ratings.jsonl", "project.toml")).stdout == table
    project = rejoinder.annotation.read_project_ratings("project.toml")
    assert {rating.meta["drawn"] for rating in project.ratings} == {"item"}
    words = "rejoinder power RUN --with-metric -m judge --aspect appropriate --half-width 0.2 --ratings "
    assert enter(words + "project.toml").stdout == enter(words + "ratings.jsonl").stdout
    with pytest.raises(rejoinder.RejoinderError, match="give read_project_ratings"):
        rejoinder.estimate("RUN", "judge", "project.toml")


def test_every_other_command_of_the_page_works_as_it_stands(workplace: Any) -> None:
    enter(COMMANDS[0][0])
    shutil.copytree("RUN", "runs/chats-1a2b3c4d")
    for line in [line for block in COMMANDS[1:] for line in block]:
        enter(line)
    assert "judge(model='NAME')" in enter("rejoinder judge run").stdout
