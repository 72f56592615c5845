"""Exports by the command line tool, in this process."""

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from airflow_provider_odf.cli import app
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput
from airflow_provider_odf.manifest import model


@pytest.fixture
def growing(grow):
    growing = grow(merge=model.MergeStrategySnapshot(primary_key=("id",)))
    growing.add(("+A", 1, 'a "quoted", text'), ("+A", 2, None))
    growing.add(("-R", 2, None), ("+A", 3, "\u00fc"))
    return growing


@pytest.fixture
def odf(store):
    def run(*arguments):
        result = CliRunner().invoke(app, ["export", "numbers", "--store", store.location, *map(str, arguments)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.stdout

    return run


TIME = "2024-05-02T08:00:00Z"


def test_forms(odf, growing, tmp_path):
    assert odf("--as", "csv").splitlines() == [
        "system_time,event_time,id,value",
        f'{TIME},{TIME},1,"a ""quoted"", text"',
        f"{TIME},{TIME},3,\u00fc",
    ]
    assert odf("--as", "ndjson", "--history").splitlines()[1:3] == [
        f'{{"offset": 1, "op": "+A", "system_time": "{TIME}", "event_time": "{TIME}", "id": 2, "value": null}}',
        f'{{"offset": 2, "op": "-R", "system_time": "{TIME}", "event_time": "{TIME}", "id": 2, "value": null}}',
    ]
    target = tmp_path / "numbers.parquet"
    assert odf("--as", "parquet", "-o", target).startswith("numbers: 2 rows as of block f1620")
    table = pq.read_table(target)
    assert (table["value"].to_pylist(), str(table.schema.field("system_time").type)) == (
        ['a "quoted", text', "\u00fc"],
        "timestamp[ms, tz=UTC]",
    )


def test_records_since_and_as_of(odf, growing):
    assert [line.split(",")[0] for line in odf("--as", "csv", "--since", "1").splitlines()] == ["offset", "2", "3"]
    first = next(block for block, b in growing.dataset.walk() if b.sequence_number == 3)
    assert len(odf("--as", "ndjson", "--as-of", first).splitlines()) == 2
    assert len(odf("--as", "ndjson", "--as-of", first, "--history").splitlines()) == 2


def test_a_failed_export_leaves_the_file_as_it_was(odf, growing, tmp_path):
    target = tmp_path / "numbers.csv"
    odf("--as", "csv", "-o", target, "--since", "3")
    before = target.read_text()
    path = growing.add(("+A", 9, "nine"))
    path.write_bytes(path.read_bytes()[:-9] + bytes(9))
    with pytest.raises(ChainCorrupted, match="checksum mismatch"):
        odf("--as", "csv", "-o", target)
    assert (before, target.read_text(), [f.name for f in tmp_path.glob("*numbers.csv*")]) == (
        "offset,op,system_time,event_time,id,value\n",
        before,
        ["numbers.csv"],
    )
    with pytest.raises(InvalidInput, match=r"nowhere/x\.csv: the folder of the file must exist"):
        odf("--as", "csv", "-o", tmp_path / "nowhere" / "x.csv")
