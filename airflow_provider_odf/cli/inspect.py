"""Commands about rows and files: ``tail``, ``state``, ``export``, ``hash``, ``schema`` and ``block``."""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain import codec
from airflow_provider_odf.chain.dataset_facts import block_yaml
from airflow_provider_odf.chain.publications import data_as_of
from airflow_provider_odf.chain.record_rows import state_rows, tail_rows
from airflow_provider_odf.cli.options import (
    MAX_TABLE_ROWS,
    AsOfOption,
    NameArgument,
    RefOption,
    RowFormatOption,
    StoreOption,
    absolute,
    existing_dataset,
    existing_store,
    near,
    print_rows,
    ref_or_block,
    status_line,
)
from airflow_provider_odf.closed_files import as_user
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput
from airflow_provider_odf.manifest.load import load_block
from airflow_provider_odf.wording import changed, counted

if TYPE_CHECKING:
    from airflow_provider_odf.reading.scan import Scan

GROUP = typer.Typer(no_args_is_help=True)


def tail(
    name: NameArgument,
    n: Annotated[int, typer.Option("-n", help="Number of rows.", min=1)] = 10,
    ref: RefOption = None,
    as_of: AsOfOption = None,
    store: StoreOption = None,
    how: RowFormatOption = "table",
) -> None:
    """Show the newest rows of a dataset's history, in offset order."""
    _, dataset = existing_dataset(store, name)
    block = ref_or_block(dataset, ref, as_of, data_as_of)
    rows = tail_rows(dataset, n, block)
    print_rows(rows, how, rows.columns, nothing="no records yet")


def state(
    name: NameArgument,
    n: Annotated[
        int | None,
        typer.Option(
            "-n", help="Maximum number of rows.", min=1, show_default=f"{MAX_TABLE_ROWS} in a table, else all"
        ),
    ] = None,
    ref: RefOption = None,
    as_of: AsOfOption = None,
    store: StoreOption = None,
    how: RowFormatOption = "table",
) -> None:
    """Show the current rows of a dataset, by its merge key. Without a key, these are the rows without a later
    retraction or correction."""
    _, dataset = existing_dataset(store, name)
    rows = state_rows(dataset, ref_or_block(dataset, ref, as_of, data_as_of))
    limit = n or (MAX_TABLE_ROWS if how == "table" else len(rows))
    nothing = "no current records" if rows.columns else "no records yet"
    print_rows(rows.first(limit), how, rows.columns, nothing=nothing)
    if n is None and len(rows) > limit:
        print(f"… {counted(len(rows) - limit, 'more row')}: use -n or --format csv", file=sys.stderr)


def diff(
    name: NameArgument,
    since: Annotated[
        str | None,
        typer.Argument(
            help="The earlier date, time, block or offset.",
            metavar="SINCE",
            show_default="before the newest publication of data",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Argument(help="The later one.", metavar="UNTIL", show_default="the newest block"),
    ] = None,
    store: StoreOption = None,
    how: RowFormatOption = "table",
) -> None:
    """Show what changed in a dataset between two times or blocks: rows that were added (+A), retracted (-R) and
    corrected (-C, +C) in the end, by key, and on standard error columns that changed, and how much changed.

    A date is its beginning in UTC as SINCE, and its end as UNTIL.
    """
    from airflow_provider_odf.reading.store import PublishedStore
    from airflow_provider_odf.records import json_rows

    dataset = PublishedStore(existing_store(store))[name]
    since = since if since is not None else dataset.before_newest_data()
    for change in dataset.column_changes(since, until) if since is not None else ():
        print(f"columns: {change}", file=sys.stderr)
    scan = dataset.difference(since, until)
    operation = scan.state.vocab.operation_type_column
    rows = (row for table in scan.all_in_order() for row in json_rows.rows(table, operation))
    shown = list(islice(rows, MAX_TABLE_ROWS)) if how == "table" else rows
    print_rows(shown, how, scan.schema.names)
    span = scan.offsets
    said = "nothing changed"
    if span is not None and span.first <= span.last:
        said = f"{changed(scan.counts)} by offsets {span.first}..{span.last}"
    is_to_block = span is None or span.last == scan.state.last_offset
    print(f"{dataset.name}: {said}{f', up to block {scan.block[:13]}' if is_to_block else ''}", file=sys.stderr)
    if how == "table" and len(scan) > MAX_TABLE_ROWS:
        print(f"… {counted(len(scan) - MAX_TABLE_ROWS, 'more row')}: use --format csv", file=sys.stderr)


def completeness(
    name: NameArgument,
    by: Annotated[
        Literal["hour", "day", "month"] | None,
        typer.Option(help="Length of the periods.", show_default="the one that fits"),
    ] = None,
    of: Annotated[
        Literal["event", "publication"], typer.Option(help="The time that counts.", show_default=True)
    ] = "event",
    n: Annotated[int, typer.Option("-n", help="Number of periods.", min=1)] = 14,
    store: StoreOption = None,
    how: RowFormatOption = "table",
) -> None:
    """Show whether the newest periods are complete: how many rows came, how many are usual, and gaps. An open period
    may get more rows: the watermark has not passed its end."""
    from airflow_provider_odf.reading.store import PublishedStore

    table = PublishedStore(existing_store(store))[name].completeness(by, of=of, n=n)
    rows = table.to_pylist()
    for row in rows:
        row["start"] = f"{row['start']:%Y-%m-%dT%H:%MZ}"
    print_rows(rows, how, table.column_names, nothing="no records with a time yet")


def export(
    name: NameArgument,
    form: Annotated[
        Literal["parquet", "csv", "ndjson", "iceberg", "delta"], typer.Option("--as", help="Form of the output.")
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="File to write. It is replaced when all rows are written. Of tables, their folder.",
            metavar="FILE|FOLDER",
            show_default="standard output; of tables, .tables in the store",
        ),
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
    current: Annotated[
        bool, typer.Option("--current", help="Also export the current rows as a table, TABLE_current, which is a copy.")
    ] = False,
    table: Annotated[
        str | None,
        typer.Option(help="Name of the table.", metavar="NAMESPACE.TABLE", show_default="odf.NAME, with _ for - and ."),
    ] = None,
    catalog: Annotated[
        str | None,
        typer.Option(
            help="Iceberg catalog, as pyiceberg's configuration names it.",
            metavar="NAME",
            show_default="one in SQLite, in the folder of tables",
        ),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Export the current rows of a dataset, or its records, as Parquet, CSV or NdJson: as a stream, to standard output
    or a file. Or make its records an Iceberg or Delta table over the dataset's own files, without a copy; repeated, it
    adds what is new."""
    from airflow_provider_odf.reading import export as exports
    from airflow_provider_odf.reading.store import PublishedStore

    dataset = PublishedStore(existing_store(store))[name]
    if form in ("iceberg", "delta"):
        if since is not None or as_of is not None:
            raise InvalidInput(f"a table has all records: leave out --since and --as-of with --as {form}")
        for made in dataset.export_tables(form, folder=output, table=table, catalog=catalog, current=current):
            print(near(f"{dataset.name}: {made}"))
        return
    if current or table is not None or catalog is not None:
        raise InvalidInput(f"--current, --table and --catalog are for --as iceberg and delta, not for {form}")
    if history or since is not None:
        scan: Scan = dataset.changes(since, as_of)
    else:
        scan = dataset.current() if as_of is None else dataset.as_of(as_of)
    if output is not None:
        target = absolute(output)
        with status_line() as tell:
            rows = exports.export_file(scan, form, target, lambda n: tell(f"{dataset.name}: {counted(n, 'row')}"))
        print(near(f"{dataset.name}: {counted(rows, 'row')} as of block {scan.block[:13]} in {target}"))
    elif form == "parquet" and sys.stdout.isatty():
        raise InvalidInput("Parquet is binary: name a file with --output, or pipe the output")
    else:
        exports.export(scan, form, sys.stdout.buffer)


def hash_files(
    files: Annotated[list[Path], typer.Argument(help="Parquet files.", metavar="FILE", exists=True, dir_okay=False)],
) -> None:
    """Print physical hash, logical hash and name of each Parquet file. Hashes are multibase text."""
    from airflow_provider_odf.records.logical_hash import logical_hash

    for file in files:
        try:
            logical = logical_hash(file)
        except ValueError as e:
            raise InvalidInput(f"{file}: not a readable Parquet file: {e}") from None
        print(multiformats.hash_file(file), logical, file, flush=True)


def json_schema(
    settings: Annotated[bool, typer.Option("--settings", help="Print the schema of odf.yaml instead.")] = False,
) -> None:
    """Print the JSON Schema of manifests, for editors."""
    from airflow_provider_odf.manifest.json_schema import manifest_schema, settings_schema

    print(json.dumps(settings_schema() if settings else manifest_schema(), indent=2))


@GROUP.callback()
def block() -> None:
    """Decode and encode metadata block files."""


@GROUP.command("show")
def block_show(
    file: Annotated[Path, typer.Argument(help="A block file.", metavar="FILE", exists=True, dir_okay=False)],
) -> None:
    """Print a metadata block as MetadataBlock YAML, like the reference implementation."""
    try:
        sys.stdout.write(block_yaml(file.read_bytes()))
    except ChainCorrupted as e:
        raise ChainCorrupted(f"{file}: {e}") from None


@GROUP.command("encode")
def block_encode(
    file: Annotated[Path, typer.Argument(help="A MetadataBlock as YAML.", metavar="FILE.yaml", exists=True)],
    manifest_version: Annotated[
        int | None, typer.Option(help="Manifest version of the block, 2 or 3.", min=2, max=3, show_default="the YAML's")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write the block to.")] = None,
) -> None:
    """Encode a MetadataBlock from YAML as a block file, and print its hash."""
    decoded, version = load_block(file.read_text(encoding="utf-8"), str(file))
    data = codec.encode(decoded, manifest_version or version)
    if output is not None:
        output.write_bytes(data)
        as_user(output)
    print(multiformats.sha3_256(data))
