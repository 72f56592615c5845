"""``odf new``: a manifest inferred from samples."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from airflow_provider_odf.cli.output import absolute
from airflow_provider_odf.closed_files import as_user
from airflow_provider_odf.errors import InvalidInput


def register(app: typer.Typer) -> None:
    """Add the command of this module to the tool."""
    app.command()(new)


def new(
    sample: Annotated[str, typer.Argument(help="A file of the source: path or URL.", metavar="FILE|URL")],
    newer: Annotated[
        str | None, typer.Argument(help="A newer file of the source, which shows how rows change.", metavar="FILE|URL")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the dataset.", show_default="made from the name of the file")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write, which must not exist.", metavar="FILE")
    ] = None,
) -> None:
    """Print a manifest with the schema, the key and the merge strategy that fit one or two samples of a source.
    Comments say why. Reads CSV, JSON, GeoJSON and Parquet."""
    from airflow_provider_odf.inference.manifest_text import manifest

    places = [sample] if newer is None else [sample, newer]
    target = None if output is None else absolute(str(output))
    text = manifest(places, name, None if target is None else target.parent)
    if target is None:
        sys.stdout.write(text)
        return
    try:
        with target.open("x", encoding="utf-8") as file:
            as_user(target)
            file.write(text)
    except FileExistsError:
        raise InvalidInput(f"{target}: the file exists: choose another name, or remove it first") from None
