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


_LOG = logging.getLogger("rejoinder.data.inputs")


def show_notes(is_shown: bool) -> None:
    """Print what an input was read as, or leave it to the command; either way Python warns of nothing."""
    _LOG.setLevel(logging.INFO)
    _LOG.removeHandler(_HANDLER)
    if is_shown:
        _LOG.addHandler(_HANDLER)


def end_notes() -> None:
    """Have the library say it as it does in Python."""
    _LOG.setLevel(logging.NOTSET)
    _LOG.removeHandler(_HANDLER)
