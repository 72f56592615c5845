"""``odf push``."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from airflow_provider_odf.cli.output import NameArgument, StoreOption, absolute
from airflow_provider_odf.cli.run import (
    ForbidOption,
    SystemTimeOption,
    VerboseOption,
    existing_store,
    instant,
    load_manifests,
    note_new_store,
    open_store,
    print_outcome,
    progress,
)
from airflow_provider_odf.errors import InvalidInput, ManifestInvalid, Place, Problem
from airflow_provider_odf.owned_folders import TemporaryDirectory

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.manifest.manifest import Manifest

_STDIN = "-"


def register(app: typer.Typer) -> None:
    """Add the command to the tool."""
    app.command()(push)


def push(
    name: NameArgument,
    file: Annotated[
        list[str],
        typer.Argument(
            help="Files, folders or URIs (file, http, https, ftp, ftps), read together as one input, "
            "or - for standard input.",
            metavar="FILE...|-",
        ),
    ],
    source: Annotated[
        str | None,
        typer.Option(
            help="Name of the push source.",
            show_default="the only push source, or the one named default",
            metavar="NAME",
        ),
    ] = None,
    media_type: Annotated[
        str | None,
        typer.Option(
            help="Media type of the files, such as text/csv or application/x-ndjson.",
            show_default="by suffix, else the source's format",
            metavar="TYPE",
        ),
    ] = None,
    event_time: Annotated[
        str | None,
        typer.Option(help="Event time of records that have none, RFC 3339.", show_default="now", metavar="RFC3339"),
    ] = None,
    push_id: Annotated[
        str | None,
        typer.Option(
            help="Id of this push. The same content with the same id is ingested only once, so that scripts can retry."
        ),
    ] = None,
    manifest: Annotated[
        str | None,
        typer.Option(
            help="The dataset's manifest. The command applies it before the push, and tests the new records against "
            "its data contract.",
            metavar="FILE",
        ),
    ] = None,
    store: StoreOption = None,
    system_time: SystemTimeOption = None,
    forbid: ForbidOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Push files into a dataset: merge, test the contract, publish.

    If the dataset has a polling source, the files are read as if that source had fetched them.
    """
    from airflow_provider_odf.author import of_command
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.cycle.pushed_input import Push
    from airflow_provider_odf.cycle.run import run_push
    from airflow_provider_odf.runner.local import LocalRunner
    from airflow_provider_odf.source.options import from_environment

    time = instant(system_time)
    target = existing_store(store) if manifest is None else open_store(store)
    event = instant(event_time, "--event-time") if event_time is not None else None
    options = from_environment(os.environ, forbid or ())
    with _uris(file) as (uris, label), LocalRunner() as runner:
        declared = manifest_of(manifest, name, target) if manifest is not None else None
        dataset = str(declared.snapshot.alias if declared else target.dataset(name).alias)
        author = of_command("odf push", time=str(time) if system_time is not None else None)
        cycle = Cycle(
            *(target, dataset, runner, time, declared, os.environ, options), progress=progress(verbose), author=author
        )
        data = Push(uris, source_name=source, event_time=event, push_id=push_id, media_type=media_type, label=label)
        code = print_outcome(run_push(cycle, data), verbose)
    raise typer.Exit(code)


def manifest_of(file: str, name: str, store: Store) -> Manifest:
    """Return the manifest of a dataset, and print a note if the command creates a store.

    :raises ManifestInvalid: the file is not valid, or has no such dataset.
    """
    loaded = load_manifests([file], store)
    for manifest in loaded.manifests if not loaded.problems else ():
        if str(manifest.snapshot.alias).lower() == name.lower():
            note_new_store(store)
            return manifest
    missing = Problem(Place(file), f"the manifest does not declare the dataset {name}")
    raise ManifestInvalid(loaded.problems or [missing])


@contextmanager
def _uris(files: list[str]) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Yield the paths and URIs of file arguments, and their name in messages. Standard input is copied to a temporary
    file."""
    if _STDIN not in files:
        yield tuple(file if "://" in file or file.startswith("file:") else str(absolute(file)) for file in files), None
        return
    if files != [_STDIN]:
        raise InvalidInput("- (standard input) must be the only file: push other files with a second command")
    with TemporaryDirectory("push") as directory:
        kept = directory / "stdin"
        with kept.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield (str(kept),), "standard input"
