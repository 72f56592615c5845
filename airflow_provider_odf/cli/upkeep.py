"""Commands that look after a store: ``verify``, ``gc``, ``reset`` and ``forget``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import typer

from airflow_provider_odf import protocol
from airflow_provider_odf.chain.store import Store, parse_alias
from airflow_provider_odf.chain.verify import NOTHING_BEFORE, Ask
from airflow_provider_odf.chain.verify import verify as verify_dataset
from airflow_provider_odf.cli.options import (
    Format,
    FormatOption,
    InputStoresOption,
    NameArgument,
    StoreOption,
    existing_dataset,
    existing_store,
    near,
    open_store,
    print_json,
    print_rows,
    spark_choice,
    status_line,
)
from airflow_provider_odf.cycle import garbage
from airflow_provider_odf.cycle import reset as resets
from airflow_provider_odf.cycle.garbage import Garbage
from airflow_provider_odf.cycle.replay import replay_transforms
from airflow_provider_odf.cycle.reset import Reset
from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput
from airflow_provider_odf.wording import counted, listed

_HOUR = 3600


def verify(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Names of datasets in the store.", metavar="NAME", show_default="all"),
    ] = None,
    store: StoreOption = None,
    input_store: InputStoresOption = None,
    how: FormatOption = "table",
    is_replayed: Annotated[
        bool, typer.Option("--replay", help="Also compute the records of derivatives again from their inputs.")
    ] = False,
    is_quick: Annotated[
        bool,
        typer.Option("--quick", help="Check the bytes of all blocks and slices, but not the records in them."),
    ] = False,
    is_new: Annotated[
        bool,
        typer.Option(
            "--new",
            help="Begin after the newest head that you have verified on this machine: damage before is not found.",
        ),
    ] = False,
    spark: Annotated[
        str | None,
        typer.Option(
            "--spark",
            help="Compare slices in tasks of Spark: always, or a master, as in `odf run`.",
            metavar="needed|always|MASTER",
            show_default="on this machine",
        ),
    ] = None,
) -> None:
    """Verify every block, link, size and hash of datasets, and their data against the logical hashes.

    Exit 1 if a dataset is damaged, gone or not what its inputs give, 2 if a named one does not exist. All others are
    verified in any case.
    """
    if is_quick and is_replayed:
        raise InvalidInput("--quick reads no records, and --replay compares them: use one of them")
    choice, target = spark_choice(spark), existing_store(store, input_store)
    code, rows = 0, []
    for gone in target.gone() if not names else ():
        print(near(gone), file=sys.stderr)
        code = 1
    with choice.runner() as runner:  # its engine starts with the first request

        def ask(request: protocol.Request) -> protocol.Success:
            return runner.submit(request).result()

        replay, compare = (ask if is_replayed else None), (ask if choice.is_always else None)
        for name in names or [str(dataset.alias) for dataset in target.datasets()]:
            try:
                with status_line() as tell:
                    row = _verify(target, name, tell, compare, replay, is_quick=is_quick, is_new=is_new)
            except (DatasetNotFound, InvalidInput) as e:
                print(near(e), file=sys.stderr)
                code = 2
                continue
            except Exception as e:  # any error: the other datasets follow
                print(near(f"{name}: {as_odf_error(e)}"), file=sys.stderr)
                code = max(code, 1)
                continue
            rows.append(row)
            if how == "table":
                counts = ", ".join(counted(n, noun[:-1]) for noun, n in row.items() if isinstance(n, int))
                print(f"{row['dataset']}: ok: {counts}", flush=True)
    if how == "json":
        print_json(rows)
    elif not (rows or code):
        print("no datasets yet", file=sys.stderr)
    raise typer.Exit(code)


def _verify(
    store: Store,
    name: str,
    tell: Callable[[str], None],
    compare: Ask | None,
    replay: Ask | None,
    *,
    is_quick: bool,
    is_new: bool,
) -> dict[str, Any]:
    """Return the name of a dataset, the numbers of what was verified, and the head up to which it was verified before.

    :param compare: the engine that compares slices, None for this process.
    :param replay: the engine that computes derivatives again, None not to do so.
    """
    dataset = store.for_readers(name)
    verified = verify_dataset(
        dataset,
        progress=lambda step: tell(f"{dataset.alias}: {step}"),
        is_quick=is_quick,
        only_new=is_new,
        ask=compare,
    )
    base = verified.base
    row: dict[str, Any] = {"dataset": str(dataset.alias), **verified.numbers}
    after = base.blocks - 1 if base is not None else -1
    if replay is not None and (done := replay_transforms(store, dataset, replay, after=after)).transformations:
        row["transformations"] = done.transformations
    notice = verified.notice or (NOTHING_BEFORE if is_new else "")
    if notice:
        print(near(f"{dataset.alias}: note: {notice}"), file=sys.stderr)
    if base is not None:
        row["verifiedBefore"] = {"head": base.head, "time": str(base.time), "completeTime": str(base.complete)}
    return row


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
    how: FormatOption = "table",
) -> None:
    """List files that a store no longer needs, and remove them with --delete.

    These are blocks, slices and checkpoints without a ref, candidates that can no longer be published, reports of
    unknown blocks, state caches of other branches, and files of killed polls and merges. Without names of datasets,
    also caches and work folders of deleted datasets. Data of `head`, candidates and rejected candidates is never
    removed, nor anything younger than the grace period. A dataset with an unfinished run that is older than the grace
    period is left alone, since the files of the run may be as old.
    """
    target = existing_store(store)
    datasets = [target.dataset(name) for name in names] if names else list(target.datasets())
    items: list[Garbage] = []
    code = 0
    for dataset in datasets:
        try:
            unused = garbage.unused(target, dataset, older_than * _HOUR, is_idle=idle)
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
    if how == "json":
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
    target, dataset = existing_dataset(store, name)
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


def forget(name: NameArgument, store: StoreOption = None) -> None:
    """Allow a deleted dataset to start a new history.

    A run refuses to create a dataset again if its folder was deleted from the store.
    After this command the next run creates it with a new id.
    """
    alias = parse_alias(name)
    open_store(store).forget(alias)
    print(f"{alias}: the next run starts a new history")
