"""Names of files in a folder: those that may hold manifests, and those next to manifests (settings, data
contracts)."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import Place, Problem
from airflow_provider_odf.wording import nearest

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SETTINGS_FILE = "odf.yaml"
IGNORE_FILE = ".airflowignore"

_YAML = (".yaml", ".yml")
_CONTRACT = re.compile(r"(?:.*[.-])?datacontract\.ya?ml", re.IGNORECASE)
_OF_DATASET = re.compile(r"(.+)\.datacontract\.ya?ml")


def is_manifest_name(name: str) -> bool:
    """Return whether a file of this name may hold manifests: YAML, but neither data contract nor settings."""
    return name.endswith(_YAML) and not is_beside_manifests(name)


def is_beside_manifests(name: str) -> bool:
    """Return whether a file of this name belongs to manifests without being one: settings, a data contract."""
    return name == SETTINGS_FILE or _CONTRACT.fullmatch(name) is not None


def discover(folder: Path) -> list[Path]:
    """Return the sorted YAML files in a folder and below that may hold manifests, except those in ``.airflowignore``.

    Its patterns are globs as in ``.gitignore``, Airflow's default. Hidden folders are omitted, links are followed once.
    """
    return sorted(path for path in _walk(folder, (), {folder.resolve()}) if is_manifest_name(path.name))


def unknown_contracts(folder: Path, manifests: Collection[tuple[Path, str]]) -> Iterator[Problem]:
    """Yield a problem for each data contract in a folder and below without a dataset beside it.

    :param manifests: absolute paths of files, and the names of their datasets.
    """
    for path in sorted(_walk(folder, (), {folder.resolve()})):
        if (match := _OF_DATASET.fullmatch(path.name)) is None:
            continue
        names = [name.rpartition("/")[2] for file, name in manifests if file.parent == path.parent]
        if match[1] not in names:
            near = nearest(match[1], names)
            fix = f"did you mean `{near}{path.name.removeprefix(match[1])}`?" if near else ""
            yield Problem(Place(str(path)), f"no dataset {match[1]} in this folder: the contract is not used", fix)


def _walk(folder: Path, ignores: Sequence[tuple[Path, GitIgnoreSpec]], visited: set[Path]) -> Iterator[Path]:
    """Yield the YAML files that are not ignored."""
    ignores = (*ignores, *_ignores(folder))
    for entry in sorted(os.scandir(folder), key=lambda e: e.name):
        path = Path(entry.path)
        if entry.is_dir():
            if entry.name.startswith(".") or entry.name == "__pycache__" or _is_ignored(path, "/", ignores):
                continue
            if (real := path.resolve()) not in visited:
                visited.add(real)
                yield from _walk(path, ignores, visited)
        elif entry.name.endswith(_YAML) and entry.is_file() and not _is_ignored(path, "", ignores):
            yield path


def _ignores(folder: Path) -> Iterator[tuple[Path, GitIgnoreSpec]]:
    file = folder / IGNORE_FILE
    if file.is_file():
        from pathspec import GitIgnoreSpec

        lines = (re.sub(r"\s*#.*", "", line) for line in file.read_text(errors="replace").splitlines())
        yield folder, GitIgnoreSpec.from_lines(filter(_is_pattern, lines))


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _is_ignored(path: Path, suffix: str, ignores: Sequence[tuple[Path, GitIgnoreSpec]]) -> bool:
    """Return whether a file is ignored: the last matching pattern counts, and deeper folders come later."""
    verdict = False
    for folder, spec in ignores:
        result = spec.check_file(path.relative_to(folder).as_posix() + suffix).include
        verdict = verdict if result is None else result
    return verdict
