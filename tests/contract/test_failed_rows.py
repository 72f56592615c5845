"""The folder for failing rows of ``odf contract test``."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.contract.report import remove_earlier
from airflow_provider_odf.errors import InvalidInput


def test_earlier_failing_rows_are_removed(tmp_path: Path) -> None:
    remove_earlier(tmp_path / "new", ["orders"])
    for model in ("orders", "customers"):
        (tmp_path / model).mkdir()
        pq.write_table(pa.table({"id": [1], "failed_clauses": [["/a"]]}), tmp_path / model / "part-0.parquet")
        (tmp_path / model / ".part-0.parquet.crc").touch()
    remove_earlier(tmp_path, ["orders"])
    assert [path.name for path in tmp_path.iterdir()] == ["customers"]


def test_other_data_is_never_removed(tmp_path: Path) -> None:
    for model, name in (("a", "part-0.parquet"), ("b", "b.csv")):
        (tmp_path / model).mkdir()
        (tmp_path / model / name).write_text("id\n1\n")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a" / "part-0.parquet")
    for model, name in (("a", "part-0.parquet"), ("b", "b.csv")):
        with pytest.raises(InvalidInput) as refused:
            remove_earlier(tmp_path, [model])
        path = tmp_path / model
        message = f"--failed-rows {tmp_path}: {path} has other data than failing rows: choose another folder"
        assert str(refused.value) == message
        assert (path / name).exists()
    with pytest.raises(InvalidInput, match="is not a folder: choose a folder"):
        remove_earlier(tmp_path / "b" / "b.csv", ["t"])
