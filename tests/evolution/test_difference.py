"""What counts as a change of an event, and how it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from airflow_provider_odf.evolution.plan import Plan

from .editing import (
    READ,
    Edited,
    polling,
    refused,
    shown,
    sql,
)

SAME = {
    "defaults written out": (
        [polling()],
        [
            polling(
                read="{kind: Csv, header: true, separator: ',', quote: '\"', encoding: UTF8, nullValue: '', "
                "dateFormat: rfc3339, inferSchema: false, schema: [k BIGINT NOT NULL, v STRING]}",
                fetch="{kind: Url, url: 'https://example.com/a.csv', eventTime: {kind: FromMetadata}, headers: []}",
            )
        ],
    ),
    "the other form of the schema": (
        [polling()],
        [
            polling(
                read="{kind: csv, header: true, schema: {fields: [{name: k, type: Int64}, "
                "{name: v, type: {kind: Option, inner: String}}]}}"
            )
        ],
    ),
    "other words for types": ([polling()], [polling(read=READ.replace("STRING", "varchar(9)"))]),
    "the order of attachments": (
        ["{kind: SetAttachments, attachments: {kind: Embedded, items: "
         f"[{{path: {a}, content: x}}, {{path: {b}, content: x}}]}}}}" for a, b in [("a", "b")]],
        ["{kind: SetAttachments, attachments: {kind: Embedded, items: "
         f"[{{path: {a}, content: x}}, {{path: {b}, content: x}}]}}}}" for a, b in [("b", "a")]],
    ),
    "no keywords": (["{kind: SetInfo, description: A}"], ["{kind: SetInfo, description: A, keywords: []}"]),
    "an info that says nothing": ([], ["{kind: SetInfo}"]),
    "default names": ([], ["{kind: SetVocab, offsetColumn: offset}"]),
    "query and queries": (
        [polling(preprocess=sql("select k, v from input"))],
        [polling(preprocess="{kind: Sql, engine: spark, queries: [{query: 'select k, v from input'}]}")],
    ),
    "the order of a glob": (
        [polling(fetch="{kind: FilesGlob, path: a/*}")],
        [polling(fetch="{kind: FilesGlob, path: a/*, order: byName, eventTime: {kind: fromSystemTime}}")],
    ),
    "units of times": (
        ["{kind: SetDataSchema, schema: {fields: [" + ", ".join(
            f"{{name: {n}, type: {t}}}" for n, t in
            [("offset", "Int64"), ("op", "Int32"), ("system_time", "Timestamp"), ("event_time", "Timestamp")]
        ) + "]}}"],
        ["{kind: SetDataSchema, schema: {fields: [" + ", ".join(
            f"{{name: {n}, type: {t}}}" for n, t in
            [("offset", "Int64"), ("op", "Int32"),
             ("system_time", "{kind: Timestamp, unit: Millisecond, timezone: UTC}"), ("event_time", "Timestamp")]
        ) + "]}}"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SAME)
def test_what_means_the_same_is_no_change(edited: Edited, case: str) -> None:
    before, after = SAME[case]
    edited.apply(*before)
    assert edited.plan(*after) == Plan("things", False)
    assert edited.plan(*before) == Plan("things", False)


CHANGES: dict[str, tuple[Sequence[str], list[tuple[str, Any, Any]]]] = {
    "a column": ([polling(read=READ.replace("v STRING", "v STRING, w INT"))], [("read.schema", None, "w INT")]),
    "columns in another place": (
        [polling(read="{kind: Csv, schema: [v STRING, k BIGINT NOT NULL]}")],
        [
            ("read.header", True, False),
            ("read.schema", None, "v STRING"),
            ("read.schema", "v STRING", None),
        ],
    ),
    "a prepare step": (
        [polling().replace("read:", "prepare: [{kind: Decompress, format: Gzip}], read:")],
        [("prepare[0].kind", None, "Decompress"), ("prepare[0].format", None, "Gzip")],
    ),
    "compared columns": (
        [polling(merge="{kind: Snapshot, primaryKey: [k], compareColumns: [v]}")],
        [("merge.compareColumns", None, "v")],
    ),
    "the spelling of a key": (
        [polling(merge="{kind: Snapshot, primaryKey: [K]}")],
        [("merge.primaryKey", "k", "K")],
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_changes_are_told_property_by_property(with_data: Edited, case: str) -> None:
    events, expected = CHANGES[case]
    planned = with_data.plan(*events)
    assert (refused(planned), shown(planned)) == ([], [("SetPollingSource", expected)])
    with_data.apply(*events)
    assert with_data.plan(*events).changes == ()


def test_what_is_no_longer_said_stays(edited: Edited) -> None:
    edited.apply(polling(), "{kind: SetInfo, description: A}", "{kind: SetVocab, offsetColumn: nr}")
    planned = edited.plan(polling())
    assert planned.changes == ()
    assert planned.notes == (
        "SetInfo is no longer in the manifest but still applies; an empty SetInfo clears it",
        "SetVocab is no longer in the manifest but still applies",
    )
    edited.apply(polling(), "{kind: SetInfo}")
    assert edited.plan(polling()).notes == planned.notes[1:]
