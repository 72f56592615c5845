"""Commands that look at datasets and files: ``log``, ``tail``, ``state``, ``verify``, ``hash`` and ``block``. None starts Spark."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from airflow_provider_odf.cli.output import (
    Format,
    FormatOption,
    NameArgument,
    RowFormat,
    RowFormatOption,
    StoreOption,
    print_json,
    print_rows,
)
from airflow_provider_odf.cli.run import open_store

block = typer.Typer(name="block", help="Metadata blocks as files.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the tool."""
    for command in (log, tail, state, verify):
        app.command()(command)
    app.command("hash")(hash_files)
    app.add_typer(block)


def log(name: NameArgument, store: StoreOption = None, how: FormatOption = Format.table) -> None:
    """The metadata chain of a dataset, newest block last."""
    from airflow_provider_odf.chain.describe import log_entries, summary

    entries = log_entries(open_store(store).dataset(name))
    if how is Format.json:
        print_json(list(entries))
        return
    rows = [
        {
            "#": str(entry["sequenceNumber"]),
            "hash": entry["hash"][:13],
            "systemTime": entry["systemTime"],
            "event": entry["event"]["kind"],
            "": summary(entry["event"]),
        }
        for entry in entries
    ]
    print_rows(rows, how)


def tail(
    name: NameArgument,
    n: Annotated[int, typer.Option("-n", help="How many of the newest rows.", min=1)] = 10,
    store: StoreOption = None,
    how: RowFormatOption = RowFormat.table,
) -> None:
    """The newest rows of a dataset's history, in offset order."""
    from airflow_provider_odf.chain.tail import columns, tail_rows

    dataset = open_store(store).dataset(name)
    print_rows(list(tail_rows(dataset, n)), how, columns(dataset))
