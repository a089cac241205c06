"""What the library says while it reads inputs, on standard error."""

from __future__ import annotations

import logging

import click


class _ErrorStreamHandler(logging.Handler):
    """Prints messages as they are; the stream is looked up for each of them."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        click.echo(record.getMessage(), err=True)


_HANDLER = _ErrorStreamHandler()


def show_notes(is_shown: bool) -> None:
    """Print which columns of an input were taken for what, or stop doing so."""
    log = logging.getLogger("rejoinder.data.inputs")
    log.setLevel(logging.INFO if is_shown else logging.WARNING)
    log.removeHandler(_HANDLER)
    if is_shown:
        log.addHandler(_HANDLER)
