"""Options that several commands have, and what they choose: store, block, time, and the form of the output."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from airflow_provider_odf.errors import InvalidInput, Problem
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.wording import cell, table

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.runner.masters import SparkChoice

MAX_TABLE_ROWS = 1000
"""Maximum number of rows in a printed table."""


Format: TypeAlias = Literal["table", "json"]
TextFormat: TypeAlias = Literal["text", "json"]
RowFormat: TypeAlias = Literal["table", "json", "csv"]
StoreOption = Annotated[
    str | None,
    typer.Option("--store", help="Path or URI of the store.", envvar="ODF_STORE", show_default="./odf-store"),
]
InputStoresOption = Annotated[
    list[str] | None,
    typer.Option(
        "--input-store",
        help="Path or URI of another store that has inputs of derivatives; can be repeated.",
        envvar="ODF_INPUT_STORES",
        metavar="STORE",
        show_default="none",
    ),
]


def _names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the datasets that a shell completes a text to, none if the store cannot be read."""
    with contextlib.suppress(Exception):
        store = existing_store(ctx.params.get("store") or os.environ.get("ODF_STORE"))
        names = (str(dataset.alias) for dataset in store.datasets())
        return [name for name in names if name.startswith(incomplete)]
    return []


NameArgument = Annotated[
    str, typer.Argument(help="Name of a dataset in the store.", metavar="NAME", autocompletion=_names)
]
RefOption = Annotated[
    str | None,
    typer.Option(
        "--ref",
        help="Show the dataset as of this ref or block hash, such as a rejected candidate.",
        show_default="head",
    ),
]
AsOfOption = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        help="Show the dataset as of this system time (RFC 3339), the end of this date in UTC, or this block of its "
        "history: a hash, or the start of one as `odf log` shows it.",
        metavar="TIME|DATE|BLOCK",
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="Output format.")]
RowFormatOption = Annotated[RowFormat, typer.Option("--format", help="Output format.")]
SystemTimeOption = Annotated[
    str | None, typer.Option(help="System time of new blocks, RFC 3339.", show_default="now", metavar="RFC3339")
]
ForbidOption = Annotated[
    list[str] | None,
    typer.Option(help="Forbid a kind of step: Pipe or Container.", metavar="KIND"),
]
SparkOption = Annotated[
    str | None,
    typer.Option(
        "--spark",
        help="When merges and derivatives use Spark: needed (if Arrow cannot do the work), or always (its tasks read "
        "and merge all rows). Or a master of Spark: local[N], spark://HOST:PORT, yarn or k8s://HOST:PORT, which are "
        "always used, or sc://HOST:PORT (Spark Connect), which is used if needed.",
        metavar="needed|always|MASTER",
        show_default="odf.yaml, else needed",
    ),
]
VerboseOption = Annotated[bool, typer.Option("-v", "--verbose", help="Print progress messages and tracebacks.")]


def spark_choice(text: str | None) -> SparkChoice:
    """Return the choice of the option ``--spark``."""
    from airflow_provider_odf.runner import masters

    try:
        return masters.parse(text)
    except InvalidInput as e:
        raise typer.BadParameter(str(e), param_hint="--spark") from e


def open_store(store: str | None, input_stores: Sequence[str] | None = None) -> Store:
    """Return the store of the option, by default ``./odf-store``, for commands that may create it.

    :raises InvalidInput: one of the other stores does not exist.
    """
    from airflow_provider_odf.chain.store import Store

    opened = Store.open(store or "odf-store", others=input_stores or ())
    for other in opened.others:
        other.require("name the store with --input-store or ODF_INPUT_STORES")
    return opened


def existing_store(store: str | None, input_stores: Sequence[str] | None = None) -> Store:
    """Return the store of a command that needs an existing one.

    :raises InvalidInput: there is no such folder.
    """
    opened = open_store(store, input_stores)
    opened.require("name the store with --store or ODF_STORE")
    return opened


def existing_dataset(store: str | None, name: str, input_stores: Sequence[str] | None = None) -> tuple[Store, Dataset]:
    """Return the store of a command that needs an existing one, and a dataset in it.

    :raises InvalidInput: there is no such folder.
    :raises DatasetNotFound: it has no such dataset.
    """
    opened = existing_store(store, input_stores)
    return opened, opened.for_readers(name)


def note_new_store(store: Store) -> None:
    """Print a note if a command creates a store, since a mistyped path does so, too."""
    if not store.storage.exists():
        print(f"note: new store at {near(store.location)}", file=sys.stderr)


def ref_or_block(dataset: Dataset, ref: str | None, as_of: str | None, resolve: Callable[[Dataset, str], str]) -> str:
    """Return the ref or block hash to show."""
    if ref is not None and as_of is not None:
        raise InvalidInput("--ref and --as-of both name a block: use one of them")
    return resolve(dataset, as_of) if as_of is not None else ref or "head"


def instant(text: str | None, option: str = "--system-time") -> Instant:
    """Return the time of an option, by default now."""
    try:
        return Instant.parse(text) if text is not None else Instant.now()
    except ValueError as e:
        raise typer.BadParameter(str(e), param_hint=option) from e


def absolute(path: str) -> Path:
    """Return a path argument as an absolute path."""
    return Path(path).expanduser().absolute()


def near(message: object) -> str:
    """Return a message with paths below the current directory relative to it."""
    here = os.getcwd()
    # Not within a URI, nor at the end of another path.
    return re.sub(rf"(?<![\w/:.-]){re.escape(here)}/", "", str(message)) if here != "/" else str(message)


@contextlib.contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    """Yield what shows a text in a line of the terminal while a command works, on standard error: the newest one
    replaces the one before, and the line goes with the end of the work. Without a terminal nothing is shown."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status("") as line:
        yield lambda text: line.update(Text(text))


def print_json(value: object) -> None:
    """Print one JSON document, for other programs."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=1 if sys.stdout.isatty() else None)
    print()


def print_rows(
    rows: Iterable[Mapping[str, Any]],
    how: RowFormat,
    columns: Sequence[str] | None = None,
    *,
    nothing: str = "",
) -> None:
    """Print rows with the same columns. JSON is one array of objects; in CSV and tables null is empty. JSON and CSV are
    written row by row. Default for ``columns`` are the keys of the first row, if ``rows`` is a sequence.

    :param nothing: what is said on standard error in place of a table without rows.
    """
    if nothing and not rows and how == "table":
        print(nothing, file=sys.stderr)
        return
    if how == "json":
        _print_json_array(rows)
        return
    names = list(columns if columns is not None else next(iter(rows), ()))
    cells = ([cell(row.get(name)) for name in names] for row in rows)
    if how == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(cells)
    else:
        print_table(names, list(cells))


def _print_json_array(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print one array, with one row per line."""
    start = "["
    for row in rows:
        sys.stdout.write(start + json.dumps(row, ensure_ascii=False))
        start = ",\n "
    print("]" if start != "[" else "[]")


def print_table(names: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """Print a table. On a terminal long cells are wrapped, unless there are too many rows to read. In a pipe or a log
    they are neither wrapped nor cut."""
    if sys.stdout.isatty() and len(cells) <= MAX_TABLE_ROWS:
        _print_wrapped(names, cells)
    else:
        for line in table(names, cells):
            print(line)


def _print_wrapped(names: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in names:
        shown.add_column(Text(name))
    for row in cells:
        shown.add_row(*map(Text, row))
    Console().print(shown)


def print_problems(errors: Iterable[Problem], warnings: Iterable[Problem], *, is_json: bool = False) -> None:
    """Print errors, and warnings on standard error with their fixes; as JSON both on standard output by their place."""
    if is_json:
        entries = [*(("error", p) for p in errors), *(("warning", p) for p in warnings)]
        print_json([problem_json(severity, p) for severity, p in sorted(entries, key=lambda entry: entry[1])])
        return
    for error in errors:
        print(near(error))
    for warning in warnings:
        fix = f" ({warning.fix})" if warning.fix else ""
        print(near(f"{warning.place}: warning: {warning.message}{fix}"), file=sys.stderr)


def problem_json(severity: str, problem: Problem) -> dict[str, Any]:
    return {"severity": severity, **asdict(problem.place), "message": problem.message, "fix": problem.fix}
