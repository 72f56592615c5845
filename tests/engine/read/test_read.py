"""What holds for every kind of read step."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_odf.engine.read import read as read_files
from airflow_provider_odf.protocol import ReadStep

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("Csv", {}),
        ("Csv", {"infer_schema": True}),
        ("Csv", {"encoding": "utf-16"}),
        ("NdJson", {}),
        ("NdJson", {"encoding": "utf-16"}),
        ("NdGeoJson", {}),
        ("EsriShapefile", {}),  # converted: the lines of a shapefile without records
    ],
)
def test_no_bytes_are_no_records(read, kind: str, options: dict[str, object]) -> None:
    assert read(kind, b"", **options).frame.columns == []
    declared = read(kind, b"", ["a INT"], **options).frame
    assert (declared.columns, declared.count()) == (["a"], 0)


@pytest.mark.parametrize(
    ("kind", "options", "least"),
    [
        ("Csv", {"header": True}, "Csv with `header: true` must contain its header line"),
        ("Json", {}, "Json must contain `[]`"),
        ("GeoJson", {}, "GeoJson must contain a FeatureCollection"),
        ("Parquet", {}, "Parquet must contain its footer"),
    ],
)
def test_no_bytes_where_the_format_needs_some(refusal_of, kind: str, options: dict[str, object], least: str) -> None:
    message = (
        f"https://example.com/data: the file has 0 bytes, but {least}: check whether the source wrote the whole file"
    )
    assert refusal_of(kind, b"", **options) == refusal_of(kind, b"", ["a INT"], **options) == message


def test_the_first_file_with_records_has_the_columns(spark: SparkSession, tmp_path: Path) -> None:
    for name, text in (("1", ""), ("2", '{"a": 1}\n'), ("3", ""), ("4", '{"a": 2}\n')):
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in "1234"]
    assert read_files(spark, ReadStep("NdJson", None), paths, "in").frame.collect() == [(1,), (2,)]
