"""The command ``sql``: a query over the datasets of stores, or a prompt for queries."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from airflow_provider_odf.cli.options import (
    MAX_TABLE_ROWS,
    RowFormat,
    RowFormatOption,
    existing_store,
    near,
    print_rows,
)
from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.wording import suggestion

if TYPE_CHECKING:
    from airflow_provider_odf.reading.sql import QueryResult, Sql

_COMMANDS = (".datasets", ".schema", ".help", ".exit")
_PROMPT, _MORE = "odf> ", "...> "
_HELP = """\
End a query with a semicolon.
  FROM "bike-stations"                           current rows
  FROM history."bike-stations"                   all records
  FROM as_of('bike-stations', '2026-05-01')      rows at a date, a time or a block
.datasets      list the datasets
.schema NAME   show the columns of a dataset
.exit          leave; so does Ctrl-D
"""


def sql(
    query: Annotated[
        str | None,
        typer.Argument(help="The query; `-` reads it from standard input.", metavar="QUERY", show_default="a prompt"),
    ] = None,
    store: Annotated[
        list[str] | None,
        typer.Option(
            "--store",
            help="Path or URI of the store; can be repeated. NAME=STORE gives its catalog a name, else the end of the "
            "path does.",
            metavar="STORE",
            show_default="ODF_STORE, else ./odf-store",
        ),
    ] = None,
    how: RowFormatOption = "table",
) -> None:
    """Query datasets in SQL, by DataFusion. Without a query, a prompt asks for queries.

    FROM "bike-stations" are the current rows of a dataset, FROM history."bike-stations" its records, and FROM
    as_of('bike-stations', '2026-05-01') its rows at a date, a time or a block. Names with a dash or a dot are quoted.
    With several stores, other.current."bike-stations" is a dataset of the store `other`.
    """
    from airflow_provider_odf.reading.sql import Sql
    from airflow_provider_odf.reading.store import PublishedStore

    named = [_named(text) for text in store or [os.environ.get("ODF_STORE") or "odf-store"]]
    stores = dict(named)
    if twice := _repeated([name for name, _ in named]):
        raise InvalidInput(f"two stores have the name {twice[0]}: give each its own, as in --store one={named[0][1]}")
    session = Sql({name: PublishedStore(existing_store(uri)) for name, uri in stores.items()})
    if query is None and sys.stdin.isatty():
        _Prompt(session, how).run()
    else:
        text = sys.stdin.read() if query in (None, "-") else str(query)
        _print(session.query(text.strip().removesuffix(";")), how)


def _named(text: str) -> tuple[str, str]:
    """Return catalog and URI of a store."""
    name, separator, uri = text.partition("=")
    if separator and name.isidentifier():
        return name, uri
    if separator and re.fullmatch(r"[\w-]+", name) and not Path(text).exists():
        raise InvalidInput(f"--store {text}: the name of a store has letters, digits and _, unlike {name}")
    return text.rstrip("/").rpartition("/")[2] or "store", text


def _repeated(names: Sequence[str]) -> list[str]:
    """Return the names that are there more than once, each once."""
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]


def _print(result: QueryResult, how: RowFormat) -> None:
    """Print rows as they come; of a table, which needs all of them for its widths, the first ones."""
    names, rows = result.schema.names, _rows(result)
    if twice := _repeated(names):
        advice = "name them with AS, and those of a join one by one"
        raise InvalidInput(f"query: more than one column has the name {' or '.join(twice)}: {advice}")
    if how != "table":
        print_rows(rows, how, names)
        return
    shown = list(islice(rows, MAX_TABLE_ROWS))
    print_rows(shown, how, names, nothing="no rows")
    if next(rows, None) is not None:
        print(f"… only the first {MAX_TABLE_ROWS:,} rows: use LIMIT, or --format csv for all", file=sys.stderr)


def _rows(result: QueryResult) -> Iterator[dict[str, Any]]:
    import pyarrow as pa

    from airflow_provider_odf.records import json_rows

    for batch in result:
        yield from json_rows.rows(pa.Table.from_batches([batch]))


class _Prompt:
    """A prompt with history and completion, by the library readline."""

    def __init__(self, session: Sql, how: RowFormat) -> None:
        self.session, self.how = session, how
        self._words: list[str] = []

    def run(self) -> None:
        """Ask for queries until the end of the input."""
        print('Queries end with a semicolon; .help says more. Names with a dash or dot are quoted: "bike-stations".')
        with self._line_editor():
            is_given_up = False
            while True:
                try:
                    if is_given_up:  # here, where another Ctrl-C does no harm
                        is_given_up = False
                        print()
                    if (text := self._read()) is None:
                        return
                    self._answer(text)
                except KeyboardInterrupt:
                    is_given_up = True
                except Exception as e:  # any error: the next query may be valid
                    print(near(as_odf_error(e)), file=sys.stderr)

    def _read(self) -> str | None:
        """Return a command or a whole query, None at the end."""
        lines: list[str] = []
        while True:
            try:
                lines.append(input(_MORE if lines else _PROMPT))
            except EOFError:
                print()
                return None
            command, text = lines[-1].strip().rstrip(";"), "\n".join(lines).strip()
            if command in (".exit", ".quit", "exit", "quit"):
                return None
            is_known = command == "help" or command.partition(" ")[0] in _COMMANDS
            # A known one also in the midst of a query, which is given up.
            if is_known or (len(lines) == 1 and command.startswith(".")):
                return f".{command.removeprefix('.')}"
            if text.endswith(";"):
                return text
            lines = lines if text else []

    def _answer(self, text: str) -> None:
        command, _, argument = text.rstrip(";").partition(" ")
        if not text.startswith("."):
            _print(self.session.query(text.removesuffix(";")), self.how)
        elif command == ".datasets":
            print_rows([{"store": c, "dataset": n} for c, n in self.session.tables()], "table", nothing="no datasets")
        elif command == ".schema" and argument.strip():
            columns = self.session.columns(argument.strip())
            print_rows([{"column": name, "type": kind} for name, kind in columns], "table", nothing="no columns yet")
        elif command == ".schema":
            raise InvalidInput(".schema needs the name of a dataset: .schema bike-stations")
        elif command == ".help":
            print(_HELP, end="")
        else:
            raise InvalidInput(f"unknown command {command} ({suggestion(command, _COMMANDS)})")

    @contextlib.contextmanager
    def _line_editor(self) -> Iterator[None]:
        try:
            import readline
        except ImportError:  # Windows has none.
            yield
            return
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        file = state / "odf" / "sql_history"
        with contextlib.suppress(OSError):
            readline.read_history_file(file)
        readline.set_completer_delims(" \t\n,()=<>;")
        readline.set_completer(self._complete)
        readline.parse_and_bind("tab: complete")
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                file.parent.mkdir(parents=True, exist_ok=True)
                readline.write_history_file(file)

    def _complete(self, text: str, at: int) -> str | None:
        """Return a word that begins with a text: a command, a dataset, or a column of a dataset."""
        if at == 0:
            with contextlib.suppress(Exception):  # A dataset that cannot be read has no words.
                self._words = sorted(word for word in self._known() if word.lower().startswith(text.lower()))
        return self._words[at] if at < len(self._words) else None

    def _known(self) -> set[str]:
        names = [name for _, name in self.session.tables()]
        columns = {column for name in names for column, _ in self.session.columns(name)}
        quoted = {name if name.isidentifier() else f'"{name}"' for name in names}
        return {*_COMMANDS, *quoted, *columns}
