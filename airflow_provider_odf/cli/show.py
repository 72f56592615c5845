"""``odf list`` and ``odf show``: the datasets of a store, and the description of one of them."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote, urlsplit

import typer

from airflow_provider_odf.cli.output import (
    Format,
    FormatOption,
    NameArgument,
    RowFormat,
    RowFormatOption,
    StoreOption,
    near,
    print_json,
    print_rows,
    print_table,
)
from airflow_provider_odf.cli.run import existing_store
from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.wording import counted, suggestion

_SUMMARY = ("name", "kind", "health", "records", "size", "watermark", "published")

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the tool."""
    app.command("list")(list_datasets)
    app.command()(show)


def list_datasets(store: StoreOption = None, how: RowFormatOption = RowFormat.table) -> None:
    """List the datasets of a store: kind, health, records, size, watermark and last publication.

    Health is what chains and contracts say now. It does not know runs of Airflow.
    """
    from airflow_provider_odf.chain.dataset_facts import summary
    from airflow_provider_odf.health.facts import read_facts
    from airflow_provider_odf.health.health import Runs, health

    now = datetime.now(timezone.utc)
    target = existing_store(store)
    rows, code = [], 0
    for gone in target.gone():
        print(near(gone), file=sys.stderr)
        code = 1
    for dataset in target.datasets():
        try:
            found = health(read_facts(target, dataset), Runs(), now)
            rows.append({**summary(dataset), "health": found.word, "healthReason": found.reason})
        except Exception as e:  # any error: the other datasets follow
            print(near(f"{dataset.alias}: {as_odf_error(e)}"), file=sys.stderr)
            code = 1
    if rows or how is not RowFormat.table:
        print_rows([_readable(row) for row in rows] if how is RowFormat.table else rows, how, _SUMMARY)
    elif not code:
        print("no datasets yet", file=sys.stderr)
    raise typer.Exit(code)


def _readable(row: Mapping[str, Any]) -> dict[str, Any]:
    from airflow_provider_odf.manifest import public_source

    return {**row, "records": f"{row['records']:,}", "size": public_source.size(row["size"])}


def show(
    name: NameArgument,
    attachment: Annotated[
        str | None, typer.Option(help="Print the content of this attachment instead.", metavar="PATH")
    ] = None,
    store: StoreOption = None,
    how: FormatOption = Format.table,
) -> None:
    """Show the description, license, attachments, sources, schema, size and state of a dataset."""
    from airflow_provider_odf.chain.dataset_facts import facts
    from airflow_provider_odf.chain.replay import replay

    opened = existing_store(store)
    dataset = opened.dataset(name)
    state = replay(dataset)
    if attachment is not None:
        _print_attachment(state, str(dataset.alias), attachment, how)
        return
    info = facts(dataset, state)
    if how is Format.json:
        print_json(info)
        return
    print(f"{info['alias']} ({info['kind']})")
    if info["description"]:
        print(_wrap(info["description"], ""))
    print()
    _print_pairs(list(_pairs(opened, info, state)))
    if info["schema"]:
        print()
        _print_columns(info, getattr(state.merge, "primary_key", ()))


def _print_attachment(state: ChainState, alias: str, path: str, how: Format) -> None:
    from airflow_provider_odf.chain.dataset_facts import attachments

    contents = attachments(state)
    if path not in contents:
        raise InvalidInput(f"dataset {alias} has no attachment {path!r} ({suggestion(path, list(contents))})")
    if how is Format.json:
        print_json({"path": path, "content": contents[path]})
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(contents[path].encode())


def _pairs(store: Store, info: Mapping[str, Any], state: ChainState) -> Iterator[tuple[str, str]]:
    """Yield a label and text for each known fact."""
    from airflow_provider_odf.manifest import public_source

    yield "Id", info["id"]
    if info["keywords"]:
        yield "Keywords", ", ".join(info["keywords"])
    if info["license"]:
        yield "License", _license(info["license"])
    if info["attachments"]:
        yield "Attachments", ", ".join(f"{a['path']} ({public_source.size(a['size'])})" for a in info["attachments"])
    yield from _source_pairs(store, state)
    yield from _state_pairs(info)


def _source_pairs(store: Store, state: ChainState) -> Iterator[tuple[str, str]]:
    from airflow_provider_odf.chain.dataset_facts import origins
    from airflow_provider_odf.protocol import DatasetVocabulary

    if state.kind == "Root" and state.polling_source is None and not state.push_sources:
        yield "Source", "none"
    inputs = state.transform.inputs if state.transform is not None else ()
    yield from origins(state, " > ", ", ".join(store.input_name(i.dataset_ref, i.alias) for i in inputs))
    renamed = vars(state.vocab).items() - vars(DatasetVocabulary()).items()
    if renamed:
        yield "Vocabulary", ", ".join(f"{role.replace('_', ' ')} {name}" for role, name in sorted(renamed))


def _state_pairs(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    from airflow_provider_odf.manifest import public_source

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
    from airflow_provider_odf.author import Author
    from airflow_provider_odf.chain.publications import PUBLISHED

    if not publication["isRecorded"]:
        return f"{publication['published']}, the time of its block: no publication is recorded"
    author = Author(publication["who"], publication["reason"], publication["run"])
    said = [publication["decision"]] if publication["decision"] != PUBLISHED else []
    words = [publication["published"], *said, *([f"by {author.who}"] if author.who else []), author.run_name]
    return ", ".join(filter(None, words)) + (f": {author.reason}" if author.reason else "")


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
                _escape(column["name"]),
                column["type"],
                "" if column["nullable"] else "NOT NULL",
                "key" if column["name"].lower() in keys else "",
            )
            for column in info["schema"]
        ],
    )


def _wrap(text: str, indent: str) -> str:
    """Return an indented text, wrapped to the width of a terminal. In a pipe lines are not wrapped."""
    lines = [_escape(line) for line in text.strip().splitlines()]
    if sys.stdout.isatty():
        width = max(40, shutil.get_terminal_size().columns)
        wrap = textwrap.TextWrapper(width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        lines = [wrapped for line in lines for wrapped in wrap.wrap(line) or [""]]
    else:
        lines = [indent + line for line in lines]
    return "\n".join(lines)


def _escape(text: str) -> str:
    """Return a text with control characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
