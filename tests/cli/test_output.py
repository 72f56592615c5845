"""Tables, CSV and JSON of rows; big ones are cut or written as a stream."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.chain.record_rows import Rows
from airflow_provider_odf.cli import inspect
from airflow_provider_odf.cli.options import near, print_rows

pa = pytest.importorskip("pyarrow")


def test_a_table_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": 1, "name": "Zürich", "x": 0.5}, {"id": 22, "name": "東京", "x": None}, {"id": 3, "name": "a\nb"}]
    print_rows(rows, "table", ["id", "name", "x"])
    assert capsys.readouterr().out.splitlines() == [
        "id   name     x",
        "─────────────────",
        "1    Zürich   0.5",
        "22   東京",  # a wide character takes two columns
        "3    a",
        "     b",
    ]


def test_json_is_written_row_by_row(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(iter([{"a": 1, "b": "ü"}, {"a": None, "b": "x"}]), "json")
    print_rows(iter(()), "json")
    assert capsys.readouterr().out == '[{"a": 1, "b": "ü"},\n {"a": null, "b": "x"}]\n[]\n'


def numbers(n: int) -> Rows:
    return Rows(("n",), pa.table({"n": range(n)}))


def test_a_long_state_is_cut_in_a_table_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Store:
        def cache(self, name: str) -> str:
            return name

    monkeypatch.setattr(inspect, "existing_dataset", lambda store, name: (Store(), name))
    monkeypatch.setattr(inspect, "state_rows", lambda dataset, ref: numbers(3500))
    inspect.state("numbers", None)
    out, err = capsys.readouterr()
    assert (len(out.splitlines()), out.splitlines()[-1]) == (1002, "999")
    assert err == "… 2,500 more rows: use -n or --format csv\n"
    inspect.state("numbers", None, how="csv")
    out, err = capsys.readouterr()
    assert (len(out.splitlines()), out.splitlines()[-1], err) == (3501, "3499", "")
    inspect.state("numbers", 2, how="csv")
    assert capsys.readouterr() == ("n\n0\n1\n", "")


def test_without_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(Rows(()), "table", (), nothing="no records yet")
    assert capsys.readouterr() == ("", "no records yet\n")
    print_rows(numbers(0), "table", ("n",), nothing="no current records")
    assert capsys.readouterr() == ("", "no current records\n")
    print_rows(numbers(0), "csv", ("n",), nothing="no current records")
    assert capsys.readouterr() == ("n\n", "")


def test_paths_below_the_current_directory_are_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    message = f"{tmp_path}/a.yaml:3:1: see {tmp_path}/store/x and file://{tmp_path}/store, not /mnt{tmp_path}/b"
    assert near(message) == f"a.yaml:3:1: see store/x and file://{tmp_path}/store, not /mnt{tmp_path}/b"
    monkeypatch.chdir("/")
    assert near("/a/b: c") == "/a/b: c"
