"""Contracts beside the columns that a manifest declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.contract.binding import contract_location, of_dataset
from airflow_provider_odf.contract.lint import COLUMN_TYPES, invalid_clauses, manifest_problems
from airflow_provider_odf.manifest.load import load
from tests.manifests import polled

CONTRACT = """\
dataContractSpecification: 1.2.1
id: urn:shops
info: {title: Shops, version: 1.0.0}
models:
  shops:
"""
READ = "{kind: Csv, header: true, schema: [id BIGINT, Name STRING, 'price DECIMAL(8,2)', day DATE, at TIMESTAMP_NTZ]}"


@pytest.fixture
def told(tmp_path: Path):
    """The problems of a contract's model beside a manifest with a read step and what comes after it."""

    def told(model: str, read: str = READ, preprocess: str = "", more: str = "") -> list[str]:
        query = preprocess.strip().removeprefix("preprocess: ")
        manifest = polled("shops", "{kind: Url, url: http://example.com/x}", read, preprocess=query)
        (tmp_path / "shops.yaml").write_text(manifest + more)
        lines = "".join(f"    {line}\n" for line in model.splitlines())
        (tmp_path / "shops.datacontract.yaml").write_text(CONTRACT + lines)
        loaded = load([tmp_path / "shops.yaml"])
        assert loaded.problems == ()
        (manifest,) = loaded.manifests
        file = contract_location(manifest).load()
        contract = of_dataset(file, "shops")
        return [
            f"{p.place.line}:{p.place.column} {p.message} ({p.fix})"
            for p in (*invalid_clauses(file, contract.checks), *manifest_problems(manifest, file, contract))
        ]

    return told


def test_what_can_pass_is_no_problem(told) -> None:
    assert (
        told(
            "fields:\n  ID: {type: int}\n  name: {type: string}\n  price: {type: number}\n  day: {type: date}\n"
            "  at: {type: timestamp}\n  offset: {type: long}\n  op: {type: int}\n  event_time: {type: timestamp}\n"
            "primaryKey: [id]\nadditionalFields: false"
        )
        == []
    )


def test_missing_columns_and_other_types_are_found_with_their_place(told) -> None:
    assert told(
        "fields:\n  idd: {type: int}\n  name:\n    type: long\n  price: {type: float}\n  address.city: {type: string}\n"
        "primaryKey: [id, zone]\nadditionalFields: false"
    ) == [
        "7:7 the manifest of the dataset declares no column idd (did you mean `id`?)",
        "9:15 name is of type long in the contract, but STRING in the manifest "
        "(change one of them, or cast in preprocess)",
        "10:21 price is of type float in the contract, but DECIMAL(8,2) in the manifest "
        "(change one of them, or cast in preprocess)",
        "11:7 the manifest of the dataset declares no column address.city (known: id, Name, price, day, at)",
        "12:22 the manifest of the dataset declares no column zone (known: id, Name, price, day, at)",
        "13:23 the manifest declares columns that are not in the contract: id, day, at "
        "(add fields for them to the contract, or allow additional columns there)",
    ]


def test_clauses_that_no_test_can_evaluate(told) -> None:
    model = "fields:\n  name: {type: string, pattern: '(['}\n  a/b: {pattern: '((a+)+)\\1'}"
    assert told(model, "{kind: NdJson}") == [
        "7:37 not a regular expression: a [ without its ]: character 2 of ([ ()",
        "8:22 matching this pattern could take exponential time: remove nested repetitions, such as (a+)+, or remove "
        "look-around and references to groups ()",
    ]


FIELDS = "fields:\n  id: {type: string}\n  zone: {type: string}"
NO_ZONE = "8:7 the manifest of the dataset declares no column zone"
IDS = "7:18 id is of type string in the contract, but BIGINT in the manifest"


@pytest.mark.parametrize(
    ("read", "engine", "query", "messages"),
    [
        (READ, "spark", "select id, name from input", [NO_ZONE]),
        (READ, "datafusion", "select id, Name as name from input", [IDS, NO_ZONE]),
        (READ, "flink", "select id, name from input", [NO_ZONE]),
        (READ, "spark", "select * from input", []),
        ("{kind: NdJson}", "datafusion", "select * from input", []),
        ("{kind: NdJson}", "", "", []),
    ],
)
def test_columns_of_queries_are_known_as_far_as_they_are(told, read: str, engine: str, query: str, messages) -> None:
    preprocess = f"      preprocess: {{kind: Sql, engine: {engine}, query: '{query}'}}\n" if engine else ""
    assert [p.partition(" (")[0].partition(": ")[0] for p in told(FIELDS, read, preprocess)] == messages


def test_a_declared_schema_counts(told) -> None:
    fields = "{name: offset, type: Int64}, {name: op, type: Int32}, {name: system_time, type: Timestamp}"
    fields += ", {name: event_time, type: Date}, {name: id, type: Int64}"
    more = f"    - {{kind: SetDataSchema, schema: {{fields: [{fields}]}}}}\n"
    model = "fields:\n  id: {type: string}\n  event_time: {type: timestamp}"
    assert [p.partition(" (")[0] for p in told(model, more=more)] == [
        "7:18 id is of type string in the contract, but BIGINT in the manifest",
        "8:26 event_time is of type timestamp in the contract, but DATE in the manifest",
    ]


def test_types_are_judged_as_by_the_engine() -> None:
    from pyspark.sql import types as st

    from airflow_provider_odf.engine.contract.fields import FieldSql
    from airflow_provider_odf.engine.contract.rules import of_type
    from airflow_provider_odf.protocol import Check

    columns = {
        "STRING": st.StringType(), "BOOLEAN": st.BooleanType(), "TINYINT": st.ByteType(), "SMALLINT": st.ShortType(),
        "INT": st.IntegerType(), "BIGINT": st.LongType(), "FLOAT": st.FloatType(), "DOUBLE": st.DoubleType(),
        "DECIMAL": st.DecimalType(8, 2), "DATE": st.DateType(), "TIMESTAMP": st.TimestampType(), "TIME": st.TimeType(),
        "BINARY": st.BinaryType(), "ARRAY": st.ArrayType(st.LongType()), "STRUCT": st.StructType([]),
        "MAP": st.MapType(st.StringType(), st.LongType()), "VARIANT": st.VariantType(),
    }  # fmt: skip
    for field, kinds in COLUMN_TYPES.items():
        check = Check("c", "field_type", "", "c", arguments={"type": field})
        verdicts = {name: of_type(check, FieldSql("c", kind)) for name, kind in columns.items()}
        assert kinds == tuple(n for n in kinds if getattr(verdicts[n], "outcome", "pass") != "fail"), field
        assert {n for n, v in verdicts.items() if getattr(v, "outcome", "pass") != "fail"} == {*kinds}, field
