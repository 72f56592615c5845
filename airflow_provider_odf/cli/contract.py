"""``odf contract``: check and show data contracts, and test data against them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, cast

import typer

from airflow_provider_odf import object_stores, protocol
from airflow_provider_odf.cli.options import (
    FormatOption,
    TextFormat,
    absolute,
    instant,
    near,
    print_json,
    print_problems,
)
from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.copies import Copies
from airflow_provider_odf.contract.lint import lint
from airflow_provider_odf.contract.load import ContractFile, load
from airflow_provider_odf.contract.report import EXIT_CODES, as_junit, document, lines, remove_earlier
from airflow_provider_odf.contract.show import document as contract_document
from airflow_provider_odf.contract.show import lines as contract_lines
from airflow_provider_odf.contract.sources import access_of, models_to_test, of_data, of_server, server_of
from airflow_provider_odf.errors import EngineError, InvalidInput, Problem
from airflow_provider_odf.owned_folders import TemporaryDirectory
from airflow_provider_odf.protocol import ContractReport, Source
from airflow_provider_odf.runner.local import LocalRunner

GROUP = typer.Typer(no_args_is_help=True)
ContractArgument = Annotated[str, typer.Argument(help="Contract file.", metavar="CONTRACT")]


ReportFormat: TypeAlias = Literal["table", "json", "junit"]


@GROUP.callback()
def contract() -> None:
    """Check and show data contracts, and test data against them."""


@GROUP.command("lint")
def contract_lint(
    contracts: Annotated[list[str], typer.Argument(help="Contract files.", metavar="CONTRACT")],
    how: Annotated[TextFormat, typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """Check contracts without data. Exit 0, or 1 with all errors of all files.

    A contract is checked against the JSON Schema of its version. References resolve to definitions, each clause can be
    evaluated, and examples satisfy their own fields.
    """
    errors, warnings = list[Problem](), list[Problem]()
    for contract in contracts:
        for problems, own in zip((errors, warnings), lint(absolute(contract)), strict=True):
            problems += own
    print_problems(errors, warnings, is_json=how == "json")
    if how == "text" and not errors:
        print(f"{len(contracts)} contracts are valid" if len(contracts) != 1 else "1 contract is valid")
    raise typer.Exit(int(bool(errors)))


@GROUP.command("show")
def contract_show(contract: ContractArgument, how: FormatOption = "table") -> None:
    """Show all sections of a contract, with what its fields inherit, and mark the clauses that are not enforced."""
    file = load(absolute(contract))
    if how == "json":
        print_json(contract_document(file))
        return
    for line in contract_lines(file):
        print(line)


@GROUP.command("test")
def contract_test(
    contract: ContractArgument,
    server: Annotated[
        str | None,
        typer.Option(
            help="Name of a server in the contract: test the data on this server.", show_default="the only one"
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="File, folder or glob with the data. The placeholder {model} stands for the name of each model."
        ),
    ] = None,
    data_format: Annotated[
        Literal["csv", "json", "ndjson", "parquet"] | None,
        typer.Option(help="Format of the data.", show_default="from the file name"),
    ] = None,
    model: Annotated[str | None, typer.Option(help="Test this model only.", show_default="all")] = None,
    as_of: Annotated[
        str | None,
        typer.Option(help="Reference time for the age of data, in RFC 3339.", show_default="now", metavar="RFC3339"),
    ] = None,
    failed_rows: Annotated[
        str | None,
        typer.Option(
            help="Folder to which failing rows are written as Parquet, each with the clauses that it fails.",
            metavar="FOLDER",
        ),
    ] = None,
    how: Annotated[ReportFormat, typer.Option("--format", help="Output format.")] = "table",
) -> None:
    """Test data against a contract, and report every clause.

    Exit 0 if no clause of severity `error` failed, 1 if one did, 2 if the file is no contract, and 3 if a clause
    could not be evaluated.
    """
    time = instant(as_of, "--as-of")
    file = load(absolute(contract))
    models = models_to_test(file, model)
    if data is not None and server is not None:
        raise InvalidInput("use either --data or --server")
    chosen = server_of(file, server) if data is None else None
    folder = absolute(failed_rows) if failed_rows else None
    if chosen and (access := access_of(chosen)):
        object_stores.connect(lambda _: access)
    sources = of_server(file, chosen, data_format) if chosen else of_data(file, models, str(data), data_format)
    if folder is not None:
        remove_earlier(folder, models)
    try:
        report = _report(file, models, sources, str(time), folder)
    except EngineError as e:
        print(near(e), file=sys.stderr)
        raise typer.Exit(3) from e
    _print(report, how, contract, f"server {chosen.name}" if chosen else str(data))
    raise typer.Exit(EXIT_CODES[report.result])


def _report(
    file: ContractFile, models: tuple[str, ...], sources: tuple[Source, ...], as_of: str, failed_rows: Path | None
) -> ContractReport:
    contract = compile_models(file, models)
    folder = str(failed_rows) if failed_rows else None
    with TemporaryDirectory("contract") as place:
        copies = Copies(place, lambda text: print(text, file=sys.stderr))
        here = tuple(map(copies.source, sources))
        request = protocol.SourceTestRequest(contract.id, contract, here, as_of, folder)
        with LocalRunner() as runner:
            return copies.with_uris(cast("protocol.SourceTestSuccess", runner.submit(request).result()).report)


def _print(report: ContractReport, how: ReportFormat, contract: str, data: str) -> None:
    match how:
        case "json":
            print_json(document(report))
        case "junit":
            print(as_junit(report, contract), end="")
        case "table":
            for line in lines(report, data):
                print(near(line))
