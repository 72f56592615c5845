"""Nothing of fetched data is open to users outside of the group: runs of the command line and their engines."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.manifests import derived, polled, pushed
from tests.open_files import open_to_others
from tests.shared_engine import shared_engine

SQL = {"preprocess": '{kind: Sql, engine: spark, query: "select sku, price + 1 as price, note from input"}'}
PIPE = {"prepare": "[{kind: Pipe, command: [cat]}]"}
READ = "{kind: Csv, header: true, schema: [sku STRING, price BIGINT, note STRING]}"
PUSHES = pushed("pushes", '{kind: NdJson, schema: ["id BIGINT"]}')
CONTRACT = """\
dataContractSpecification: 1.1.0
id: columns
info: {title: Columns, version: 1.0.0}
models: {columns: {fields: {price: {type: long, maximum: 100}}}}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with shared_engine(tmp_path_factory.mktemp("engine")) as programs:
        yield programs


PREPARATIONS: dict[str, dict[str, str]] = {"columns": {}, "rows": SQL, "large": SQL, "piped": PIPE}


def odf(programs: Path, folder: Path, umask: int, *arguments: str, code: int = 0) -> str:
    command = [str(programs / "odf"), *arguments, "--store", "store"]
    done = subprocess.run(command, cwd=folder, umask=umask, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def declare(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).mkdir()
        fetch = f"{{kind: FilesGlob, path: {name}/*.csv}}"
        text = polled(name, fetch, READ, "{kind: Snapshot, primaryKey: [sku]}", **PREPARATIONS[name])
        (folder / f"{name}.yaml").write_text(text)


def deliver(folder: Path, number: int, *rows: str) -> None:
    for source in (folder / name for name in PREPARATIONS):
        if source.is_dir():
            # More than 16 MiB are merged by Spark.
            long = [f"{i},0,{'x' * 262_144}" for i in range(66)] if source.name == "large" and number == 1 else []
            (source / f"{number}.csv").write_text("\n".join(["sku,price,note", *rows, *long, ""]))


@pytest.mark.parametrize(
    ("umask", "file", "folder", "outside"),
    [(0o022, 0o640, 0o750, 0o644), (0o002, 0o660, 0o770, 0o664), (0o077, 0o600, 0o700, 0o600)],
)
def test_the_umask_decides_within_the_group_and_outside_of_the_store(
    programs: Path, tmp_path: Path, umask: int, file: int, folder: int, outside: int
) -> None:
    declare(tmp_path, "columns")
    deliver(tmp_path, 1, "a,1,-", "b,2,-")
    odf(programs, tmp_path, umask, "run", ".")
    odf(programs, tmp_path, umask, "export", "columns", "--as", "csv", "-o", "export.csv")
    # The engine of the tests writes slices, with the umask of the tests.
    blocks = tmp_path / "store" / "columns" / "blocks"
    assert {path.stat().st_mode & 0o777 for path in blocks.iterdir()} == {file}
    assert {path.stat().st_mode & 0o777 for path in (blocks, *blocks.parents[:2])} == {folder}
    assert open_to_others(tmp_path / "store") == []
    assert (tmp_path / "export.csv").stat().st_mode & 0o777 == outside


@pytest.mark.spark
@pytest.mark.torture
def test_no_file_of_any_kind_is_open_to_others(programs: Path, tmp_path: Path) -> None:
    """Merges in every form, derivatives of two engines, a failed merge, a rejection, a reset, garbage."""

    def run(*arguments: str, code: int = 0) -> str:
        return odf(programs, tmp_path, 0o022, *arguments, code=code)

    store = tmp_path / "store"
    declare(tmp_path, *PREPARATIONS)
    for engine in ("spark", "datafusion"):
        sql = f'{{kind: Sql, engine: {engine}, query: "select event_time, sku, price * 2 as price from columns"}}'
        (tmp_path / f"totals-{engine}.yaml").write_text(derived(f"totals-{engine}", "{datasetRef: columns}", sql))
    (tmp_path / "pushes.yaml").write_text(PUSHES)
    (tmp_path / "columns.datacontract.yaml").write_text(CONTRACT)
    (tmp_path / "1.ndjson").write_text('{"id": 1}\n')
    deliver(tmp_path, 1, "a,1,-", "b,2,-")
    run("run", ".")
    run("push", "pushes", "1.ndjson")
    deliver(tmp_path, 2, "a,2,-", "b,200,-")
    (tmp_path / "piped" / "2.csv").write_text("sku,price,note\na,not-a-number,-\n")
    assert "contract columns rejected" in run("run", ".", code=1)
    kinds = {part for path in store.rglob("*") for part in path.relative_to(store).parts[:-1]}
    assert kinds >= {"blocks", "data", "refs", "reports", "publications", ".cache", ".datasets"}
    assert open_to_others(store) == []
    deliver(tmp_path, 3, "a,3,-", "b,3,-")
    run("verify", "columns", "totals-spark", "--replay")
    run("reset", "totals-spark")
    run("gc")
    run("run", ".", code=1)
    assert open_to_others(store) == []
