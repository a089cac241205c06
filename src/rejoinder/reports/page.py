"""The HTML report of a run: one self-contained file that is the same, byte for byte, for the same run.

Every text that comes from data is escaped by the template engine. In case that ever fails, a content security policy
allows only the page's own style and script, by their digests.
"""

from __future__ import annotations

from rejoinder.model_use import describe_restrictions
from rejoinder.reports.chart import Markup
from rejoinder.reports.environment import GENERATOR, csp_hash, make_environment, read_template
from rejoinder.reports.examples import select_examples
from rejoinder.reports.findings import RunFindings
from rejoinder.reports.leaderboard import list_leaderboards
from rejoinder.reports.missing import count_flags, matched_table, missing_table
from rejoinder.reports.people import aspect_sections
from rejoinder.reports.reply_table import make_reply_table
from rejoinder.reports.summary import (
    describe_inputs,
    describe_ratings,
    describe_records,
    describe_run,
    repeat_commands,
    verdict_sentences,
)
from rejoinder.reports.verdict import decide_verdict


def render_run_page(findings: RunFindings) -> str:
    """The report page of a run."""
    style, script = (Markup(read_template(name)) for name in ("page.css", "page.js"))
    return (
        make_environment()
        .get_template("page.html")
        .render(
            generator=GENERATOR,
            policy=f"default-src 'none'; style-src {csp_hash(style)}; script-src {csp_hash(script)}; img-src data:; "
            "base-uri 'none'; form-action 'none'",
            style=style,
            script=script,
            title=describe_inputs(findings),
            about=findings.about,
            restrictions=describe_restrictions(findings.about["metrics"]),
            systems=findings.scores.systems,
            records=describe_records(findings),
            lead=describe_run(findings),
            verdict=decide_verdict(findings),
            sentences=verdict_sentences(findings),
            ratings=describe_ratings(findings),
            overview=findings.scores.table(),
            boards=list_leaderboards(findings),
            aspects=aspect_sections(findings),
            galleries=select_examples(findings),
            replies=make_reply_table(findings),
            matched=matched_table(findings),
            missing=missing_table(findings),
            flags=count_flags(findings),
            commands=repeat_commands(findings),
            seed=findings.seed,
        )
    )
