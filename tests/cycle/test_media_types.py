import pytest

from airflow_provider_odf.cycle.sources import media_type_of, read_as
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.protocol import Column, ReadStep

COLUMNS = (Column("id", "BIGINT"),)
NDJSON = ReadStep("NdJson", COLUMNS, encoding="latin-1", date_format="dd.MM.yyyy")
CSV = ReadStep("Csv", COLUMNS, separator=";", header=True)


@pytest.mark.parametrize(
    ("step", "media_type", "expected"),
    [
        (CSV, "text/csv", CSV),
        (CSV, "TEXT/CSV; header=absent; charset=utf-8", ReadStep("Csv", COLUMNS, separator=";", header=False)),
        (CSV, "application/json", ReadStep("Json", COLUMNS)),
        (CSV, "application/vnd.apache.parquet", ReadStep("Parquet", COLUMNS)),
        (NDJSON, "application/x-ndjson", NDJSON),
        (NDJSON, "text/csv; header=present", ReadStep("Csv", COLUMNS, date_format="dd.MM.yyyy", header=True)),
        (NDJSON, "application/geo+json", ReadStep("GeoJson", COLUMNS, date_format="dd.MM.yyyy")),
    ],
)
def test_the_schema_and_formats_of_times_stay(step, media_type, expected):
    assert read_as(step, media_type, "a") == expected


@pytest.mark.parametrize(
    ("media_type", "message"),
    [
        ("text/csv", "a: cannot tell whether the CSV has a header line, because the source reads NdJson"),
        ("text/html", "media type 'text/html' is not known: use one of text/csv, application/geo+json"),
        ("csv", "media type 'csv' is not known"),
        ("text/csv; header=perhaps", "header must be present or absent, and is allowed only with text/csv"),
        ("application/json; header=present", "header must be present or absent, and is allowed only with text/csv"),
    ],
)
def test_refused(media_type, message):
    with pytest.raises(InvalidInput) as e:
        read_as(NDJSON, media_type, "a")
    assert message in str(e.value)


@pytest.mark.parametrize(
    ("names", "kind", "media_type"),
    [
        (["a.csv"], "NdJson", "text/csv"),
        (["a.csv", "b.CSV"], "Csv", None),
        (["a.json"], "NdJson", None),
        (["a.json"], "Csv", "application/json"),
        (["a.jsonl"], "Json", "application/x-ndjson"),
        (["https://example.org/a.parquet?sig=.csv", "/work/download"], "Csv", "application/vnd.apache.parquet"),
        (["a.txt", "b"], "Csv", None),
    ],
)
def test_suffixes(names, kind, media_type):
    assert media_type_of(names, kind) == media_type


def test_suffixes_of_several_formats():
    with pytest.raises(InvalidInput, match=r"one push cannot mix the suffixes \.csv, \.json: push these files sep"):
        media_type_of(["a.csv", "b.json"], "Csv")
