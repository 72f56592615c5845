from __future__ import annotations

import pytest

from airflow_provider_odf import protocol
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.protocol import Column, DatasetVocabulary

DATA_SCHEMA = model.DataSchema.model_validate(
    {
        "fields": [
            {"name": "id", "type": "Int64"},
            {"name": "name", "type": {"kind": "Option", "inner": "String"}},
            {"name": "n", "type": "UInt16"},
            {"name": "at", "type": {"kind": "Timestamp", "unit": "Nanosecond", "timezone": "UTC"}},
            {"name": "price", "type": {"kind": "Decimal", "precision": 10, "scale": 3}},
            {"name": "tags", "type": {"kind": "Option", "inner": {"kind": "List", "itemType": "String"}}},
            {
                "name": "where",
                "type": {
                    "kind": "Struct",
                    "fields": [
                        {"name": "lat", "type": "Float64"},
                        {"name": "the note", "type": {"kind": "Option", "inner": "String"}},
                    ],
                },
            },
            {"name": "m", "type": {"kind": "Map", "keyType": "String", "valueType": "Float32"}},
            {"name": "t", "type": "Time"},
        ]
    }
)


def test_odf_schema_as_columns() -> None:
    assert ddl.columns(model.ReadStepParquet(schema_=DATA_SCHEMA)) == (
        Column("id", "BIGINT", is_nullable=False),
        Column("name", "STRING"),
        Column("n", "INT", is_nullable=False),
        Column("at", "TIMESTAMP", is_nullable=False),
        Column("price", "DECIMAL(10,3)", is_nullable=False),
        Column("tags", "ARRAY<STRING>"),
        Column("where", "STRUCT<lat: DOUBLE NOT NULL, `the note`: STRING>", is_nullable=False),
        Column("m", "MAP<STRING, FLOAT>", is_nullable=False),
        Column("t", "TIME(6)", is_nullable=False),
    )


def test_ddl_schema_as_columns() -> None:
    read = model.ReadStepCsv(ddl_schema=("id BIGINT NOT NULL", "name STRING"))
    assert ddl.columns(read) == (Column("id", "BIGINT", is_nullable=False), Column("name", "STRING"))
    assert ddl.columns(model.ReadStepCsv()) is None


@pytest.mark.parametrize(
    ("data_type", "message"),
    [
        (model.DataTypeNull(), "the type Null has no counterpart in Spark"),
        (model.DataTypeDuration(), "the type Duration has no counterpart in Spark"),
        (
            model.DataTypeDecimal(precision=40, scale=2),
            "Decimal of precision 40 and scale 2 exceeds Spark's limits: "
            "precision up to 38, scale from 0 to the precision",
        ),
    ],
)
def test_types_without_a_counterpart(data_type: model.DataType, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ddl.spark_type(data_type)
    assert str(caught.value) == message


def test_read_step_with_its_defaults() -> None:
    assert ddl.read_step(model.ReadStepCsv()) == protocol.ReadStep(kind="Csv")
    assert ddl.read_step(
        model.ReadStepCsv(separator=";", quote="", header=True, null_value="NA", date_format="%d.%m.%Y")
    ) == protocol.ReadStep(kind="Csv", separator=";", quote="", header=True, null_value="NA", date_format="d.M.yyyy")
    assert ddl.read_step(model.ReadStepJson(sub_path="a.b")) == protocol.ReadStep(kind="Json", sub_path="a.b")


def test_merge_strategies() -> None:
    snapshot = model.MergeStrategySnapshot(primary_key=("a",), compare_columns=("b",))
    assert ddl.merge_strategy(snapshot) == protocol.MergeStrategy("Snapshot", ("a",), ("b",))
    assert ddl.merge_strategy(model.MergeStrategyAppend()) == protocol.MergeStrategy("Append")


def test_vocabulary_has_defaults_for_what_is_left_out() -> None:
    assert ddl.vocabulary(None) == DatasetVocabulary("offset", "op", "system_time", "event_time")
    vocab = model.SetVocab(event_time_column="happened", offset_column="seq")
    assert ddl.vocabulary(vocab) == DatasetVocabulary("seq", "op", "system_time", "happened")
