"""A remote folder by its address: an object store, or any other file system that pyarrow knows (extra: arrow).

``s3://bucket/logs``, ``s3://KEY:SECRET@bucket/logs?endpoint_override=HOST:PORT&scheme=http``, ``gs://``, ``file:///``.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from rejoinder.errors import InputError, MissingExtraError

_SCHEME_MARK = "://"
_BLOCK = 2**20
_SECRETS = re.compile(r"(?<=://)(?:[^/@?:]*:.*|[^/@?]*)@", re.DOTALL)  # with a colon: up to the last @
_MEANING = {
    "Cannot parse URI": "write its special characters percent-encoded, a / in a secret as %2F",
    "NO_SUCH_BUCKET": "there is no such bucket; check its name, or create it",
    "NETWORK_CONNECTION": "no server answers at this address; check the address and the network",
    "ACCESS_DENIED": "the server denied access; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "INVALID_ACCESS_KEY_ID": "the server does not know your key; check AWS_ACCESS_KEY_ID",
    "SIGNATURE_DOES_NOT_MATCH": "the server does not accept your secret; check AWS_SECRET_ACCESS_KEY",
    "RESOURCE_NOT_FOUND": "nothing was found there; check the address",
    "does not exist": "nothing was found there; check the address",
}


class RemoteFile(NamedTuple):
    """A file of a folder: its name there, and its size in bytes."""

    name: str
    size: int


def is_remote(name: str) -> bool:
    """Whether a name is an address such as ``s3://...``."""
    return _SCHEME_MARK in name


def join_address(address: str, name: str) -> str:
    """Return the address of a file in a folder."""
    base, mark, query = address.partition("?")
    return f"{base.rstrip('/')}/{quote(name)}{mark}{query}"


def split_address(address: str) -> tuple[str, str]:
    """Return the address of a file's folder, and the file's name in it."""
    base, mark, query = address.partition("?")
    folder, _, name = base.rstrip("/").rpartition("/")
    return f"{folder}{mark}{query}", unquote(name)


def redact_address(address: str) -> str:
    """Return an address that may be printed: without secrets and settings."""
    return _SECRETS.sub("", address).partition("?")[0]


class RemoteFolder:
    """A folder by its address; the server is contacted only when a method needs it."""

    def __init__(self, address: str) -> None:
        self.where = address
        self._system, self._base = _open_file_system(address)

    def files(self, allow_missing: bool = False) -> list[RemoteFile]:
        """Return all files below the folder (which may be ``missing``) by name, or the file itself if it is one."""
        from pyarrow import fs

        try:
            info = self._system.get_file_info(self._base)
            if info.is_file:
                return [RemoteFile(Path(info.path).name, int(info.size))]
            infos = self._system.get_file_info(fs.FileSelector(self._base, allow_missing, recursive=True))
        except OSError as error:
            raise self._explain("listed", "", error) from None
        prefix = len(self._base.rstrip("/")) + 1
        return sorted(RemoteFile(entry.path[prefix:], int(entry.size)) for entry in infos if entry.is_file)

    def check(self) -> None:
        """Raise if nothing can be stored there; called before anything is computed."""
        if self._system.type_name == "local":
            return
        bucket = self._base.partition("/")[0]
        try:
            exists = self._system.get_file_info(bucket).type.name != "NotFound"
        except OSError as error:
            raise self._explain("reached", "", error) from None
        if not exists:
            raise InputError(f"{redact_address(self.where)}: {_MEANING['NO_SUCH_BUCKET']}")

    def content(self, name: str) -> bytes | None:
        """Return the content of a small file, or None if there is no such file."""
        try:
            with self._system.open_input_stream(self._path(name), compression=None) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._explain("read", name, error) from None

    def fetch(self, name: str, target: Path) -> None:
        """Download a file."""
        try:
            with (
                self._system.open_input_stream(self._path(name), compression=None) as source,
                target.open("wb") as file,
            ):
                shutil.copyfileobj(source, file, _BLOCK)
        except OSError as error:
            raise self._explain("read", name, error) from None

    def put(self, name: str, raw: bytes) -> None:
        """Write a small file."""
        try:
            self._make_parent(name)
            with self._system.open_output_stream(self._path(name), compression=None) as stream:
                stream.write(raw)
        except OSError as error:
            raise self._explain("written", name, error) from None

    def send(self, source: Path, name: str) -> None:
        """Upload a file."""
        try:
            self._make_parent(name)
            with (
                source.open("rb") as file,
                self._system.open_output_stream(self._path(name), compression=None) as stream,
            ):
                shutil.copyfileobj(file, stream, _BLOCK)
        except OSError as error:
            raise self._explain("written", name, error) from None

    def _path(self, name: str) -> str:
        return f"{self._base.rstrip('/')}/{name}" if name else self._base

    def _make_parent(self, name: str) -> None:
        if self._system.type_name == "local":  # an object store has no folders
            Path(self._path(name)).parent.mkdir(parents=True, exist_ok=True)

    def _explain(self, what: str, name: str, error: OSError) -> InputError:
        address = redact_address(join_address(self.where, name) if name else self.where)
        return InputError(f"{address}: cannot be {what} ({_describe_error(error)})")


def _open_file_system(address: str) -> tuple[Any, str]:
    try:
        from pyarrow import fs
    except ImportError:
        raise MissingExtraError("pyarrow", "arrow", "an object store") from None
    try:
        system, path = fs.FileSystem.from_uri(address)
    except ValueError as error:
        raise InputError(
            f"{redact_address(address)}: is not the address of a file or folder ({_describe_error(error)})"
        ) from None
    except OSError as error:
        raise InputError(f"{redact_address(address)}: cannot be reached ({_describe_error(error)})") from None
    return system, path


def _describe_error(error: Exception) -> str:
    message = " ".join(str(error).split())
    return next((meaning for word, meaning in _MEANING.items() if word in message), message[:200])
