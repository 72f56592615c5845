"""``odf rejected``: inspect, test again, publish or discard rejected candidates."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from airflow_provider_odf.author import of_command
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cli.manifests import manifest_of
from airflow_provider_odf.cli.options import (
    Format,
    FormatOption,
    NameArgument,
    RowFormat,
    RowFormatOption,
    StoreOption,
    VerboseOption,
    existing_dataset,
    print_json,
    print_rows,
)
from airflow_provider_odf.cli.run import progress
from airflow_provider_odf.contract.report import document, lines, state
from airflow_provider_odf.cycle.candidates import LOST, Rejection, is_accepted, rejections
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.decisions import changed_files, chosen, describe_decision, publish_anyway, undecided
from airflow_provider_odf.cycle.decisions import discard as discard_
from airflow_provider_odf.cycle.decisions import retest as retest_
from airflow_provider_odf.cycle.sensitive import SensitiveColumns
from airflow_provider_odf.cycle.tested import rejected_rows
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.runner.local import LocalRunner
from airflow_provider_odf.wording import counted, listed

GROUP = typer.Typer(no_args_is_help=True)
_REF = "Ref of the candidate."
RefArgument = Annotated[str | None, typer.Argument(help=_REF, show_default="the newest")]
UndecidedArgument = Annotated[
    str | None, typer.Argument(help=_REF, show_default="the newest that waits for a decision")
]
ReasonOption = Annotated[str | None, typer.Option(help="Why, for the record of the decision.", metavar="TEXT")]
_COLUMNS = ("outcome", "severity", "field", "description", "expected", "reason", "failedRows")


@GROUP.callback()
def rejected() -> None:
    """Inspect candidates that failed their data contract or were held back; test again, publish or discard them."""


@GROUP.command("list")
def list_(name: NameArgument, store: StoreOption = None, how: FormatOption = "table") -> None:
    """List the rejected candidates of a dataset, newest last."""
    _, dataset = existing_dataset(store, name)
    entries = [_entry(dataset, r, how) for r in rejections(dataset)]
    print_rows(entries, how, nothing="no rejected candidates")


def _entry(dataset: Dataset, rejection: Rejection, how: Format) -> dict[str, Any]:
    record, report, is_lost = rejection.record, rejection.report, rejection.record == LOST
    decision = "discarded" if record.is_discarded else "accepted" if is_accepted(dataset, record) else None
    # As `show` counts them: warnings are none.
    failed = sum(state(result) == "fail" for result in report.results) if report else 0
    return {
        "ref": rejection.ref,
        "hash": rejection.block_hash if how == "json" else rejection.block_hash[:13],
        "systemTime": str(rejection.system_time),
        "records": rejection.records,
        "reason": None if is_lost else "held back" if record.held else "contract",
        "contract": "unknown: the report is missing or damaged" if is_lost else report.contract if report else None,
        "failed": None if is_lost else failed,
        "superseded": None if is_lost else rejection.base != dataset.head(),
        "decision": decision,
        "decidedBy": record.decided_by.who if record.decided_by is not None else None,
        "why": record.decided_by.reason if record.decided_by is not None else None,
    }


@GROUP.command()
def show(
    name: NameArgument,
    ref: RefArgument = None,
    rows: Annotated[
        bool, typer.Option("--rows", help="Show the rows that violate the contract, or the rows of an input held back.")
    ] = False,
    n: Annotated[int, typer.Option("-n", help="Maximum number of rows, with --rows.", min=1)] = 100,
    store: StoreOption = None,
    how: RowFormatOption = "table",
) -> None:
    """Show why a candidate was rejected: each clause of the contract and its outcome, or why its input was held back.

    Values of columns that the contract classifies as sensitive, or that are made of such columns, are masked.
    """
    opened, dataset = existing_dataset(store, name)
    rejection = chosen(dataset, ref)
    if rows:
        _print_rows_of(opened, dataset, rejection, n, how)
        return
    report = rejection.report
    about: dict[str, Any] = {"testedRows": report.tested_rows, **document(report)} if report else {}
    if how == "csv":
        print_rows(about.get("checks", ()), how, _COLUMNS)
    elif how == "json":
        print_json({"ref": rejection.ref, "hash": rejection.block_hash, "held": rejection.record.held, **about})
    else:
        for line in _reasons(rejection):
            print(line)
        for line in lines(report, name) if report else ():
            print(line)


def _reasons(rejection: Rejection) -> Iterator[str]:
    records, report = counted(rejection.records, "record"), rejection.report
    for reason in rejection.record.held:
        yield f"{rejection.ref}: {records} held back: {reason}"
    if report and not rejection.record.held:
        yield f"{rejection.ref}: {records} rejected by contract {report.contract}"
    if rejection.source_state is not None:
        yield f"source at {rejection.source_state.value}"


def _print_rows_of(store: Store, dataset: Dataset, rejection: Rejection, limit: int, how: RowFormat) -> None:
    state = replay(dataset, rejection.block_hash)
    sensitive = SensitiveColumns(store).names(dataset, state)
    rows = rejected_rows(dataset, rejection, limit, state, sensitive=sensitive)
    print_rows(rows if rows.total else (), how, rows.columns, nothing="the report has no rows: show it without --rows")
    if rows.total > limit:
        print(f"… {counted(rows.total - limit, 'more row')}: use -n", file=sys.stderr)


@GROUP.command()
def publish(
    name: NameArgument, ref: UndecidedArgument = None, reason: ReasonOption = None, store: StoreOption = None
) -> None:
    """Publish a rejected candidate anyway, once.

    The publication is recorded with the user, the machine and the reason; `odf publications` lists it.

    If the head has moved since, the candidate cannot be published. The decision is then kept: the next run that merges
    the same input publishes it. To publish a discarded candidate, name its ref.
    """
    author = of_command("odf rejected publish", reason)
    target, dataset, rejection = _undecided(store, name, ref)
    is_on_head, record = rejection.base == dataset.head(), rejection.record
    if not is_on_head and not record.is_discarded and is_accepted(dataset, record):
        _print_unchanged(dataset, rejection)
        return
    changed = changed_files(rejection)
    if publish_anyway(target, dataset, rejection, author):
        if changed:
            print(
                f"{name}: note: source files changed after the rejection: {listed(changed)}. Their earlier content is "
                "published. Later runs do not fetch their new content: ingest these files with `odf push`",
                file=sys.stderr,
            )
        print(f"{name}: published {counted(rejection.records, 'record')} of {rejection.ref}")
    else:
        again = "push that merges" if rejection.record.is_pushed else "run that merges"
        print(
            f"{name}: {rejection.ref} is not based on the current head and cannot be published. "
            f"The decision is kept: the next {again} the same input publishes it"
        )


@GROUP.command()
def retest(
    name: NameArgument,
    ref: UndecidedArgument = None,
    manifest: Annotated[
        str | None,
        typer.Option(
            help="The dataset's manifest, whose data contract counts.",
            show_default="the contract in the dataset's metadata",
            metavar="FILE",
        ),
    ] = None,
    reason: ReasonOption = None,
    store: StoreOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Test a candidate again that its contract rejected, and publish it if it passes.

    Its data is not fetched again. This is for a contract that was corrected, or clauses about other datasets.
    """
    author = of_command("odf rejected retest", reason)
    target, dataset, rejection = _undecided(store, name, ref)
    declared = manifest_of(manifest, name, target) if manifest is not None else None
    with LocalRunner() as runner:
        alias = str(dataset.alias)
        cycle = Cycle(
            target, alias, runner, Instant.now(), declared, os.environ, progress=progress(verbose), author=author
        )
        report = retest_(cycle, rejection)
    for line in lines(report, name):
        print(line)
    print(f"{name}: published {counted(rejection.records, 'record')} of {rejection.ref}")


@GROUP.command()
def discard(
    name: NameArgument, ref: UndecidedArgument = None, reason: ReasonOption = None, store: StoreOption = None
) -> None:
    """Discard the input of a rejected candidate.

    Later runs no longer fail because of it, and continue with newer data of the source. Its blocks and slices are kept.
    """
    author = of_command("odf rejected discard", reason)
    _, dataset, rejection = _undecided(store, name, ref)
    if rejection.record.is_discarded:
        _print_unchanged(dataset, rejection)
        return
    if rejection.base != dataset.head():
        raise InvalidInput(f"{rejection.ref} is superseded: the head has moved since, so no decision is needed")
    discard_(dataset, rejection, author)
    print(f"{name}: discarded {counted(rejection.records, 'record')} of {rejection.ref}")


def _undecided(store: str | None, name: str, ref: str | None) -> tuple[Store, Dataset, Rejection]:
    opened, dataset = existing_dataset(store, name)
    return opened, dataset, undecided(dataset, ref)


def _print_unchanged(dataset: Dataset, rejection: Rejection) -> None:
    earlier = describe_decision(dataset, rejection)
    print(f"{dataset.alias}: nothing has changed: {rejection.ref} is already {earlier}")
