"""``odf validate`` and ``odf new``, and the manifests that commands name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airflow_provider_odf.cli.options import TextFormat, absolute, note_new_store, print_problems
from airflow_provider_odf.closed_files import as_user
from airflow_provider_odf.contract.binding import contract_location, of_dataset
from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.errors import InvalidInput, ManifestInvalid, OdfError, Place, Problem
from airflow_provider_odf.manifest.graph import alias_alone
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.manifest import Loaded, Manifest
from airflow_provider_odf.manifest.model import SetTransform
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetRef, DatasetUri, parse_ref

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store

PathsArgument = Annotated[list[str], typer.Argument(help="Manifest files, or folders of them.", metavar="PATH")]


def validate(
    paths: PathsArgument,
    how: Annotated[TextFormat, typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """Validate manifests and their data contracts. Exit 0, or 1 with all errors of all files."""
    loaded = checked(load_manifests(paths, None))
    problems, warnings = [*loaded.problems], [*loaded.warnings]
    if queried := [m for m in loaded.manifests if _has_queries(m)]:
        from airflow_provider_odf.dialect.check import check_columns, unchecked

        problems = sorted([*problems, *check_columns(loaded.manifests)])
        warnings += unchecked(queried)
    print_problems(problems, warnings, is_json=how == "json")
    if how == "text" and not problems and loaded.manifests:
        count = len(loaded.manifests)
        print(f"{count} manifests are valid" if count != 1 else "1 manifest is valid")
    if is_empty := not problems and not loaded.manifests:
        print(no_manifests(paths), file=sys.stderr)
    raise typer.Exit(1 if problems or is_empty else 0)


def _has_queries(manifest: Manifest) -> bool:
    events = manifest.snapshot.metadata
    return any(isinstance(e, SetTransform) or getattr(e, "preprocess", None) is not None for e in events)


def load_manifests(paths: Sequence[str], store: Store | None) -> Loaded:
    """Return the manifests of path arguments. Datasets of the store are valid inputs, and those at a location."""

    def is_known(ref: str) -> bool:
        try:
            parsed = parse_ref(ref)
            if store is not None and store.find(ref) is not None:
                return True
            if not isinstance(parsed, DatasetUri):
                return False
            from airflow_provider_odf.chain.dataset import dataset_at  # few manifests name an input by its location

            return dataset_at(parsed) is not None
        except (OdfError, OSError, ValueError):
            return False

    def alias_in(store: Store, ref: DatasetRef) -> DatasetAlias | None:
        try:
            return store.alias_of(ref)
        except (OdfError, OSError):
            return None

    alias_of = partial(alias_in, store) if store is not None else alias_alone
    return load([absolute(path) for path in paths], known=is_known, alias_of=alias_of)


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


def no_manifests(paths: Sequence[str]) -> str:
    """Return the message for paths without manifests."""
    return f"no manifests in {', '.join(paths)}"


def checked(loaded: Loaded, *, tests_contracts: bool = False) -> Loaded:
    """Return the manifests without problems of their contracts and queries, and the problems of the others: one that is
    not valid stops no other. With ``tests_contracts``, clauses that cannot be evaluated are left to the contract test.
    """
    checks = [_check(manifest, tests_contracts) for manifest in loaded.manifests]
    return replace(
        loaded,
        manifests=tuple(m for m, (problems, _) in zip(loaded.manifests, checks, strict=True) if not problems),
        problems=tuple(sorted([*loaded.problems, *(problem for problems, _ in checks for problem in problems)])),
        warnings=(*loaded.warnings, *sorted({warning for _, warnings in checks for warning in warnings})),
    )


def _check(manifest: Manifest, tests_contracts: bool) -> tuple[Sequence[Problem], Sequence[Problem]]:
    """Return the problems of a manifest's contract and queries, and the warnings of its contract."""
    warnings: Sequence[Problem] = ()
    try:
        problems, warnings = _check_contract(manifest, tests_contracts)
        if _has_queries(manifest):
            from airflow_provider_odf.dialect.check import check

            problems = [*problems, *check([manifest])]
        return problems, warnings
    except Exception as e:  # any error: the other manifests are checked
        return [Problem(Place(str(manifest.file)), str(as_odf_error(e)))], warnings


def _check_contract(manifest: Manifest, tests_contracts: bool) -> tuple[Sequence[Problem], Sequence[Problem]]:
    warnings: Sequence[Problem] = ()
    try:
        if (location := contract_location(manifest)) is None:
            return (), ()
        from airflow_provider_odf.contract import lint

        file = location.load()
        warnings = lint.warnings_of(file)
        contract = of_dataset(file, str(manifest.snapshot.name))
        of_clauses = () if tests_contracts else (*file.problems, *lint.invalid_clauses(file, contract.checks))
        return [*of_clauses, *lint.manifest_problems(manifest, file, contract)], warnings
    except ManifestInvalid as e:
        return e.problems, warnings


def new(
    samples: Annotated[
        list[str],
        typer.Argument(
            help="A file of the source, path or URL; newer files after it show how rows change.", metavar="FILE|URL..."
        ),
    ],
    name: Annotated[
        str | None, typer.Option(help="Name of the dataset.", show_default="made from the name of the file")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write, which must not exist.", metavar="FILE")
    ] = None,
    contract: Annotated[
        bool,
        typer.Option(
            "--contract", help="Also write a data contract with guesses beside the manifest, as it is tested."
        ),
    ] = False,
) -> None:
    """Print a manifest with the schema, the key and the merge strategy that fit samples of a source. Comments say why.
    Reads CSV, JSON, GeoJSON and Parquet, also in gzip and zip files."""
    from airflow_provider_odf.contract.binding import beside
    from airflow_provider_odf.inference.contract_text import contract as contract_text
    from airflow_provider_odf.inference.manifest_text import infer, manifest

    if contract and output is None:
        raise InvalidInput("--contract writes a file beside the manifest: name the manifest with --output")
    inferred = infer(samples, name)
    if output is None:
        sys.stdout.write(manifest(inferred, Path.cwd()))
        return
    target = absolute(str(output))
    files = {target: manifest(inferred, target.parent)}
    if contract:
        files[beside(target, inferred.name)[0]] = contract_text(inferred)
    for file in files:
        if file.exists():
            raise InvalidInput(f"{file}: the file exists: choose another name, or remove it first")
    for file, text in files.items():
        with file.open("x", encoding="utf-8") as opened:
            as_user(file)
            opened.write(text)
