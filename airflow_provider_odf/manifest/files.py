"""Files in a folder: those that may hold manifests, the names of the datasets in them, and those next to manifests
(settings, data contracts)."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import ManifestInvalid, Place, Problem
from airflow_provider_odf.manifest.document import Document
from airflow_provider_odf.manifest.names import is_alias
from airflow_provider_odf.manifest.yaml_source import scan
from airflow_provider_odf.wording import nearest

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SETTINGS_FILE = "odf.yaml"
IGNORE_FILE = ".airflowignore"

_YAML = (".yaml", ".yml")
_CONTRACT = re.compile(r"(?:.*[.-])?datacontract\.ya?ml", re.IGNORECASE)
_OF_DATASET = re.compile(r"(.+)\.datacontract\.ya?ml")
_MISNAMED = re.compile(r"(.+?)[._-](?:data[._-])?(?:contract|odcs)\.ya?ml", re.IGNORECASE)
_ANY_NAME = re.compile(rb"\bname[\"']?\s*:\s*[\"']?([^\s\"',}]+)")
_PLAIN_NAME = re.compile(rb"[A-Za-z0-9./-]+")
_NAME_OF_CONTENT = re.compile(
    r"^content[ \t]*:[ \t]*(?:#.*)?\n(?:[ \t]*(?:#.*)?\n)*(?=([ \t]+))"  # the indentation of its first line
    r"(?:(?!---).*\n)*?\1name[ \t]*:[ \t]*[\"']?([^\s\"'#]+)[\"']?[ \t]*(?:#.*)?$",
    re.MULTILINE,
)


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
    """Yield a problem for each data contract in a folder and below without a dataset beside it, and for each file that
    is one of a dataset beside it by another name than that which counts.

    :param manifests: absolute paths of files, and the names of their datasets.
    """
    declaring, names_in = {file for file, _ in manifests}, defaultdict[Path, list[str]](list)
    for file, name in manifests:
        names_in[file.parent].append(name.rpartition("/")[2])
    for path in sorted(_walk(folder, (), {folder.resolve()})):
        own = _OF_DATASET.fullmatch(path.name)
        match = own or _MISNAMED.fullmatch(path.name)
        if match is None:
            continue
        names = names_in[path.parent]
        if own is None:
            if match[1] in names and path not in declaring:
                right = f"{match[1]}.datacontract.yaml"
                yield Problem(Place(str(path)), "a contract of this name is not used", f"rename it to `{right}`")
        elif match[1] not in names:
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


# --- names of datasets in files that may be invalid -----------------------------------------------------------------


def declared_names(file: Path) -> list[str]:
    """Return the names of the datasets that a file declares: by its YAML, or by its lines if that cannot be parsed."""
    try:
        text = file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return []
    documents, _ = scan(text, str(file))
    names = [*_of_documents(documents), *(match[2] for match in _NAME_OF_CONTENT.finditer(text))]
    return list({name.lower(): name for name in reversed(names) if is_alias(name)}.values())[::-1]


def may_declare(file: Path, name: str) -> bool:
    """Return whether a file may declare a dataset of a name, ignoring case and with ``.`` for ``/``. The file is read
    but not parsed."""
    try:
        names = _ANY_NAME.findall(file.read_bytes())
    except OSError:
        return False
    key = name.replace("/", ".").lower().encode()
    return any(text.replace(b"/", b".").lower() == key or not _PLAIN_NAME.fullmatch(text) for text in names)


def _of_documents(documents: list[Document]) -> Iterator[str]:
    for document in documents:
        try:
            content = document.value["content"]
        except (ManifestInvalid, KeyError, TypeError):
            continue
        if isinstance(content, dict) and isinstance(content.get("name"), str):
            yield content["name"]
