"""``odf verify``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from airflow_provider_odf.cli.output import Format, FormatOption, InputStoresOption, StoreOption, near, print_json
from airflow_provider_odf.cli.run import existing_store
from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store


def register(app: typer.Typer) -> None:
    """Add the command to the tool."""
    app.command()(verify)


def verify(
    names: Annotated[list[str], typer.Argument(help="Names of datasets in the store.", metavar="NAME")],
    store: StoreOption = None,
    input_store: InputStoresOption = None,
    how: FormatOption = Format.table,
    is_replayed: Annotated[
        bool, typer.Option("--replay", help="Also compute the records of derivatives again from their inputs.")
    ] = False,
    is_quick: Annotated[
        bool,
        typer.Option("--quick", help="Check the bytes of all blocks and slices, but not the records in them."),
    ] = False,
) -> None:
    """Verify every block, link, size and hash of datasets, and their data against the logical hashes.

    Exit 1 if a dataset is damaged or not what its inputs give, 2 if one does not exist. All others are verified in any
    case.
    """
    if is_quick and is_replayed:
        raise InvalidInput("--quick reads no records, and --replay compares them: use one of them")
    target = existing_store(store, input_store)
    code, rows = 0, []
    with _Verification(target, is_replayed=is_replayed, is_quick=is_quick) as verification:
        for name in names:
            try:
                row = verification.of(name)
            except (DatasetNotFound, InvalidInput) as e:
                print(near(e), file=sys.stderr)
                code = 2
                continue
            except Exception as e:  # any error: the other datasets follow
                print(near(f"{name}: {as_odf_error(e)}"), file=sys.stderr)
                code = max(code, 1)
                continue
            rows.append(row)
            if how is Format.table:
                counts = ", ".join(counted(n, noun[:-1]) for noun, n in row.items() if isinstance(n, int))
                print(f"{row['dataset']}: ok: {counts}", flush=True)
    if how is Format.json:
        print_json(rows)
    raise typer.Exit(code)


class _Verification:
    """Verification of datasets; replays share one engine, which starts with the first one."""

    def __init__(self, store: Store, *, is_replayed: bool, is_quick: bool) -> None:
        from airflow_provider_odf.runner.local import LocalRunner

        self._store, self._is_replayed, self._is_quick = store, is_replayed, is_quick
        self._runner = LocalRunner()

    def __enter__(self) -> _Verification:
        return self

    def __exit__(self, *_error: object) -> None:
        self._runner.close()

    def of(self, name: str) -> dict[str, Any]:
        """Verify a dataset, and return its name and the numbers of what was verified."""
        from airflow_provider_odf.chain.verify import verify as check

        dataset = self._store.dataset(name)
        row: dict[str, Any] = {"dataset": str(dataset.alias), **asdict(check(dataset, is_quick=self._is_quick))}
        if self._is_replayed:
            from airflow_provider_odf.cycle.replay import replay_transforms

            replayed = replay_transforms(self._store, dataset, lambda request: self._runner.submit(request).result())
            if replayed.transformations:
                row["transformations"] = replayed.transformations
        return row
