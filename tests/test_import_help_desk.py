"""Exports of help desks: bots reply, the people of the help desk are context, and events are no turns."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from importing import imported, save

import rejoinder
from rejoinder.cli import program
from rejoinder.data.collection import Collection
from rejoinder.data.importers import ImportTally
from rejoinder.data.importers._authors import EVENTS, find_author
from rejoinder.errors import InputError

DESK = """ticket_id,author_type,author,type,body,created_at
7,system,System,event,Chat started,2026-03-02 09:00
7,customer,Ida,message,Where is my order?,2026-03-02 09:01
7,bot,Crumb,message,It left this morning.,2026-03-02 09:02
7,customer,Ida,message,It is not here.,2026-03-02 09:03
7,agent,Jon,message,Jon joined the chat,2026-03-02 09:04
7,agent,Jon,message,Let me look.,2026-03-02 09:05
7,customer,Ida,message,Thanks. And oats?,2026-03-02 09:06
7,bot,Crumb,message,On Monday.,2026-03-02 09:07
7,system,,event,Ticket closed,2026-03-02 09:08
"""


def read_desk(path: Path, text: str, tally: ImportTally | None = None, **options: object) -> Collection:
    return imported("messages", save(path / "desk.csv", text), tally, **options)


def test_only_bots_reply_where_people_answer_too(tmp_path: Path) -> None:
    tally = ImportTally()
    found = read_desk(tmp_path, DESK, tally)
    assert {response.system for response in found.responses.values()} == {"Crumb"}
    assert [response.text for response in found.responses.values()] == ["It left this morning.", "On Monday."]
    last = found.items["7/5"]
    assert [(turn.speaker, turn.text) for turn in last.context] == [
        ("Ida", "Where is my order?"),
        ("Crumb", "It left this morning."),
        ("Ida", "It is not here."),
        ("Jon", "Let me look."),
        ("Ida", "Thanks. And oats?"),
    ]
    assert not last.future
    assert tally.left_out == {EVENTS: 3}
    assert tally.changes == {"messages of human agents (agent) = context, not replies": 1}


def test_people_are_the_systems_where_no_bot_answers(tmp_path: Path) -> None:
    tally = ImportTally()
    found = read_desk(tmp_path, DESK.replace("bot,Crumb", "agent,Ole"), tally)
    assert {response.system for response in found.responses.values()} == {"Ole", "Jon"}
    assert "no author is a bot, so the replies are those of the human agents (agent)" in tally.notes


def test_the_user_says_otherwise(tmp_path: Path) -> None:
    found = read_desk(tmp_path, DESK, bots=("Jon",))
    assert [response.text for response in found.responses.values()] == ["Let me look."]
    found = read_desk(tmp_path, DESK, bots=("agent", "bot"))
    assert len(found.responses) == 3


@pytest.mark.parametrize("bot", ["bot", "assistant", "virtual_agent", "AI Agent", "chatbot"])
@pytest.mark.parametrize("person", ["agent", "human_agent", "operator", "admin", "Live Agent", "staff"])
def test_roles_of_bots_and_of_people(tmp_path: Path, bot: str, person: str) -> None:
    rows = f"thread,role,text\na,visitor,Rye?\na,{bot},On Friday.\na,end-user,Sure?\na,{person},Quite.\n"
    tally = ImportTally()
    found = read_desk(tmp_path, rows, tally)
    assert [response.text for response in found.responses.values()] == ["On Friday."]
    assert tally.changes == {f"messages of human agents ({person}) = context, not replies": 1}


@pytest.mark.parametrize(
    ("name", "author"),
    [
        ("customer", "customer"), ("end-user", "customer"), ("visitor", "customer"), ("human", "customer"),
        ("human agent", "agent"), ("SupportAgent", "agent"), ("operator", "agent"), ("admin", "agent"),
        ("system", "event"), ("system_event", "event"), ("event", "event"),
        ("Support Bot", "bot"), ("virtual agent", "bot"), ("chatbot", "bot"), ("Ida", None), ("System Ltd", None),
    ],
)  # fmt: skip
def test_who_a_role_or_a_name_stands_for(name: str, author: str | None) -> None:
    assert find_author(name) == author


def test_an_agent_with_the_name_of_a_bot_is_a_bot_and_a_customer_is_not(tmp_path: Path) -> None:
    rows = "thread,role,name,text\na,customer,Abbot,Rye?\na,agent,Answer Bot,On Friday.\na,agent,Jon,At ten.\n"
    found = read_desk(tmp_path, rows)
    assert [response.text for response in found.responses.values()] == ["On Friday."]


def test_authors_may_be_in_the_column_of_types(tmp_path: Path) -> None:
    rows = "thread,type,name,text\na,user_message,Ida,Rye?\na,agent_message,Jon,One moment.\n"
    rows += "a,bot_message,Crumb,On Friday.\na,note,Jon,Rude.\na,assignment,Jon,Assigned to Ole\n"
    tally = ImportTally()
    found = read_desk(tmp_path, rows, tally)
    (item,), (response,) = found.items.values(), found.responses.values()
    assert (response.text, len(item.context)) == ("On Friday.", 2)
    assert tally.left_out == {EVENTS: 1, "internal notes": 1}


def test_what_customers_and_bots_say_is_no_event(tmp_path: Path) -> None:
    rows = "thread,role,text\na,customer,Ticket closed\na,bot,Your ticket is closed.\na,customer,I left the chat\n"
    tally = ImportTally()
    found = read_desk(tmp_path, rows + "a,bot,Case closed\n", tally)
    assert [len(item.context) for item in found.items.values()] == [1, 3]
    assert not tally.left_out


def test_a_system_message_that_opens_a_chat_with_a_model_is_its_prompt(tmp_path: Path) -> None:
    rows = "session_id,role,content\na,system,Be brief.\na,user,Rye?\na,assistant,<think>Hm.</think>On Friday.\n"
    tally = ImportTally()
    found = read_desk(tmp_path, rows, tally)
    (item,), (response,) = found.items.values(), found.responses.values()
    assert [turn.text for turn in item.context] == ["Rye?"]
    assert (item.meta, response.text) == ({"system_prompt": "Be brief."}, "On Friday.")
    assert tally.changes == {"system messages taken as the system prompt": 1}


def test_events_among_the_messages_beside_a_reply_are_no_turns(tmp_path: Path) -> None:
    said = [("system", "Be brief."), ("customer", "Rye?"), ("event", "Jon joined"), ("System", "Jon joined the chat")]
    row = {"messages": [{"role": role, "content": text} for role, text in said], "response": "On Friday.", "model": "m"}
    tally = ImportTally()
    (item,) = imported("jsonl", save(tmp_path / "rows.jsonl", [row]), tally).items.values()
    assert [turn.text for turn in item.context] == ["Rye?"]
    assert item.meta == {"system_prompt": "Be brief."}
    assert tally.left_out == {EVENTS: 2}


def test_logs_of_messages_may_have_the_roles_of_help_desks(tmp_path: Path) -> None:
    said = [("customer", "Rye?"), ("event", "Jon joined"), ("human_agent", "One moment."), ("bot", "On Friday.")]
    messages = [{"role": role, "content": text} for role, text in said]
    logs = [{"id": "a", "model": "m", "messages": messages}, {"id": "b", "model": "m", "messages": messages[:3]}]
    tally = ImportTally()
    found = imported("openai", save(tmp_path / "logs.jsonl", logs), tally)
    (item,), (response,) = found.items.values(), found.responses.values()
    assert [(turn.speaker, turn.text) for turn in item.context] == [("user", "Rye?"), ("agent", "One moment.")]
    assert response.text == "On Friday."
    assert tally.changes == {"messages of human agents = context, not replies": 1}
    assert tally.left_out == {EVENTS: 2, "conversations with human agents but no bot": 1}
    with pytest.raises(InputError, match=r"nothing in it could be imported.*human agents but no bot \(1\)"):
        imported("openai", save(tmp_path / "only.jsonl", logs[1:]))


def test_nobody_known_is_asked_about(tmp_path: Path) -> None:
    rows = "thread,name,text\na,Ida,Rye?\na,Jon,On Friday.\n"
    with pytest.raises(InputError, match=r"no author is a bot by its name.*--bot Jon"):
        read_desk(tmp_path, rows)


def test_it_is_said_on_the_terminal_and_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "desk.csv", DESK)
    result = CliRunner().invoke(program, ["score", "desk.csv", "-m", "length"])
    assert result.exit_code == 0, result.output
    said = "messages of human agents (agent) = context, not replies (1)"
    assert said in result.stderr
    assert f"left out: {EVENTS} (3)" in result.stderr
    assert said in rejoinder.read("desk.csv").imported[0]
