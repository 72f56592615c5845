"""``odf reset``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from airflow_provider_odf.cli.output import NameArgument, StoreOption, near
from airflow_provider_odf.cli.run import existing_store
from airflow_provider_odf.wording import counted, listed

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.reset import Reset


def register(app: typer.Typer) -> None:
    """Add the command to the tool."""
    app.command()(reset)


def reset(
    name: NameArgument,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what the reset would do, and change nothing.")
    ] = False,
    store: StoreOption = None,
) -> None:
    """Remove all data of a derivative dataset from its history, so that the next run computes it anew.

    The id and the metadata stay: vocabulary, transform, description, license and attachments. The schema, the data, and
    candidates that wait go. Writers may be running. The earlier history stays under a ref until `odf gc` removes it.
    """
    from airflow_provider_odf.cycle import reset as resets

    target = existing_store(store)
    dataset = target.dataset(name)
    done = resets.plan(dataset) if dry_run else resets.reset(target, dataset)
    if done.changes_nothing:
        print(f"{dataset.alias}: nothing to reset: the dataset has no data yet")
        return
    for line in _lines(target, done, dry_run):
        print(f"{dataset.alias}: {line}")
    for reader in resets.readers(target, done.before.dataset_id):
        stops = f"after this reset it stops until you run `{near(reader.command('reset', '{}'))}`"
        print(f"note: {reader.alias} was computed from {dataset.alias}: {stops}", file=sys.stderr)


def _lines(store: Store, done: Reset, is_planned: bool) -> Iterator[str]:
    state, would = done.before, "would be " if is_planned else ""
    records = counted(state.next_offset, "record")
    yield f"{would}removed from the history: {records} in {counted(len(state.slices), 'slice')}"
    yield f"{would}kept: the id {state.dataset_id}, {', '.join(event.kind for event in done.metadata)}"
    if done.candidates:
        yield f"{would}dropped: {listed(done.candidates)}"
    stays = "would stay" if is_planned else "stays"
    yield f"its earlier history {stays} under the ref {done.replaced_ref} until `odf gc` removes it"
    inputs = state.transform.inputs if state.transform is not None else ()
    names = [store.input_name(i.dataset_ref, i.alias) for i in inputs]
    yield f"the next run computes the dataset anew from {listed(names)}"
