"""How commands print: JSON, CSV or a table, chosen by ``--format``."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer


class Format(str, Enum):
    table = "table"
    json = "json"


class RowFormat(str, Enum):
    table = "table"
    json = "json"
    csv = "csv"


StoreOption = Annotated[
    str | None,
    typer.Option("--store", help="Where datasets lie: a path or URI.", envvar="ODF_STORE", show_default="./odf-store"),
]
NameArgument = Annotated[str, typer.Argument(help="Name of a dataset in the store.", metavar="NAME")]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print.")]
RowFormatOption = Annotated[RowFormat, typer.Option("--format", help="How to print.")]


def print_json(value: object) -> None:
    """One JSON document, for other programs."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=1 if sys.stdout.isatty() else None)
    print()


def print_rows(
    rows: Sequence[Mapping[str, Any]], how: Format | RowFormat, columns: Sequence[str] | None = None
) -> None:
    """Rows that share their columns. JSON is one array of objects; in CSV and tables null is empty."""
    if how.value == "json":
        print_json([dict(row) for row in rows])
        return
    names = list(columns if columns is not None else (rows[0] if rows else ()))
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    if how.value == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(cells)
    else:
        print_table(names, cells)


def print_table(names: Sequence[str], cells: Iterable[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in names:
        table.add_column(Text(name), no_wrap=not sys.stdout.isatty())
    for row in cells:
        table.add_row(*map(Text, row))
    if sys.stdout.isatty():
        Console().print(table)
        return
    # Off a terminal nothing is folded or cut: the reader is a pipe or a log.
    console = Console(width=10_000)
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def absolute(path: str) -> Path:
    """A path argument, relative to where the user stands."""
    return Path(path).expanduser().absolute()
