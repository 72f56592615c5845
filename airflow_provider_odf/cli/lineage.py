"""``odf lineage``: the names of datasets in lineage, and what a dataset was made of."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

import typer

from airflow_provider_odf.chain.publications import block_as_of
from airflow_provider_odf.cli.options import (
    AsOfOption,
    FormatOption,
    InputStoresOption,
    NameArgument,
    RefOption,
    StoreOption,
    existing_dataset,
    print_json,
    print_rows,
    ref_or_block,
)
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.lineage.upstream import Node, document, identity, upstream

GROUP = typer.Typer(no_args_is_help=True)


NamingSpec: TypeAlias = Literal["current", "2024"]
EditionOption = Annotated[
    NamingSpec,
    typer.Option(
        "--naming-spec",
        help="Edition of the naming specification, as `[odf] naming_spec`.",
        envvar="ODF_NAMING_SPEC",
    ),
]


@GROUP.callback()
def lineage() -> None:
    """Show names in lineage events, and the upstream graph of a dataset."""


@GROUP.command()
def name(
    uri: Annotated[
        str,
        typer.Argument(
            help="URI, JDBC URL, or path that exists or has a `/`; `-` reads lines from standard input.", metavar="URI"
        ),
    ],
    table: Annotated[str | None, typer.Argument(help="Table, for a database or a warehouse.", metavar="TABLE")] = None,
    edition: EditionOption = "current",
) -> None:
    """Print the namespace and the name that lineage events have for a URI or path, separated by a tab. A glob, or a
    path with placeholders such as `{model}`, has the name of the folder before the first.

    With `-`, each line of standard input has a URI and, after a tab, a table where needed. Each line gets one answer:
    namespace and name, or `error` and the reason why there is no name.

    Exit 0, or 2 if there is no name; with `-` exit 0 even if lines have no name.
    """
    if uri != "-":
        try:
            print(_name(uri, table, edition))
        except ValueError as e:
            raise InvalidInput(f"no name in lineage: {e}") from None
        return
    for line in sys.stdin.buffer:
        address, _, named = line.decode(errors="replace").rstrip("\r\n").partition("\t")
        try:
            print(_name(address, named or None, edition), flush=True)
        except ValueError as e:
            print(f"error\t{e}", flush=True)


def _name(uri: str, table: str | None, edition: NamingSpec) -> str:
    from airflow_provider_odf.lineage.naming.uri import from_pattern, from_uri

    is_path = os.path.lexists(uri)
    if uri.strip() and not re.search("[:/]", uri) and not is_path:
        raise ValueError("this is no URI, and no such path exists: write a file that does not exist yet as ./FILE")
    primary = (from_uri if is_path else from_pattern)(uri, table).in_edition(edition).primary
    return f"{_line(primary.namespace)}\t{_line(primary.name)}"


def _line(text: str) -> str:
    """Return a text with control characters percent-encoded, for output by lines."""
    return re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]", lambda m: "".join(f"%{b:02X}" for b in m[0].encode()), text)


@GROUP.command()
def show(
    name: NameArgument,
    ref: RefOption = None,
    as_of: AsOfOption = None,
    store: StoreOption = None,
    input_store: InputStoresOption = None,
    edition: EditionOption = "current",
    how: FormatOption = "table",
) -> None:
    """Show the upstream graph of a dataset: its sources and inputs, and those of its inputs, as of the blocks that were
    read. JSON has every node once, with its inputs."""
    opened, dataset = existing_dataset(store, name, input_store)
    block = ref_or_block(dataset, ref, as_of, block_as_of)
    root = upstream(opened, dataset, ref=block, edition=edition)
    if how == "json":
        print_json(document(root))
    else:
        print_rows(list(_rows(root)), how)


def _rows(root: Node) -> Iterator[dict[str, Any]]:
    """Yield the rows of a tree; a node that was shown before is not expanded again."""
    shown: set[tuple[str, str, str | None]] = set()
    rest = [(root, "", "")]
    while rest:
        node, branch, indent = rest.pop()
        is_repeated = bool(node.inputs) and node.key in shown
        shown.add(node.key)
        known = identity(node)
        yield {
            "dataset or source": branch + node.label + (" (see above)" if is_repeated else ""),
            "kind": node.kind,
            "version": (node.version or "")[:13],
            "namespace": known["namespace"],
            "name": known["name"],
        }
        if not is_repeated:
            last = len(node.inputs) - 1
            rest += [
                (above, f"{indent}{'└─ ' if at == last else '├─ '}", f"{indent}{'   ' if at == last else '│  '}")
                for at, above in reversed(list(enumerate(node.inputs)))
            ]
