"""``rejoinder cache``: show how large the cache is, or clear it."""

from __future__ import annotations

import shutil

import click

from rejoinder.cli import _help

GROUP = _help.MODELS_AND_DATA


@click.command(short_help="Show or clear the cache")
@click.option("--clear", is_flag=True, help="Delete everything in the cache; it will be computed again when needed.")
def command(clear: bool) -> None:
    """Show where the cache is and how large it is, or clear it."""
    from rejoinder.paths import cache_home

    home = cache_home()
    files = [path for path in home.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    if clear:
        shutil.rmtree(home, ignore_errors=True)
    done = "cleared" if clear else "in"
    click.echo(f"{len(files):,} files, {size / 2**20:,.1f} MiB {done} {home} (set REJOINDER_CACHE to move it)")
