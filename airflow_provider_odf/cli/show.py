"""Commands about the datasets of a store: ``list``, ``show``, ``log`` and ``publications``."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

import typer

from airflow_provider_odf.author import Author
from airflow_provider_odf.chain import info_files
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.dataset_facts import attachments, event_summary, facts, log_entries, origins, summary
from airflow_provider_odf.chain.publications import (
    Entry,
    Publication,
    block_as_of,
    newest,
    publication_words,
    published_history,
)
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cli.options import (
    AsOfOption,
    Format,
    FormatOption,
    NameArgument,
    RefOption,
    RowFormatOption,
    StoreOption,
    existing_dataset,
    existing_store,
    near,
    print_json,
    print_rows,
    print_table,
    ref_or_block,
)
from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import public_source
from airflow_provider_odf.protocol import DatasetVocabulary
from airflow_provider_odf.wording import counted, printable, suggestion

_SUMMARY = ("name", "kind", "health", "records", "size", "watermark", "published")


def list_datasets(store: StoreOption = None, how: RowFormatOption = "table") -> None:
    """List the datasets of a store: kind, health, records, size, watermark and last publication.

    Health is what chains and contracts say now. It does not know runs of Airflow.
    """
    from airflow_provider_odf.health.facts import read_facts  # and with it contracts, which other commands do not need
    from airflow_provider_odf.health.health import Runs, health

    now = datetime.now(UTC)
    target = existing_store(store)
    rows, code = [], 0
    for gone in target.gone():
        print(near(gone), file=sys.stderr)
        code = 1
    for dataset in target.datasets():
        try:
            worst = health(read_facts(target, dataset), Runs(), now)
            rows.append({**summary(dataset), "health": worst.word, "healthReason": worst.reason})
        except Exception as e:  # any error: the other datasets follow
            print(near(f"{dataset.alias}: {as_odf_error(e)}"), file=sys.stderr)
            code = 1
    if how == "table":
        rows = [{**row, "records": f"{row['records']:,}", "size": public_source.size(row["size"])} for row in rows]
    if rows or how != "table" or not code:
        print_rows(rows, how, _SUMMARY, nothing="no datasets yet")
    raise typer.Exit(code)


def show(
    name: NameArgument,
    attachment: Annotated[
        str | None, typer.Option(help="Print the content of this attachment instead.", metavar="PATH")
    ] = None,
    store: StoreOption = None,
    how: FormatOption = "table",
) -> None:
    """Show the description, license, attachments, sources, schema, size and state of a dataset."""
    opened, dataset = existing_dataset(store, name)
    state = replay(dataset)
    if attachment is not None:
        _print_attachment(state, str(dataset.alias), attachment, how)
        return
    info = facts(dataset, state)
    if how == "json":
        print_json(info)
        return
    print(f"{info['alias']} ({info['kind']})")
    if info["description"]:
        print(_wrap(info["description"], ""))
    print()
    copy_of = [("Copy of", origin)] if (origin := dataset.origin) is not None else []
    _print_pairs([*_pairs(opened, info, state, dataset), *copy_of])
    if info["schema"]:
        print()
        _print_columns(info, state.primary_key)


def _print_attachment(state: ChainState, alias: str, path: str, how: Format) -> None:
    contents = attachments(state)
    if path not in contents:
        raise InvalidInput(f"dataset {alias} has no attachment {path!r} ({suggestion(path, list(contents))})")
    if how == "json":
        print_json({"path": path, "content": contents[path]})
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(contents[path].encode())


def _pairs(store: Store, info: Mapping[str, Any], state: ChainState, dataset: Dataset) -> Iterator[tuple[str, str]]:
    yield "Id", info["id"]
    if info["keywords"]:
        yield "Keywords", ", ".join(info["keywords"])
    if info["license"]:
        yield "License", _license(info["license"])
    if info["attachments"]:
        yield "Attachments", ", ".join(f"{a['path']} ({public_source.size(a['size'])})" for a in info["attachments"])
    yield from _source_pairs(store, state)
    yield from _state_pairs(info)
    yield from _test_pairs(dataset, state)


def _source_pairs(store: Store, state: ChainState) -> Iterator[tuple[str, str]]:
    if state.kind == "Root" and state.polling_source is None and not state.push_sources:
        yield "Source", "none"
    inputs = state.transform.inputs if state.transform is not None else ()
    yield from origins(state, " > ", ", ".join(store.input_name(i.dataset_ref, i.alias) for i in inputs))
    renamed = vars(state.vocab).items() - vars(DatasetVocabulary()).items()
    if renamed:
        yield "Vocabulary", ", ".join(f"{role.replace('_', ' ')} {name}" for role, name in sorted(renamed))


def _test_pairs(dataset: Dataset, state: ChainState) -> Iterator[tuple[str, str]]:
    """Yield what the newest contract test and rejected candidates tell."""
    # Most datasets have neither, and are shown without the modules that know of them.
    newest = next(iter(dataset.data_blocks(state.head, 1)), None)
    content = info_files.get(dataset, info_files.REPORTS, newest[0]) if newest is not None else None
    if not dataset.storage.refs("rejected-") and not (content or {}).get("report"):
        return
    from airflow_provider_odf.cycle import candidates, tested

    found = tested.newest_record(dataset, state.head)
    if found is not None and (report := found[1].report) is not None:
        owner = f", owner {found[1].terms['Owner']}" if found[1].terms.get("Owner") else ""
        yield "Contract", f"{report.contract}: {report.result}{owner}"
    statuses = (tested.status(dataset, rejection, state.head) for rejection in candidates.rejections(dataset))
    if waiting := sum(status == tested.WAITING for status in statuses):
        yield "Waiting", f"{counted(waiting, 'candidate')} to decide on: `{candidates.show_command(dataset)}`"


def _state_pairs(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    files = f" in {counted(info['slices'], 'file')}, {public_source.size(info['size'])}" if info["slices"] else ""
    yield "Records", f"{info['records']:,}{files}"
    if info["watermark"]:
        yield "Watermark", info["watermark"]
    if info["publication"]:
        yield "Published", _publication(info["publication"])
    for state in info["sourceStates"]:
        yield "Source at", f"{state['value']} ({state['kind']}, source {state['sourceName']})"
    yield "Head", info["head"]
    yield "Chain", f"{counted(info['blocks'], 'block')}, newest at {info['systemTime']}"
    uri = urlsplit(info["uri"])
    yield "Stored at", unquote(uri.path) if uri.scheme == "file" else info["uri"]


def _publication(publication: Mapping[str, Any]) -> str:
    if not publication["isRecorded"]:
        return f"{publication['published']}, the time of its block: no publication is recorded"
    author = Author(publication["who"], publication["reason"], publication["run"])
    return publication_words(publication["published"], publication["decision"], author)


def _license(license_: Mapping[str, str]) -> str:
    short, spdx = license_["shortName"], license_.get("spdxId")
    names = [license_["name"], *([short] if short != spdx else []), *([f"SPDX {spdx}"] if spdx else [])]
    return f"{', '.join(dict.fromkeys(names))}, {license_['websiteUrl']}"


def _print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    width = max(len(label) for label, _ in pairs) + 2
    for label, text in pairs:
        print(label.ljust(width) + _wrap(text, " " * width).lstrip(" "))


def _print_columns(info: Mapping[str, Any], key: tuple[str, ...]) -> None:
    keys = {name.lower() for name in key}
    print_table(
        ("Column", "Type", "", ""),
        [
            (
                printable(column["name"]),
                column["type"],
                "" if column["nullable"] else "NOT NULL",
                "key" if column["name"].lower() in keys else "",
            )
            for column in info["schema"]
        ],
    )


def _wrap(text: str, indent: str) -> str:
    """Return an indented text, wrapped to the width of a terminal. In a pipe lines are not wrapped."""
    lines = [printable(line) for line in text.strip().splitlines()]
    if sys.stdout.isatty():
        width = max(40, shutil.get_terminal_size().columns)
        wrap = textwrap.TextWrapper(width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        lines = [wrapped for line in lines for wrapped in wrap.wrap(line) or [""]]
    else:
        lines = [indent + line for line in lines]
    return "\n".join(lines)


def log(
    name: NameArgument,
    ref: RefOption = None,
    as_of: AsOfOption = None,
    store: StoreOption = None,
    how: FormatOption = "table",
) -> None:
    """Show the metadata chain of a dataset, newest block last.

    `systemTime` is the time of the merge, `published` when readers saw the block. It is empty where no publication is
    recorded: the time of the block counts.
    """
    opened, dataset = existing_dataset(store, name)
    entries = log_entries(dataset, ref_or_block(dataset, ref, as_of, block_as_of))
    if how == "json":
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
    how: RowFormatOption = "table",
) -> None:
    """Show the newest publications of a dataset: when they were merged and published, by whom and why."""
    _, dataset = existing_dataset(store, name)
    recorded = newest(published_history(dataset, ref or "head"), n)[::-1]
    rows = [_publication_row(dataset, entry, publication) for entry, publication in recorded]
    if how == "table":
        rows = [{**row, "hash": row["hash"][:13]} for row in rows]
    print_rows(rows, how, nothing="no publication is recorded: the times of blocks count")


def _publication_row(dataset: Dataset, entry: Entry, publication: Publication | None) -> dict[str, Any]:
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
