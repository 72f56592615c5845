"""How the cost of a run grows: with the rows of its input, and with the slices of its history.

Rows: a first poll, and one of which 2 % of the rows changed, against plain Spark copying the file. Slices: two changed
rows of a hundred on top of 1 to 1000 slices; as after usual runs, the newest kept state is five slices old. A slope of
1 means that the cost is proportional, 0 that it does not grow. With ``--picture FILE`` the numbers are also drawn.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from decimal import Decimal
from itertools import count
from pathlib import Path

import pyarrow as pa

from benchmarks import check, data, history, odf, source
from benchmarks.measure import Run, in_turns, peer, whole
from benchmarks.picture import Curve, Panel, draw
from benchmarks.report import Row, row
from benchmarks.scale import Scale

ROWS, SLICES = "growth, rows", "growth, slices"
FLOOR, FIRST, NEXT = "plain Spark copy", "first poll", "2 % changed"
SMALLEST = 10_000
MOST_SLICES = 1000
SINCE_STATE = 5

_COLUMNS = pa.schema(
    [
        ("op", pa.int32()),
        ("id", pa.int64()),
        ("name", pa.string()),
        ("price", pa.decimal128(12, 2)),
        ("day", pa.date32()),
    ]
)


def run(scale: Scale) -> list[Row]:
    by_rows = {rows: _of_rows(scale, rows) for rows in _powers(min(SMALLEST, scale.rows), 2 * scale.rows)}
    by_slices = {slices: _of_slices(scale, slices) for slices in _powers(1, min(MOST_SLICES, scale.sources))}
    rows_panel = Panel(
        "rows of the input",
        [Curve(name, {rows: runs[name] for rows, runs in by_rows.items()}) for name in (FIRST, NEXT, FLOOR)],
    )
    slices_panel = Panel("slices of the history", [Curve("2 changed rows", by_slices)])
    if scale.picture is not None:
        scale.picture.write_text(draw([rows_panel, slices_panel]), encoding="utf-8")
    return [*_rows_of(rows_panel), *_slices_of(slices_panel)]


def _powers(first: int, most: int) -> Iterator[int]:
    while first <= most:
        yield first
        first *= 10


def _of_rows(scale: Scale, rows: int) -> dict[str, list[Run]]:
    folder = scale.directory / f"rows-{rows}"
    folder.mkdir()
    files = [data.write(data.rows(rows, steps), folder / f"{len(steps)}.parquet") for steps in ([], [0])]
    table, numbers = folder / "table.parquet", count()
    manifest = odf.manifest(folder / "table.yaml", table.as_uri(), "{kind: Parquet}", source.SNAPSHOT)
    runs: dict[str, list[Run]] = {}
    for _ in range(scale.reps):
        store = folder / f"store-{next(numbers)}"

        def poll(file: Path, store: Path = store) -> Run:
            shutil.copyfile(file, table)
            return odf.run(store, manifest)

        subjects = {
            FIRST: lambda: poll(files[0]),
            NEXT: lambda: poll(files[1]),
            FLOOR: lambda: whole(peer("spark_copy", source=files[1], target=folder / f"floor-{next(numbers)}")),
        }
        for name, done in in_turns(subjects, 1).items():
            runs.setdefault(name, []).extend(done)
        assert len(check.slices(store, "table")) == 2
    shutil.rmtree(folder)
    return runs


def _of_slices(scale: Scale, slices: int) -> list[Run]:
    folder = scale.directory / f"slices-{slices}"
    with source.serve(folder) as served:
        url, versions = served.publish("prices.csv", 0), count(1)
        manifest = odf.manifest(scale.directory / "prices.yaml", url, source.READ, source.SNAPSHOT)
        store = folder / "store"
        check.said([odf.run(store, manifest).text], "published 100 records")
        long = slices > SINCE_STATE + 2
        if long:
            history.append_records(store, "prices", _repriced(slices - SINCE_STATE - 2))
            _run_changed(served, store, manifest, next(versions))  # keeps the state
            history.append_records(store, "prices", _repriced(SINCE_STATE))
        copies = count()

        def changed() -> Run:
            return odf.run(odf.copy_store(store, folder / f"copy-{next(copies)}"), manifest)

        served.publish("prices.csv", next(versions))
        runs = [changed() for _ in range(scale.reps)]
    assert len(check.slices(store, "prices")) == (slices if long else 1)
    check.said([one.text for one in runs], "published")
    return runs


def _run_changed(served: source.Source, store: Path, manifest: Path, version: int) -> None:
    served.publish("prices.csv", version)
    check.said([odf.run(store, manifest).text], "published")


def _repriced(slices: int) -> Iterator[pa.Table]:
    """Yield slices that change the price of one row, and change it back."""
    for number in range(slices):
        prices = (Decimal("50.50"), Decimal("51.50"))[:: 1 if number % 2 == 0 else -1]
        day = source.day(50)
        yield pa.table([[2, 3], [50, 50], ["name 50"] * 2, list(prices), [day, day]], schema=_COLUMNS)


def _rows_of(panel: Panel) -> Iterator[Row]:
    floor = panel.curves[-1]
    for curve in panel.curves:
        for rows, runs in curve.points.items():
            against = (FLOOR, floor.points[rows]) if curve is not floor else ()
            yield row(ROWS, f"{curve.name}, {rows:,} rows", runs, *against, note=curve.note(rows))


def _slices_of(panel: Panel) -> Iterator[Row]:
    (curve,) = panel.curves
    first = curve.points[1]
    for slices, runs in curve.points.items():
        against = ("1 slice", first) if slices > 1 else ()
        yield row(SLICES, f"{curve.name}, {slices:,} slices", runs, *against, note=curve.note(slices))
