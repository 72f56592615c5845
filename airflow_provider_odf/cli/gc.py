"""``odf gc``."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from airflow_provider_odf.cli.output import Format, FormatOption, StoreOption, near, print_json, print_rows
from airflow_provider_odf.cli.run import existing_store
from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow_provider_odf.cycle.garbage import Garbage

_HOUR = 3600


def register(app: typer.Typer) -> None:
    """Add the command of this module to the tool."""
    app.command("gc")(collect)


def collect(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of datasets.", metavar="NAME", show_default="all")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Remove the listed items.")] = False,
    older_than: Annotated[
        float, typer.Option(help="Keep files that are younger than this.", min=0, metavar="HOURS")
    ] = 24,
    idle: Annotated[
        bool, typer.Option("--idle", help="Nothing writes to the store: collect files of unfinished runs too.")
    ] = False,
    store: StoreOption = None,
    how: FormatOption = Format.table,
) -> None:
    """List files that a store no longer needs, and remove them with --delete.

    These are blocks, slices and checkpoints without a ref, candidates that can no longer be published, reports of
    unknown blocks, state caches of other branches, and files of killed polls and merges. Without names of datasets,
    also caches and work folders of deleted datasets. Data of `head`, candidates and rejected candidates is never
    removed, nor anything younger than the grace period. A dataset with an unfinished run that is older than the grace
    period is left alone, since the files of the run may be as old.
    """
    from airflow_provider_odf.cycle import garbage

    target = existing_store(store)
    datasets = [target.dataset(name) for name in names] if names else list(target.datasets())
    items: list[Garbage] = []
    code = 0
    for dataset in datasets:
        try:
            unused = garbage.find(target, dataset, older_than * _HOUR, is_idle=idle)
            items += [item for item in unused if not delete or garbage.remove(item, dataset)]
        except Exception as e:  # any error: the other datasets follow
            print(near(f"{dataset.alias}: {as_odf_error(e)}"), file=sys.stderr)
            code = 1
    if not names:
        gone = garbage.find_gone(target, older_than * _HOUR, is_idle=idle)
        items += [item for item in gone if not delete or garbage.remove(item, None)]
    _print(items, delete, how)
    raise typer.Exit(code)


def _print(items: Sequence[Garbage], is_deleted: bool, how: Format) -> None:
    if how is Format.json:
        print_json([_row(item) for item in items])
        return
    if items:
        print_rows([_row(item) for item in items], how)
    size = f"{counted(len(items), 'item')}, {counted(sum(item.size for item in items), 'byte')}"
    advice = "deleted" if is_deleted else "odf gc --delete removes them" if items else "nothing to remove"
    print(f"{size}: {advice}", file=sys.stderr)


def _row(item: Garbage) -> dict[str, object]:
    return {
        "dataset": item.dataset,
        "kind": item.kind,
        "size": item.size,
        "ageHours": round((time.time() - item.modified) / _HOUR, 1),
        "path": near(item.path),
    }
