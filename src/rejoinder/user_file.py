"""A Python file of the user's, run from its source, so that its digest is always that of the code that runs.

The digest covers the file and the modules that it imports from its own folder, at once or later. These are found there
without any setup, and run from the same bytes that the digest was computed of.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from rejoinder.errors import RejoinderError, SpecError

PREFIX = "rejoinder_user_"


class UserFile(NamedTuple):
    """A file that was run: its module, and the digest of all code of the user that it consists of."""

    module: ModuleType
    digest: str


class _ModuleSource(NamedTuple):
    """A module of a user's folder."""

    path: Path
    content: bytes


def load_user_file(file: str, called: str) -> UserFile:
    """Run a file, or return its module where it has not changed since; ``called`` is what it should define."""
    path = Path(file)
    if not path.is_file():
        raise SpecError(f"{file}: no such file (it was named as a {called})")
    try:
        main = _ModuleSource(path.resolve(), path.read_bytes())
        modules = dict(_find_modules(main))
    except OSError as error:
        raise SpecError(f"{file}: cannot be read ({error.strerror}); it was named as a {called}") from None
    sources = [("", main), *sorted(modules.items())]
    cached = _FILE_CACHE.get(main.path)
    if cached is None or cached[0] != sources:
        _FILE_CACHE[main.path] = sources, _run_file(file, main, sources[1:])
    return _FILE_CACHE[main.path][1]


def _run_file(file: str, main: _ModuleSource, modules: Sequence[tuple[str, _ModuleSource]]) -> UserFile:
    for name, source in modules:
        _FINDER.serve(file, name, source)
    digest = _digest_modules(main, modules)
    suffix = hashlib.sha256(str(main.path).encode() + digest.encode()).hexdigest()[:12]
    module = ModuleType(f"{PREFIX}{main.path.stem}_{suffix}")
    module.__file__ = str(main.path)
    sys.modules[module.__name__] = module
    try:
        exec(compile(main.content, file, "exec"), vars(module))
    except RejoinderError:
        raise
    except Exception as error:
        raise SpecError(f"{file}: {type(error).__name__}: {error}") from error
    return UserFile(module, digest)


def _digest_modules(main: _ModuleSource, modules: Sequence[tuple[str, _ModuleSource]]) -> str:
    digest = hashlib.sha256(main.content)
    for name, source in modules:
        digest.update(f"\n{name}:{hashlib.sha256(source.content).hexdigest()}".encode())
    return digest.hexdigest()[:12]


def _find_modules(main: _ModuleSource) -> Iterator[tuple[str, _ModuleSource]]:
    """The modules of a file's folder that it imports, and that these import, anywhere in their code."""
    folder, seen, queue = main.path.parent, set(), [("", main)]
    while queue:
        importer, source = queue.pop()
        package = importer if source.path.name == "__init__.py" else importer.rpartition(".")[0]
        for name in _imported_names(source.content, package):
            if name in seen:
                continue
            seen.add(name)
            base = folder.joinpath(*name.split("."))
            path = next((p for p in (base / "__init__.py", base.with_name(f"{base.name}.py")) if p.is_file()), None)
            if path is not None and _is_imported_from(name, path):
                module = _ModuleSource(path, path.read_bytes())
                queue.append((name, module))
                yield name, module


@functools.lru_cache(maxsize=256)
def _imported_names(content: bytes, package: str) -> tuple[str, ...]:
    """The names of all modules that some code may import, with their packages."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # running it will say what is wrong
        return ()
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            targets = [base, *(f"{base}.{alias.name}" if base else alias.name for alias in node.names)]
        elif isinstance(node, ast.Call) and _is_import_call(node):
            targets = [arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant) and type(arg.value) is str]
        else:
            continue
        for target in targets:
            parts = target.split(".")
            names |= dict.fromkeys(".".join(parts[:n]) for n in range(1, len(parts) + 1) if all(parts[:n]))
    return tuple(names)


def _is_import_call(node: ast.Call) -> bool:
    """Whether a call is ``importlib.import_module(...)`` or ``__import__(...)``."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in ("import_module", "__import__")


def _is_imported_from(name: str, path: Path) -> bool:
    """Whether a module comes from this file, and not from one of the same name of Python or of an installed package."""
    if name in _FINDER.sources:
        return True
    top, _, rest = name.partition(".")
    if rest:
        return top in _FINDER.sources or _is_imported_from(top, path.parents[rest.count(".")] / "__init__.py")
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if loaded is not None or name in sys.builtin_module_names:
        return loaded is not None and Path(loaded).resolve() == path
    spec = PathFinder.find_spec(name)
    return spec is None or spec.origin is None or Path(spec.origin).resolve() == path


class _UserModuleFinder(MetaPathFinder):
    """Finds the modules of users' folders, as they were when their digest was computed."""

    def __init__(self) -> None:
        self.sources: dict[str, _ModuleSource] = {}

    def serve(self, file: str, name: str, source: _ModuleSource) -> None:
        """Import a name from this module from now on."""
        before = self.sources.get(name)
        if before is not None and before.path != source.path:
            raise SpecError(
                f"{file}: imports {source.path}, and another file imports {before.path} under the same name; "
                "rename one of them, or use one at a time"
            )
        sys.modules.pop(name, None)  # it is run again, because its own imports may have changed
        self.sources[name] = source
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of a module, where it is one of a user's folder."""
        source = self.sources.get(fullname)
        if source is None:
            return None
        spec = spec_from_loader(
            fullname, _UserModuleLoader(source), origin=str(source.path), is_package=source.path.name == "__init__.py"
        )
        if spec is not None and spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(str(source.path.parent))
        if spec is not None:
            spec.has_location = True
        return spec


class _UserModuleLoader(InspectLoader):
    """Runs a module from bytes in memory."""

    def __init__(self, source: _ModuleSource) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:
        """Return its code as text."""
        return self._source.content.decode()

    def get_code(self, fullname: str) -> CodeType:
        """Return its code, compiled."""
        code: CodeType = compile(self._source.content, str(self._source.path), "exec")
        return code

    def is_package(self, fullname: str) -> bool:
        """Whether it has modules below it."""
        return self._source.path.name == "__init__.py"


_FINDER = _UserModuleFinder()
_FILE_CACHE: dict[Path, tuple[list[tuple[str, _ModuleSource]], UserFile]] = {}  # each file with its last sources
