"""``odf export``: rows of a dataset as a file for other programs."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airflow_provider_odf.cli.output import AsOfOption, NameArgument, StoreOption, absolute, near
from airflow_provider_odf.cli.run import existing_store
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow_provider_odf.reading.dataset import PublishedDataset
    from airflow_provider_odf.reading.scan import Scan


class ExportForm(str, Enum):
    parquet = "parquet"
    csv = "csv"
    ndjson = "ndjson"


def register(app: typer.Typer) -> None:
    """Add the command of this module to the tool."""
    app.command()(export)


def export(
    name: NameArgument,
    form: Annotated[ExportForm, typer.Option("--as", help="Form of the output.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="File to write. It is replaced when all rows are written.", metavar="FILE"),
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Export all records instead of the current rows.")] = False,
    since: Annotated[
        str | None,
        typer.Option(
            help="Export the records after this system time, block or offset instead of the current rows.",
            metavar="TIME|BLOCK|OFFSET",
        ),
    ] = None,
    as_of: AsOfOption = None,
    store: StoreOption = None,
) -> None:
    """Export the current rows of a dataset, or its records, as Parquet, CSV or NdJson. Rows are written as a stream, to
    standard output or a file."""
    from airflow_provider_odf.reading import export as exports
    from airflow_provider_odf.reading.store import PublishedStore

    dataset = PublishedStore(existing_store(store))[name]
    scan = _scan(dataset, history, since, as_of)
    if output is not None:
        target = absolute(str(output))
        rows = exports.export_file(scan, form.value, target)
        print(near(f"{dataset.name}: {counted(rows, 'row')} as of block {scan.block[:13]} in {target}"))
    elif form is ExportForm.parquet and sys.stdout.isatty():
        raise InvalidInput("Parquet is binary: name a file with --output, or pipe the output")
    else:
        exports.export(scan, form.value, sys.stdout.buffer)


def _scan(dataset: PublishedDataset, history: bool, since: str | None, as_of: str | None) -> Scan:
    if history or since is not None:
        return dataset.changes(since, as_of)
    return dataset.current() if as_of is None else dataset.as_of(as_of)
