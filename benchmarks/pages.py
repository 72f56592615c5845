"""Pages in Airflow's API server, first and again: a history of many small blocks, the catalog, and rows as CSV."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks import check, data, history, odf
from benchmarks.measure import Run, in_turns, peer, timed
from benchmarks.report import Row, row
from benchmarks.scale import Scale

CASE = "pages"
BLOCKS = 10_000
"""Blocks of the long history, of 100 records each; fewer if the case is to have fewer rows."""
EXPORTED = 300_000
"""Rows as CSV."""
DATASETS = 1000

KEYS, API, CSV = "pyarrow, keys of all slices", "Airflow's lists of DAGs and assets", "pyarrow, Parquet to CSV"
"""Floors: that of the current rows, of the catalog, and of CSV."""
_SNAPSHOT = "{kind: Snapshot, primaryKey: [id]}"
_READ = "{kind: Csv, header: true, schema: [id BIGINT, station STRING, bikes INT]}"
_WARM_UP = ["small-0000/data", "small-0000/trends", "small-0000/data/download?form=csv"]


def run(scale: Scale) -> list[Row]:
    blocks, datasets = min(BLOCKS, scale.rows // data.SMALL), min(DATASETS, scale.sources)
    store, home, folder = (scale.directory / name for name in ("store", "airflow", "manifests"))
    _fill(scale, store, folder, blocks, datasets)
    peer("pages", home=home, kind="set_up", folder=folder, store=store)
    slices, files = check.slices(store, "long"), check.slices(store, "table")

    def view(said: str, *paths: str) -> Run:
        """A run of the first view of paths, whose answer has the second."""
        shutil.rmtree(store / ".work" / ".pages", ignore_errors=True)
        warm_up = [f"/odf/datasets/{path}" for path in _WARM_UP]
        answer = peer("pages", home=home, kind="view", paths=paths, warm_up=warm_up).answer
        check.said([Path(answer["file"]).read_text()], said)
        return Run(**answer["first"], answer=answer)

    long, table = "/odf/datasets/long", "/odf/datasets/table"
    api = [f"/api/v2/{name}?limit=100&offset={n}" for name in ("assets", "dags") for n in range(0, datasets, 100)]
    subjects = {
        KEYS: lambda: timed(lambda: _keys(slices)),
        "current rows": lambda: view('<td class="number">89</td>', f"{long}/data"),
        "newest records": lambda: view(
            f'<td class="number">{blocks * data.SMALL - 61}</td>', f"{long}/data?view=history"
        ),
        "overview": lambda: view("quantity", long),
        "trends": lambda: view(": +C 20<", f"{long}/trends"),
        "completeness": lambda: view("Rows are those added", f"{long}/completeness"),
        "columns": lambda: view("quantity", f"{long}/columns"),
        API: lambda: view("small-", *api),
        "catalog, by column": lambda: view("small-0049", "/odf/datasets?column=bikes"),
        "graph of all": lambda: view("datasets that are alike", "/odf/lineage"),
        CSV: lambda: timed(lambda: _csv(files, scale.directory / "floor.csv")),
        "rows as CSV": lambda: view("customer ", f"{table}/data/download?view=history&form=csv"),
    }
    runs = in_turns(subjects, scale.reps)
    written = (Path(runs["rows as CSV"][-1].answer["file"]), scale.directory / "floor.csv")
    lines = [file.read_bytes().count(b"\n") for file in written]
    assert lines == [EXPORTED + 1] * 2, lines
    notes = {"current rows": f"{blocks:,} blocks"}
    notes |= dict.fromkeys(("catalog, by column", "graph of all"), f"{datasets:,} datasets")
    return list(_rows(runs, notes))


def _rows(runs: Mapping[str, list[Run]], notes: Mapping[str, str]) -> Iterator[Row]:
    """Yield the row of each floor, and after it those of the pages that are compared with it."""
    floor = ""
    for name, first in runs.items():
        if name in (KEYS, API, CSV):
            floor = name
            yield row(CASE, name, first)
        else:
            again = [Run(**one.answer["again"]) for one in first]
            yield row(CASE, f"{name}, first", first, floor, runs[floor], notes.get(name, ""))
            yield row(CASE, f"{name}, again", again, floor, runs[floor])


def _fill(scale: Scale, store: Path, folder: Path, blocks: int, datasets: int) -> None:
    """Make a long history, a table, many small datasets, and a folder with their manifests."""
    folder.mkdir()
    small, first, table = (scale.directory / name for name in ("small.csv", "first.parquet", "table.parquet"))
    small.write_text("id,station,bikes\n1,Bern,7\n2,Chur,3\n")
    data.write(f"SELECT * EXCLUDE op FROM ({data.small_changes(0, 1)})", first)
    data.write(f"SELECT * FROM ({data.rows(EXPORTED * 2, [])}) LIMIT {EXPORTED}", table)
    manifests = [
        odf.manifest(folder / "long.yaml", first.as_uri(), "{kind: Parquet}", _SNAPSHOT),
        odf.manifest(folder / "table.yaml", table.as_uri(), "{kind: Parquet}", "{kind: Append}"),
        *(odf.manifest(folder / f"small-{n:04}.yaml", small.as_uri(), _READ, _SNAPSHOT) for n in range(datasets)),
    ]
    said = odf.run(store, *manifests).text.split("\n")
    check.said([line for line in said if line], "published")
    with data.connect() as db:
        records = db.sql(data.small_changes(1, blocks)).to_arrow_table().combine_chunks()
    history.append_records(store, "long", (records.slice(n, data.SMALL) for n in range(0, len(records), data.SMALL)))


def _keys(files: Sequence[Path]) -> None:
    """Find the first and the last record of each key."""
    parts = []
    for path in files:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            parts.append(file.read(["offset", "op", "id"], use_threads=False))
    pa.concat_tables(parts).group_by("id").aggregate([("offset", "min"), ("offset", "max")])


def _csv(files: Sequence[Path], target: Path) -> None:
    pyarrow.csv.write_csv(pa.concat_tables(map(pq.read_table, files)), target)
