"""Match the columns of a CSV file with those of the schema by the header."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_odf.engine.read.problem import ignored_columns
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import PositionalHeader
from airflow_provider_odf.wording import counted

_SEPARATORS = ";,\t|"


@dataclass(frozen=True)
class ColumnMatch:
    """Positions in the file for the columns of the schema, and notices for the user.

    ``headers`` has the header; if columns were matched by name, it has the names of the schema.
    """

    indexes: tuple[int, ...]
    notices: tuple[str, ...] = ()
    headers: tuple[PositionalHeader, ...] = ()


def match(header: Sequence[str], columns: Sequence[str], label: str) -> ColumnMatch:
    """Match columns by name if all of them match, else by position.

    Names are compared ignoring case and everything except letters and digits. A match by position needs a header with
    as many names, none of them at the position of another column.

    :raises InvalidQuery: neither is possible.
    """
    positions = _positions(header, columns)
    by_name = tuple(i for i in positions if i is not None)
    matched = set(by_name)
    if len(by_name) == len(columns) == len(matched):
        extra = [name for i, name in enumerate(header) if i not in matched]
        return ColumnMatch(
            by_name, ignored_columns(label, extra), (PositionalHeader(label, tuple(columns), tuple(columns)),)
        )
    if len(header) == len(columns) and all(i is None or i == at for at, i in enumerate(positions)):
        pairs = ", ".join(f"{n!r} as {c}" for n, c in zip(header, columns, strict=True) if _key(n) != _key(c))
        notice = f"{label}: the names in the header differ from the schema, so columns are matched by position: {pairs}"
        positional = PositionalHeader(label, tuple(header), tuple(columns))
        return ColumnMatch(tuple(range(len(columns))), (notice,), (positional,))
    raise InvalidQuery(
        f"{label}: the header does not match the schema: the file has {_list(header)}, the schema {_list(columns)}; "
        f"{_separator(header) or 'correct the names or their order in the schema'}"
    )


def names(header: Sequence[str], label: str) -> tuple[str, ...]:
    """Return the column names of a header; ``column_3`` if the third has none.

    :raises InvalidQuery: two columns have the same name.
    """
    columns = tuple(name.strip() or f"column_{i}" for i, name in enumerate(header, 1))
    lower_names: set[str] = set()
    for name in columns:
        if name.lower() in lower_names:
            raise InvalidQuery(f"{label}: the header has two columns {name!r}: declare a schema that names the columns")
        lower_names.add(name.lower())
    return columns


def _positions(header: Sequence[str], columns: Sequence[str]) -> list[int | None]:
    """Return the position of each column's best unique match: exact, ignoring case, or by letters and digits."""
    positions: list[int | None] = [None] * len(columns)
    for form in (_key, str.lower, str):
        count = Counter(map(form, header))
        unique = {form(name): i for i, name in enumerate(header) if count[form(name)] == 1}
        positions = [unique.get(form(column), at) for column, at in zip(columns, positions, strict=True)]
    return positions


def _key(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum()) or name.strip().lower()


def _list(names: Sequence[str]) -> str:
    return f"{counted(len(names), 'column')} ({', '.join(names)})"


def _separator(header: Sequence[str]) -> str:
    """Return a hint on ``separator`` if the header is a single name because the separator is wrong."""
    if len(header) != 1:
        return ""
    count, separator = max((header[0].count(mark), mark) for mark in _SEPARATORS)
    return f"the separator may be wrong: write `separator: {json.dumps(separator)}`" if count else ""
