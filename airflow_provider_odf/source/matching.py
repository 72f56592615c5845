"""Globs, with the same meaning for files of this machine and for the keys of an object store.

A pattern has parts between slashes. ``**`` matches folders at any depth, without hidden ones; other parts match one
name. Hidden names, which begin with a dot, match only a part that begins with one.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterator, Sequence

from airflow_provider_odf.file_status import ABSENT, is_folder

_ANY_DEPTH = "**"
_MAGIC = re.compile(r"[*?[]")


def fixed(pattern: str) -> str:
    """Return the text before the first wildcard of a pattern.

    >>> fixed("in/2024-*/a?.csv")
    'in/2024-'
    """
    match = _MAGIC.search(pattern)
    return pattern[: match.start()] if match else pattern


def matches(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether the names of a path match the parts of a pattern.

    >>> matches(["in", "a", "b.csv"], ["in", "**", "*.csv"])
    True
    """
    if not names or not parts:
        return not names and not parts
    if parts[0] != _ANY_DEPTH:
        return _is_match(names[0], parts[0]) and matches(names[1:], parts[1:])
    rest = parts[1:] or ("*",)
    return matches(names, rest) or (_is_match(names[0], "*") and matches(names[1:], parts))


def paths(pattern: str, base: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the paths that match a pattern, relative to the base if the pattern is. Paths of folders and of missing
    files can be among them, and a path can occur several times. Links are followed unless they lead back.

    :raises OSError: a folder cannot be read.
    """
    if not glob.has_magic(pattern):
        yield pattern
    elif not pattern.endswith("/"):
        root, parts = ("/" if pattern.startswith("/") else ""), [part for part in pattern.split("/") if part]
        yield from _expand(os.fspath(base), root, parts)


def _expand(base: str, folder: str, parts: Sequence[str]) -> Iterator[str]:
    part, rest = parts[0], parts[1:]
    if part == _ANY_DEPTH:
        for below in _folders(base, folder, ()):
            yield from _expand(base, below, rest or ["*"])
        return
    for name in _names(base, folder, part) if glob.has_magic(part) else [part]:
        path = os.path.join(folder, name)
        if rest:
            yield from _expand(base, path, rest)
        else:
            yield path


def _folders(base: str, folder: str, above: tuple[str, ...]) -> Iterator[str]:
    """Yield a folder and those below it, except links to a folder above them."""
    real = os.path.realpath(os.path.join(base, folder))
    if real in above:
        return
    yield folder
    for name in _names(base, folder, "*"):
        path = os.path.join(folder, name)
        if is_folder(os.path.join(base, path)):
            yield from _folders(base, path, (*above, real))


def _names(base: str, folder: str, part: str) -> list[str]:
    """Return the names in a folder that match a part of a pattern, none if there is no folder."""
    try:
        names = os.listdir(os.path.join(base, folder) or ".")
    except OSError as e:
        if e.errno not in ABSENT:
            raise
        return []
    return [name for name in names if _is_match(name, part)]


def _is_match(name: str, part: str) -> bool:
    return (part.startswith(".") or not name.startswith(".")) and fnmatch.fnmatchcase(name, part)
