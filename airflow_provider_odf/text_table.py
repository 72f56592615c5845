"""Tables of text, for logs and pipes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest

_GAP = " " * 3


def table(names: Sequence[str], cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table; a cell may have several lines, and is not cut."""
    widths = [max(map(_width, column)) for column in zip(names, *cells, strict=True)]
    yield from _lines(names, widths)
    yield "─" * (sum(widths) + len(_GAP) * max(0, len(widths) - 1))
    for row in cells:
        yield from _lines(row, widths)


def _lines(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a row, as many as its longest cell has."""
    for parts in zip_longest(*(_split(cell) for cell in row), fillvalue=""):
        yield _GAP.join(part + " " * (width - _width(part)) for part, width in zip(parts, widths, strict=True)).rstrip()


def _split(cell: str) -> list[str]:
    return [cell] if cell.isprintable() else cell.expandtabs().splitlines()


def _width(cell: str) -> int:
    """Return the width of a cell on a terminal."""
    if cell.isascii() and cell.isprintable():
        return len(cell)
    from rich.cells import cell_len

    return max(map(cell_len, _split(cell)), default=0)


def cell(value: object) -> str:
    """Return a JSON value as the text of a cell in a table or a CSV file; null is empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return str(value) if type(value) in (int, float) else json.dumps(value, ensure_ascii=False)
