"""``rejoinder situate``: test sets of requests in a situation, with distractors and graded candidates."""

from __future__ import annotations

import click

from rejoinder.cli._situate_build import build, seeds
from rejoinder.cli._situate_people import grade, project
from rejoinder.cli._situate_statements import statements


@click.group("situate", short_help="Test sets of requests in a situation")
def command() -> None:
    """Build situated test sets as SUGAR was built: distractors, situations, and grades by people.

    SEEDS is JSONL with one seed a line (id, request, goal, reply, statements with categories, polarity), questions or
    items in our schema, or dataset:NAME such as dataset:sugar/0/train.
    """


for one in (build, statements, project, grade, seeds):
    command.add_command(one)
