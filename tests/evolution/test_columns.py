"""Declared columns beside those of the dataset."""

from __future__ import annotations

import pytest

from .editing import (
    MERGE,
    READ,
    Edited,
    K,
    V,
    polling,
    pushing,
    read,
    refused,
    schema,
    shown,
    sql,
)

COLUMNS: dict[str, tuple[str, list[str]]] = {
    "removed": (
        read("k BIGINT NOT NULL"),
        ["column v STRING of the dataset is missing: columns cannot be removed or renamed"],
    ),
    "another type": (read("k INT NOT NULL", "v STRING"), ["column k is BIGINT in the dataset, not INT"]),
    "required and new": (
        read("k BIGINT NOT NULL", "v STRING", "w INT NOT NULL"),
        ["column w is new and NOT NULL, but earlier records have no value for it"],
    ),
    "now required": (
        read("k BIGINT NOT NULL", "v STRING NOT NULL"),
        ["column v is nullable in the dataset, and cannot become NOT NULL"],
    ),
    "no longer required": (
        read("k BIGINT", "v STRING"),
        ["column k is NOT NULL in the dataset, and must stay NOT NULL"],
    ),
    "renamed": (
        read("k BIGINT NOT NULL", "value STRING"),
        ["column v STRING of the dataset is missing: columns cannot be removed or renamed"],
    ),
    "event time": (
        read("k BIGINT NOT NULL", "v STRING", "event_time DATE"),
        ["column event_time is TIMESTAMP in the dataset, not DATE"],
    ),
    "another case and order": (read("V STRING", "K BIGINT NOT NULL"), []),
    "other words": (read("v text", "k bigint not null", "event_time timestamp"), []),
    "new": (read("'w DECIMAL(9,2)'", "v STRING", "k BIGINT NOT NULL"), []),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_declared_columns_go_with_those_of_the_dataset(with_data: Edited, case: str) -> None:
    given, messages = COLUMNS[case]
    planned = with_data.plan(polling(read=given))
    assert [p.message for p in planned.problems] == messages
    if case == "new":
        assert planned.notes == ("these columns will be added with the next data: w DECIMAL(9,2)",)


def test_each_reason_has_its_place(with_data: Edited) -> None:
    given = "\n        kind: Csv\n        schema:\n" + "".join(
        f"          - {c}\n" for c in ("k INT NOT NULL", "x DATE NOT NULL", "v STRING")
    )
    source = "kind: SetPollingSource\n      fetch: {kind: Url, url: x}\n      merge: " + MERGE + "\n      read:" + given
    planned = with_data.plan(source)
    assert [(p.place.line, p.place.column) for p in planned.problems] == [(13, 13), (14, 13)]


QUERIES: dict[str, tuple[str, list[str], tuple[str, ...]]] = {
    "removed": (sql("select k from input"), ["column v STRING of the dataset is missing"], ()),
    "renamed": (
        sql("select k, v as w from input", "datafusion"),
        ["column v STRING of the dataset is missing"],
        ("w STRING",),
    ),
    "new": (sql("select *, length(v) as n from input", "datafusion"), [], ("n INT",)),
    "retyped": (
        sql("select k, length(v) as v from input", "datafusion"),
        ["column v is STRING in the dataset, not INT"],
        (),
    ),
    "unknown": (sql("select * from input"), [], ()),
}  # fmt: skip


@pytest.mark.parametrize("case", QUERIES)
def test_names_that_a_query_gives_are_known(with_data: Edited, case: str) -> None:
    preprocess, messages, added = QUERIES[case]
    planned = with_data.plan(polling(preprocess=preprocess))
    assert [p.message.partition(":")[0] for p in planned.problems] == messages
    assert planned.notes == tuple(f"these columns will be added with the next data: {name}" for name in added)


def test_all_sources_gain_a_column_together(edited: Edited) -> None:
    app = pushing("app", preprocess=sql("select k, v from input"))
    edited.apply(pushing("web"), app)
    edited.add_data(K, V)
    more = READ.replace("v STRING", "v STRING, w INT")
    assert refused(edited.plan(pushing("web", more), app)) == [
        "8: column w INT comes from another source of the dataset, and is missing here"
    ]
    assert edited.plan(pushing("web", more), pushing("app", more)).problems == ()


def test_a_declared_schema_grows_as_the_manifest_says(with_data: Edited) -> None:
    old = ["k Int64", "v {kind: Option, inner: String}"]
    new = [*old, "w {kind: Option, inner: Int32}"]
    more = polling(read=READ.replace("v STRING", "v STRING, w INT"))
    assert with_data.plan(polling(), schema(*old)).changes == ()
    assert refused(with_data.plan(more, schema(*old))) == ["7: column w is not in the SetDataSchema of this manifest"]
    assert refused(with_data.plan(polling(), schema(*new))) == [
        "7: column w INT of the dataset is missing: columns cannot be removed or renamed"
    ]
    planned = with_data.plan(more, schema(*new))
    assert (refused(planned), shown(planned)[1]) == (
        [],
        ("SetDataSchema", [("schema", None, "w Option(Int32)")]),
    )
    with_data.apply(more, schema(*new))
    assert with_data.plan(more, schema(*new)).changes == ()
    assert refused(with_data.plan(more, schema(*old))) == ["7: column w is not in the SetDataSchema of this manifest"]
    assert refused(with_data.plan(polling(preprocess=sql("select * from input")), schema(*old))) == [
        "8: the new schema has no column w (rule schema-change)"
    ]


@pytest.mark.parametrize(
    "system",
    [
        "offset Int64, op Int32",
        "offset UInt64, op Int32, system_time Timestamp, event_time Timestamp",
        "op Int32, offset Int64",
    ],
)
def test_a_declared_schema_begins_with_the_system_columns(edited: Edited, system: str) -> None:
    given = schema("k Int64", "v {kind: Option, inner: String}", system=system)
    (message,) = refused(edited.plan(polling(), given))
    assert message.startswith("8: the schema must start with the required system columns offset Int64, op Int32, ")
