"""The files that match a glob, as `glob.glob` matches them, but a folder that cannot be read is an error.

To `glob.glob` such a folder is empty, so a poll would miss its files and report that there are no new ones.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterator, Sequence

from airflow_provider_odf.file_status import ABSENT, is_file, is_folder

_ANY_DEPTH = "**"


def matching(pattern: str, base: str | os.PathLike[str]) -> list[str]:
    """Return the paths of matching files, relative to the base if the pattern is. A path can occur several times.

    ``**`` matches folders at any depth, without hidden ones, and follows links unless they lead back.

    :raises OSError: a folder or a file cannot be read.
    """
    if glob.has_magic(pattern):
        root, parts = ("/" if pattern.startswith("/") else ""), [part for part in pattern.split("/") if part]
        paths: Iterator[str] = _expand(os.fspath(base), root, parts) if not pattern.endswith("/") else iter(())
    else:
        paths = iter((pattern,))
    return [path for path in paths if is_file(os.path.join(base, path))]


def _expand(base: str, folder: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield the paths below a folder that match the parts of a pattern. Paths of missing files can be among them."""
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
    """Return the names in a folder that match a part of a pattern, none if there is no folder. Hidden ones match only
    a part that begins with a dot."""
    try:
        names = os.listdir(os.path.join(base, folder) or ".")
    except OSError as e:
        if e.errno not in ABSENT:
            raise
        return []
    matches = re.compile(fnmatch.translate(part)).match
    return [name for name in names if matches(name) and (part.startswith(".") or not name.startswith("."))]
