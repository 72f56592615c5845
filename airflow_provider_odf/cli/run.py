"""``odf validate`` and ``odf run``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from traceback import format_exception
from typing import TYPE_CHECKING, Annotated, Any

import typer

from airflow_provider_odf.cli.output import (
    InputStoresOption,
    StoreOption,
    absolute,
    near,
    print_json,
)
from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.errors import InvalidInput, ManifestInvalid, OdfError, Place, Problem, UnexpectedError

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.messages import Outcome, Progress
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.manifest import Loaded, Manifest

PathsArgument = Annotated[list[str], typer.Argument(help="Manifest files, or folders of them.", metavar="PATH")]

SystemTimeOption = Annotated[
    str | None, typer.Option(help="System time of new blocks, RFC 3339.", show_default="now", metavar="RFC3339")
]
ForbidOption = Annotated[
    list[str] | None,
    typer.Option(help="Forbid a kind of step: Pipe or Container.", metavar="KIND"),
]
VerboseOption = Annotated[bool, typer.Option("-v", "--verbose", help="Print progress messages and tracebacks.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the tool."""
    app.command()(validate)
    app.command()(run)


def open_store(store: str | None, input_stores: Sequence[str] | None = None) -> Store:
    """Return the store of the option, by default ``./odf-store``, for commands that may create it.

    :raises InvalidInput: one of the other stores does not exist.
    """
    from airflow_provider_odf.chain.store import Store

    opened = Store.open(store or "odf-store", others=input_stores or ())
    for other in opened.others:
        _check_exists(other, "--input-store or ODF_INPUT_STORES")
    return opened


def note_new_store(store: Store) -> None:
    """Print a note if a command creates a store, since a mistyped path does so, too."""
    if not store.storage.exists():
        print(f"note: new store at {near(store.location)}", file=sys.stderr)


def existing_store(store: str | None, input_stores: Sequence[str] | None = None) -> Store:
    """Return the store of a command that needs an existing one.

    :raises InvalidInput: there is no such folder.
    """
    opened = open_store(store, input_stores)
    _check_exists(opened, "--store or ODF_STORE")
    return opened


def _check_exists(store: Store, option: str) -> None:
    if not store.storage.exists():
        raise InvalidInput(f"no such folder: {store.location} (name the store with {option})")


def validate(
    paths: PathsArgument,
    how: Annotated[str, typer.Option("--format", help="Output format, text or json.", metavar="FORMAT")] = "text",
) -> None:
    """Validate manifests and their data contracts. Exit 0, or 1 with all errors of all files."""
    if how not in ("text", "json"):
        raise typer.BadParameter(f"unknown format {how!r}: use text or json", param_hint="--format")
    loaded = checked(load_manifests(paths, None))
    problems = sorted(loaded.problems)
    if queried := [m for m in loaded.manifests if has_queries(m)]:
        from airflow_provider_odf.dialect.check import check_columns, unchecked

        problems = sorted([*problems, *check_columns(loaded.manifests)])
        loaded = replace(loaded, warnings=(*loaded.warnings, *unchecked(queried)))
    if how == "json":
        entries = [("error", p) for p in problems] + [("warning", w) for w in loaded.warnings]
        print_json([problem_json(severity, p) for severity, p in sorted(entries, key=lambda e: e[1])])
    else:
        for problem in problems:
            print_problem("error", problem)
        print_warnings(loaded)
        if not problems and loaded.manifests:
            count = len(loaded.manifests)
            print(f"{count} manifests are valid" if count != 1 else "1 manifest is valid")
    if is_empty := not problems and not loaded.manifests:
        print(no_manifests(paths), file=sys.stderr)
    raise typer.Exit(1 if problems or is_empty else 0)


def run(
    manifests: Annotated[list[str], typer.Argument(help="Manifest files, or folders of them.", metavar="MANIFEST")],
    store: StoreOption = None,
    input_store: InputStoresOption = None,
    system_time: SystemTimeOption = None,
    forbid: ForbidOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Run one cycle of each dataset: poll, merge, test the contract, publish.

    All datasets share one JVM. It is only started if there is new data that needs Spark.
    """
    from airflow_provider_odf.author import of_command
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.cycle.run import run_all
    from airflow_provider_odf.runner.local import LocalRunner
    from airflow_provider_odf.source.options import from_environment

    time = instant(system_time)
    options = from_environment(os.environ, forbid or ())
    target = open_store(store, input_store)
    loaded = checked(load_manifests(manifests, target), tests_contracts=True)
    print_warnings(loaded)
    if not loaded.manifests:
        raise ManifestInvalid(loaded.problems) if loaded.problems else InvalidInput(no_manifests(manifests))
    for problem in loaded.problems:
        print(near(problem), file=sys.stderr)
    note_new_store(target)
    code = 2 if loaded.problems else 0
    author = of_command("odf run", time=str(time) if system_time is not None else None)
    with LocalRunner() as runner:
        cycles = [
            Cycle(
                *(target, str(m.snapshot.alias), runner, time, m, os.environ, options),
                progress=progress(verbose),
                author=author,
            )
            for m in loaded.manifests
        ]
        for outcome in run_all(cycles):
            code = max(code, print_outcome(outcome, verbose))
    raise typer.Exit(code)


def progress(verbose: bool) -> Progress:
    """Return a function that prints progress on a terminal or with ``--verbose``."""
    from airflow_provider_odf.cycle.messages import silent

    return _print_progress if verbose or sys.stderr.isatty() else silent


def print_warnings(loaded: Loaded) -> None:
    """Print warnings with their fixes on standard error."""
    for warning in loaded.warnings:
        print_problem("warning", warning)


def print_problem(severity: str, problem: Problem) -> None:
    """Print an error, or a warning on standard error."""
    if severity == "error":
        print(near(problem))
        return
    fix = f" ({problem.fix})" if problem.fix else ""
    print(near(f"{problem.place}: warning: {problem.message}{fix}"), file=sys.stderr)


def print_outcome(outcome: Outcome, verbose: bool) -> int:
    """Print the outcome of a cycle, if verbose with the traceback of an unexpected error; return the exit code."""
    if verbose and isinstance(outcome.error, UnexpectedError):
        print(*format_exception(outcome.error), sep="", end="", file=sys.stderr)
    for notice in outcome.notices:
        print(near(f"{outcome.dataset}: note: {notice}"), file=sys.stderr)
    print(near(f"{outcome.dataset}: {outcome}"), file=sys.stderr if outcome.error else sys.stdout, flush=True)
    return 2 if isinstance(outcome.error, InvalidInput) else int(outcome.error is not None)


def _print_progress(message: str) -> None:
    with suppress(OSError):  # a closed terminal must not stop a run
        print(near(message), file=sys.stderr, flush=True)


def load_manifests(paths: Sequence[str], store: Store | None) -> Loaded:
    """Return the manifests of path arguments. Datasets of the store are valid inputs, and those at a location."""
    from airflow_provider_odf.chain.dataset_folders import dataset_at
    from airflow_provider_odf.manifest.graph import alias_alone
    from airflow_provider_odf.manifest.load import load
    from airflow_provider_odf.manifest.names import DatasetAlias, DatasetRef, DatasetUri, parse_ref

    def is_known(ref: str) -> bool:
        try:
            parsed = parse_ref(ref)
            found = store.find(ref) if store is not None else None
            return found is not None or (isinstance(parsed, DatasetUri) and dataset_at(parsed) is not None)
        except (OdfError, OSError, ValueError):
            return False

    def alias_in(store: Store, ref: DatasetRef) -> DatasetAlias | None:
        try:
            return store.alias_of(ref)
        except (OdfError, OSError):
            return None

    alias_of = partial(alias_in, store) if store is not None else alias_alone
    return load([absolute(path) for path in paths], known=is_known, alias_of=alias_of)


def no_manifests(paths: Sequence[str]) -> str:
    """Return the message for paths without manifests."""
    return f"no manifests in {', '.join(paths)}"


def checked(loaded: Loaded, *, tests_contracts: bool = False) -> Loaded:
    """Return the manifests without problems of their contracts and queries, and the problems of the others: one that is
    not valid stops no other. With ``tests_contracts``, clauses that cannot be evaluated are left to the contract test,
    which also reports what is a warning here.
    """
    warnings = set[Problem]()
    by_manifest = {id(manifest): _problems(manifest, tests_contracts, warnings) for manifest in loaded.manifests}
    valid = tuple(manifest for manifest in loaded.manifests if not by_manifest[id(manifest)])
    problems = [problem for own in by_manifest.values() for problem in own]
    return replace(
        loaded,
        manifests=valid,
        problems=tuple(sorted([*loaded.problems, *problems])),
        warnings=(*loaded.warnings, *sorted(warnings)),
    )


def has_queries(manifest: Manifest) -> bool:
    """Return whether a manifest has SQL."""
    from airflow_provider_odf.manifest.model import SetTransform

    events = manifest.snapshot.metadata
    return any(isinstance(e, SetTransform) or getattr(e, "preprocess", None) is not None for e in events)


def _problems(manifest: Manifest, tests_contracts: bool, warnings: set[Problem]) -> list[Problem]:
    """Return the problems of a manifest's contract and queries, and add the warnings of its contract to others."""
    try:
        problems = [*_contract_problems(manifest, tests_contracts, warnings)]
        if has_queries(manifest):
            from airflow_provider_odf.dialect.check import check

            problems += check([manifest])
        return problems
    except Exception as e:  # any error: the other manifests are checked
        return [Problem(Place(str(manifest.file)), str(as_odf_error(e)))]


def _contract_problems(manifest: Manifest, tests_contracts: bool, warnings: set[Problem]) -> Sequence[Problem]:
    from airflow_provider_odf.contract.binding import find, of_dataset

    try:
        if (location := find(manifest)) is None:
            return ()
        from airflow_provider_odf.contract import lint

        file = location.load()
        if not tests_contracts:
            warnings.update(lint.warnings_of(file))
        contract = of_dataset(file, str(manifest.snapshot.name))
        of_clauses = () if tests_contracts else (*file.problems, *lint.invalid_clauses(file, contract.checks))
        return [*of_clauses, *lint.manifest_problems(manifest, file, contract)]
    except ManifestInvalid as e:
        return e.problems


def problem_json(severity: str, problem: Problem) -> dict[str, Any]:
    place = problem.place
    return {
        "severity": severity,
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "message": problem.message,
        "fix": problem.fix,
    }


def instant(text: str | None, option: str = "--system-time") -> Instant:
    """Return the time of an option, by default now."""
    from airflow_provider_odf.instant import Instant

    try:
        return Instant.parse(text) if text is not None else Instant.now()
    except ValueError as e:
        raise typer.BadParameter(str(e), param_hint=option) from e
