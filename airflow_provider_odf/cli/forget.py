"""``odf forget``."""

from __future__ import annotations

import typer

from airflow_provider_odf.cli.output import NameArgument, StoreOption
from airflow_provider_odf.cli.run import open_store


def register(app: typer.Typer) -> None:
    """Add the command to the tool."""
    app.command()(forget)


def forget(name: NameArgument, store: StoreOption = None) -> None:
    """Allow a deleted dataset to start a new history.

    A run refuses to create a dataset again if its folder was deleted from the store.
    After this command the next run creates it with a new id.
    """
    from airflow_provider_odf.chain.store import parse_alias

    alias = parse_alias(name)
    open_store(store).forget(alias)
    print(f"{alias}: the next run starts a new history")
