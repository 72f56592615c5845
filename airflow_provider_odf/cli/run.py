"""``odf run`` and ``odf push``."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from traceback import format_exception
from typing import Annotated

import typer

from airflow_provider_odf.author import of_command
from airflow_provider_odf.cli.manifests import checked, load_manifests, manifest_of, no_manifests
from airflow_provider_odf.cli.options import (
    ForbidOption,
    InputStoresOption,
    NameArgument,
    SparkOption,
    StoreOption,
    SystemTimeOption,
    VerboseOption,
    absolute,
    existing_store,
    instant,
    near,
    note_new_store,
    open_store,
    print_problems,
    spark_choice,
)
from airflow_provider_odf.cycle.cycle import Cycle, settings_of
from airflow_provider_odf.cycle.messages import Outcome, Progress, silent
from airflow_provider_odf.cycle.run import run_all, run_push
from airflow_provider_odf.errors import InvalidInput, ManifestInvalid, UnexpectedError
from airflow_provider_odf.owned_folders import TemporaryDirectory
from airflow_provider_odf.protocol import SLICE_RECORDS
from airflow_provider_odf.source.options import from_environment


def run(
    manifests: Annotated[list[str], typer.Argument(help="Manifest files, or folders of them.", metavar="MANIFEST")],
    store: StoreOption = None,
    input_store: InputStoresOption = None,
    system_time: SystemTimeOption = None,
    forbid: ForbidOption = None,
    spark: SparkOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Run one cycle of each dataset: poll, merge, test the contract, publish.

    All datasets share one JVM. It is only started if there is new data that needs Spark.
    """
    choice = spark_choice(spark)
    time = instant(system_time)
    options = from_environment(os.environ, forbid or ())
    target = open_store(store, input_store)
    loaded = checked(load_manifests(manifests, target), tests_contracts=True)
    print_problems((), loaded.warnings)
    if not loaded.manifests:
        raise ManifestInvalid(loaded.problems) if loaded.problems else InvalidInput(no_manifests(manifests))
    for problem in loaded.problems:
        print(near(problem), file=sys.stderr)
    note_new_store(target)
    code = 2 if loaded.problems else 0
    author = of_command("odf run", time=str(time) if system_time is not None else None)
    with choice.runner() as runner:
        cycles = [
            Cycle(
                *(target, str(m.snapshot.alias), runner, time, m, os.environ, options),
                progress=progress(verbose),
                spark=choice.of((own := settings_of(m)).spark),
                slice_records=own.slice_records or SLICE_RECORDS,
                author=author,
            )
            for m in loaded.manifests
        ]
        for outcome in run_all(cycles):
            code = max(code, _print_outcome(outcome, verbose))
    raise typer.Exit(code)


_STDIN = "-"


def push(
    name: NameArgument,
    file: Annotated[
        list[str],
        typer.Argument(
            help="Files, folders or URIs (file, http, https, ftp, ftps, s3, gs, az, abfss), read together as one "
            "input, or - for standard input.",
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
    spark: SparkOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Push files into a dataset: merge, test the contract, publish.

    If the dataset has a polling source, the files are read as if that source had fetched them.
    """
    from airflow_provider_odf.cycle.push import Push

    choice = spark_choice(spark)
    time = instant(system_time)
    target = existing_store(store) if manifest is None else open_store(store)
    event = instant(event_time, "--event-time") if event_time is not None else None
    options = from_environment(os.environ, forbid or ())
    with _uris(file) as (uris, label), choice.runner() as runner:
        declared = manifest_of(manifest, name, target) if manifest is not None else None
        dataset = str(declared.snapshot.alias if declared else target.dataset(name).alias)
        author = of_command("odf push", time=str(time) if system_time is not None else None)
        cycle = Cycle(
            *(target, dataset, runner, time, declared, os.environ, options),
            progress=progress(verbose),
            spark=choice.of((own := settings_of(declared)).spark),
            slice_records=own.slice_records or SLICE_RECORDS,
            author=author,
        )
        data = Push(uris, source_name=source, event_time=event, push_id=push_id, media_type=media_type, label=label)
        code = _print_outcome(run_push(cycle, data), verbose)
    raise typer.Exit(code)


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


def _print_outcome(outcome: Outcome, verbose: bool) -> int:
    """Print the outcome of a cycle, if verbose with the traceback of an unexpected error; return the exit code."""
    if verbose and isinstance(outcome.error, UnexpectedError):
        print(*format_exception(outcome.error), sep="", end="", file=sys.stderr)
    for notice in outcome.notices:
        print(near(f"{outcome.dataset}: note: {notice}"), file=sys.stderr)
    print(near(f"{outcome.dataset}: {outcome}"), file=sys.stderr if outcome.error else sys.stdout, flush=True)
    return 2 if isinstance(outcome.error, InvalidInput) else int(outcome.error is not None)


def progress(is_verbose: bool) -> Progress:
    """Return a function that prints progress on a terminal or with ``--verbose``."""
    return _print_progress if is_verbose or sys.stderr.isatty() else silent


def _print_progress(message: str) -> None:
    with suppress(OSError):  # a closed terminal must not stop a run
        print(near(message), file=sys.stderr, flush=True)
