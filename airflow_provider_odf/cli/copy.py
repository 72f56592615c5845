"""Commands about copies of datasets: ``copy`` and ``promote``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.store import Store, parse_alias
from airflow_provider_odf.cli.options import (
    NameArgument,
    StoreOption,
    VerboseOption,
    existing_dataset,
    near,
    note_new_store,
    status_line,
)
from airflow_provider_odf.cli.run import progress
from airflow_provider_odf.cycle import copy as copies
from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.errors import InvalidInput


def copy(
    original: Annotated[
        str,
        typer.Argument(
            help="Path or URI of a dataset: a folder, s3://…, or https://… of a server that serves its files; with "
            "--all, of a store.",
            metavar="FROM",
        ),
    ],
    store: Annotated[str, typer.Argument(help="Path or URI of the store that gets the copy.", metavar="TO")],
    name: Annotated[
        str | None,
        typer.Option("--as", help="Name of the copy.", metavar="NAME", show_default="that of the original"),
    ] = None,
    is_all: Annotated[bool, typer.Option("--all", help="Copy all datasets of the store FROM.")] = False,
    verbose: VerboseOption = False,
) -> None:
    """Copy a dataset to another store, or bring its copy there up to date.

    Every block and file is compared with its hash. The copy can be seen once it is complete; after an interruption the
    next call copies only what is missing. A copy is read-only, until `odf promote` lets it go on by itself.
    """
    if is_all and name is not None:
        raise InvalidInput("--as names one copy, and --all makes several: use one of them")
    target, alias = Store.open(store), parse_alias(name) if name is not None else None
    note_new_store(target)
    code = 0
    for dataset in _originals(original, is_all=is_all):
        try:
            name_of_copy = dataset.alias if is_all else alias
            if verbose:
                done = copies.copy(dataset, target, name_of_copy, progress(True))
            else:
                with status_line() as tell:
                    done = copies.copy(dataset, target, name_of_copy, tell, interval=0.2)
        except Exception as e:
            if not is_all:
                raise
            print(near(f"{dataset.alias}: {as_odf_error(e)}"), file=sys.stderr)
            code = 1
            continue
        print(f"{done.dataset.alias}: {done}", flush=True)
    raise typer.Exit(code)


def _originals(location: str, *, is_all: bool) -> Iterator[Dataset]:
    if is_all:
        yield from Store.open(location).datasets()
    else:
        yield copies.original(location)


def promote(name: NameArgument, store: StoreOption = None) -> None:
    """Let a read-only copy of a dataset go on by itself: polls, pushes and transforms may add to it.

    From then on the copy and its original have histories of their own, if both go on.
    """
    _, dataset = existing_dataset(store, name)
    origin = copies.promote(dataset)
    print(f"{dataset.alias}: " + (f"no longer a copy of {origin}" if origin is not None else "is no copy"))
