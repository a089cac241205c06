"""``rejoinder cache``: show how large the cache is, or clear it."""

from __future__ import annotations

import shutil

import click

from rejoinder.cli import _help

GROUP = _help.MODELS_AND_DATA


@click.command(short_help="Show or clear the cache")
@click.option(
    "--clear", is_flag=True, help="Delete everything that can be computed again; paid answers of endpoints stay."
)
@click.option("--paid", is_flag=True, help="With --clear: also delete the answers of endpoints, which were paid for.")
def command(clear: bool, paid: bool) -> None:
    """Show where the cache is and how large it is, or clear it.

    The answers of judges and systems at endpoints are in the cache too. They may have cost money, so --clear deletes
    them only with --paid.
    """
    from rejoinder.judges.stored_cost import FOLDERS, count_stored_answers
    from rejoinder.paths import cache_home

    if paid and not clear:
        raise click.UsageError("--paid is for --clear; write: rejoinder cache --clear --paid")
    home = cache_home()
    stored = count_stored_answers(home)
    files = [path for path in home.rglob("*") if path.is_file()]
    if clear and not paid:
        files = [path for path in files if path.relative_to(home).parts[0] not in FOLDERS]
    size = sum(path.stat().st_size for path in files)
    for entry in sorted(home.iterdir()) if clear and home.is_dir() else ():
        if entry.is_dir() and not entry.is_symlink() and (paid or entry.name not in FOLDERS):
            shutil.rmtree(entry, ignore_errors=True)
        elif entry.name not in FOLDERS:
            entry.unlink(missing_ok=True)
    done = "cleared" if clear else "in"
    click.echo(f"{len(files):,} files, {size / 2**20:,.1f} MiB {done} {home} (set REJOINDER_CACHE to move it)")
    if not stored.answers:
        return
    if clear and paid:
        click.echo(f"deleted, and to be paid again if needed: {stored.describe()}")
    elif clear:
        click.echo(f"kept: {stored.describe()}; delete them too with: rejoinder cache --clear --paid")
    else:
        click.echo(f"of these, {stored.describe()}; --clear keeps them unless --paid is added")
