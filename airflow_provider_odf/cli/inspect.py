"""Commands that inspect datasets and files: ``log``, ``publications``, ``tail``, ``state``, ``hash`` and ``block``.

None starts Spark."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from airflow_provider_odf.cli.output import (
    MAX_TABLE_ROWS,
    AsOfOption,
    Format,
    FormatOption,
    NameArgument,
    RefOption,
    RowFormat,
    RowFormatOption,
    StoreOption,
    print_json,
    print_rows,
)
from airflow_provider_odf.cli.run import existing_store
from airflow_provider_odf.closed_files import as_user
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.publications import Entry, Publication
    from airflow_provider_odf.chain.record_rows import Rows

block = typer.Typer(name="block", help="Decode and encode metadata block files.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the tool."""
    for command in (log, publications, tail, state):
        app.command()(command)
    app.command("hash")(hash_files)
    app.command("schema")(json_schema)
    app.add_typer(block)


def log(
    name: NameArgument,
    ref: RefOption = None,
    as_of: AsOfOption = None,
    store: StoreOption = None,
    how: FormatOption = Format.table,
) -> None:
    """Show the metadata chain of a dataset, newest block last.

    `systemTime` is the time of the merge, `published` when readers saw the block. It is empty where no publication is
    recorded: the time of the block counts.
    """
    from airflow_provider_odf.chain.dataset_facts import event_summary, log_entries
    from airflow_provider_odf.chain.publications import block_as_of

    opened = existing_store(store)
    dataset = opened.dataset(name)
    entries = log_entries(dataset, ref_or_block(dataset, ref, as_of, block_as_of))
    if how is Format.json:
        print_json(list(entries))
        return
    rows = [
        {
            "#": str(entry["sequenceNumber"]),
            "hash": entry["hash"][:13],
            "systemTime": entry["systemTime"],
            "published": entry["published"] if entry["isRecorded"] else "",
            "event": entry["event"]["kind"],
            "": event_summary(entry["event"], opened.input_name).partition("\n")[0],
        }
        for entry in entries
    ]
    print_rows(rows, how)


def publications(
    name: NameArgument,
    n: Annotated[int, typer.Option("-n", help="Number of publications.", min=1)] = 20,
    ref: RefOption = None,
    store: StoreOption = None,
    how: RowFormatOption = RowFormat.table,
) -> None:
    """Show the newest publications of a dataset: when they were merged and published, by whom and why."""
    from airflow_provider_odf.chain.publications import newest, published_history

    dataset = existing_store(store).dataset(name)
    recorded = newest(published_history(dataset, ref or "head"), n)[::-1]
    rows = [_publication(dataset, entry, publication) for entry, publication in recorded]
    if rows or how is not RowFormat.table:
        print_rows([{**row, "hash": row["hash"][:13]} for row in rows] if how is RowFormat.table else rows, how)
    else:
        print("no publication is recorded: the times of blocks count", file=sys.stderr)


def _publication(dataset: Dataset, entry: Entry, publication: Publication | None) -> dict[str, Any]:
    author = publication.author if publication is not None else None
    return {
        "hash": entry.block_hash,
        "blocks": f"{entry.first}..{entry.last}",
        "merged": str(dataset.block(entry.block_hash).system_time),
        "published": str(entry.time),
        "decision": publication.decision if publication is not None else "unknown: its record is damaged",
        "who": author.who if author is not None else None,
        "reason": author.reason if author is not None else None,
        "run": author.run_name if author is not None else None,
    }


def tail(
    name: NameArgument,
    n: Annotated[int, typer.Option("-n", help="Number of rows.", min=1)] = 10,
    ref: RefOption = None,
    as_of: AsOfOption = None,
    store: StoreOption = None,
    how: RowFormatOption = RowFormat.table,
) -> None:
    """Show the newest rows of a dataset's history, in offset order."""
    from airflow_provider_odf.chain.publications import data_as_of
    from airflow_provider_odf.chain.record_rows import tail_rows

    opened = existing_store(store)
    dataset = opened.dataset(name)
    block = ref_or_block(dataset, ref, as_of, data_as_of)
    _print(tail_rows(dataset, n, block, cache=opened.cache(name)), how, "no records yet")


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
    how: RowFormatOption = RowFormat.table,
) -> None:
    """Show the current rows of a dataset, by its merge key. Without a key, these are the rows without a later
    retraction or correction."""
    from airflow_provider_odf.chain.publications import data_as_of
    from airflow_provider_odf.chain.record_rows import state_rows

    opened = existing_store(store)
    dataset = opened.dataset(name)
    rows = state_rows(dataset, ref_or_block(dataset, ref, as_of, data_as_of), cache=opened.cache(name))
    most = n or (MAX_TABLE_ROWS if how is RowFormat.table else len(rows))
    _print(rows.first(most), how, "no current records" if rows.columns else "no records yet")
    if n is None and len(rows) > most:
        print(f"… {counted(len(rows) - most, 'more row')}: use -n or --format csv", file=sys.stderr)


def ref_or_block(dataset: Dataset, ref: str | None, as_of: str | None, resolve: Callable[[Dataset, str], str]) -> str:
    """Return the ref or block hash to show."""
    if ref is not None and as_of is not None:
        raise InvalidInput("--ref and --as-of both name a block: use one of them")
    return resolve(dataset, as_of) if as_of is not None else ref or "head"


def _print(rows: Rows, how: RowFormat, nothing: str) -> None:
    if not rows and how is RowFormat.table:
        print(nothing, file=sys.stderr)
    else:
        print_rows(rows, how, rows.columns)


def hash_files(
    files: Annotated[list[Path], typer.Argument(help="Parquet files.", metavar="FILE", exists=True, dir_okay=False)],
) -> None:
    """Print physical hash, logical hash and name of each Parquet file. Hashes are multibase text."""
    from airflow_provider_odf import multiformats
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


@block.command("show")
def block_show(
    file: Annotated[Path, typer.Argument(help="A block file.", metavar="FILE", exists=True, dir_okay=False)],
) -> None:
    """Print a metadata block as MetadataBlock YAML, like the reference implementation."""
    from airflow_provider_odf.chain.dataset_facts import block_yaml

    try:
        sys.stdout.write(block_yaml(file.read_bytes()))
    except ChainCorrupted as e:
        raise ChainCorrupted(f"{file}: {e}") from None


@block.command("encode")
def block_encode(
    file: Annotated[Path, typer.Argument(help="A MetadataBlock as YAML.", metavar="FILE.yaml", exists=True)],
    manifest_version: Annotated[
        int | None, typer.Option(help="Manifest version of the block, 2 or 3.", min=2, max=3, show_default="the YAML's")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write the block to.")] = None,
) -> None:
    """Encode a MetadataBlock from YAML as a block file, and print its hash."""
    from airflow_provider_odf import multiformats
    from airflow_provider_odf.chain import codec
    from airflow_provider_odf.manifest.load import load_block

    decoded, version = load_block(file.read_text(encoding="utf-8"), str(file))
    data = codec.encode(decoded, manifest_version or version)
    if output is not None:
        output.write_bytes(data)
        as_user(output)
    print(multiformats.sha3_256(data))
