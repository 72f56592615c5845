"""``Manifest``: a dataset as its file declares it, with the place of every value and of the characters in a query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from airflow_provider_odf.errors import Place, Problem
from airflow_provider_odf.manifest.document import Document
from airflow_provider_odf.manifest.model import DatasetSnapshot, TransformSql
from airflow_provider_odf.manifest.problems import locate

CONTENT = ("content",)

_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
_BLOCK_HEADER = re.compile(r"[|>][0-9+-]*[^\n]*\n")
_UNITS = {
    "'": re.compile(r"''|[^']"),
    '"': re.compile(r"\\x..|\\u.{4}|\\U.{8}|\\.|[^\"]", re.DOTALL),
    "": re.compile(r".", re.DOTALL),
}
_WHITE_ESCAPES = ("\\n", "\\t", "\\r", "\\ ", "\\_", "\\\n")


@dataclass(frozen=True)
class Manifest:
    """Dataset and the file that declares it. ``snapshot`` is in the chain's form, with each query in ``queries``."""

    snapshot: DatasetSnapshot
    file: Path
    document: Document = field(repr=False, compare=False)

    def place(self, *path: str | int) -> Place:
        """Return the place of a value of the snapshot: ``place("metadata", 0, "read", "ddl_schema", 2)``."""
        return place(self.document, path[1:] if path[:1] == CONTENT else path)

    def query_place(self, path: tuple[int, str], sql: TransformSql, number: int, line: int, column: int) -> Place:
        """Return the place of a character of a query.

        :param path: index of the event, and the property that has the queries.
        :param number: of the query, from 1; 0 stands for all queries.
        """
        if not number:
            return self.place("metadata", *path, "engine")
        start = self.place("metadata", *path, "queries", number - 1, "query")
        source = self.file.read_bytes().decode("utf-8-sig")
        return place_within(source, start, sql.steps[number - 1].query, line, column)


@dataclass(frozen=True)
class Loaded:
    """Result of loading files. A manifest with a problem is not among ``manifests``."""

    manifests: tuple[Manifest, ...]
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def place(document: Document, path: Sequence[str | int], offset: int = 0) -> Place:
    """Return the place of a value in the content of a document."""
    return document.place((*CONTENT, *locate(document.value["content"], path)), offset=offset)


def place_within(source: str, start: Place, text: str, line: int, column: int) -> Place:
    """Return the place in ``source`` of a character of ``text``, a scalar in any style that begins at ``start``.

    A text and its notation have the same characters except white space and escapes, so characters are counted.
    ``line`` and ``column`` count from 1 inside the text; 0 and invalid places give the start.
    """
    if not (line and start.line):
        return start
    lines = text.split("\n")
    before = "".join(lines[: line - 1]) + lines[min(line, len(lines)) - 1][: column - 1]
    count = len("".join(before.split()))
    begin = sum(map(len, source.splitlines(keepends=True)[: start.line - 1])) + start.column - 1
    position = _skip(source, begin, count)
    if position is None:
        return start
    head = source[:position]
    return Place(start.file, head.count("\n") + 1, position - (head.rfind("\n") + 1) + 1)


def _skip(source: str, begin: int, count: int) -> int | None:
    """Return the position of the scalar's character number ``count``, not counting white space."""
    match = _PROPERTIES.match(source, begin)
    position = match.end() if match else begin
    header = _BLOCK_HEADER.match(source, position)
    quote = source[position : position + 1] if source[position : position + 1] in ("'", '"') else ""
    position = header.end() if header else position + len(quote)
    unit = _UNITS[quote]
    while match := unit.match(source, position):
        is_white = match[0].isspace() or (quote == '"' and match[0] in _WHITE_ESCAPES)
        if not is_white and not count:
            return position
        count -= not is_white
        position = match.end()
    return None
