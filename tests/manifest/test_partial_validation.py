# ruff: noqa: E501  (tables of cases, one a line)
"""All errors at once: what is invalid hides nothing else, and nothing is said of what only follows from it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.findings import INVALID, build, outline
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.yaml_source import dump_yaml, parse

HEAD = """\
kind: DatasetSnapshot
version: 1
content:
  name: a
  kind: Root
  metadata:
"""
POLL = (
    HEAD
    + """\
    - kind: SetPollingSource
      fetch: {fetch}
      read: {read}
      merge: {merge}
"""
)
PARTS = {"fetch": "{kind: Url, url: 'https://x.org/'}", "read": "Csv", "merge": "Append"}
LEDGER = "{kind: Ledger, primaryKey: [id]}"


def poll(**parts: str) -> str:
    return POLL.format(**{**PARTS, **parts})


def push(rest: str) -> str:
    return HEAD + f"    - {{kind: AddPushSource, sourceName: s, {rest}}}\n"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        pytest.param(
            poll(read="{kind: Csv, heder: true, schema: [id BIGINTEGER]}"),
            [
                "m.yaml:9:25: unknown key `heder` in Csv (did you mean `header`?)",
                "m.yaml:9:50: unknown type BIGINTEGER (did you mean `INTEGER`?)",
            ],
            id="an unknown key and a bad type in one step",
        ),
        pytest.param(
            poll(read="{kind: Csv, header: 'yes', quote: ab, schema: [5, id BIGNT, name STRING, NAME INT]}"),
            [
                "m.yaml:9:33: `header` must be true or false, not the string 'yes'",
                "m.yaml:9:47: `quote` must be a single character",
                'm.yaml:9:60: item 1 of `schema` must be a string, not the number 5 (write "5" in quotes)',
                "m.yaml:9:66: unknown type BIGNT (did you mean `BIGINT`?)",
            ],
            id="values of several options",
        ),
        pytest.param(
            poll(read="{kind: Csv, schema: [id BIGNT, offset INT]}", merge="{kind: Ledger, primaryKey: [idd], key: 1}"),
            [
                "m.yaml:9:37: unknown type BIGNT (did you mean `BIGINT`?)",
                "m.yaml:9:44: column offset has the name of a system column (rename it in `preprocess` (`offset AS offset_1`), or, if the dataset has no data yet, rename the system column with SetVocab.offsetColumn)",
                "m.yaml:10:42: column idd is not in the declared schema (did you mean `id`?)",
                "m.yaml:10:48: unknown key `key` in Ledger (known: kind, primaryKey)",
            ],
            id="key columns, where a type is unknown",
        ),
        pytest.param(
            poll(fetch="{kind: Url, url: 'x://y', cache: {kind: Forevr}, eventTime: {kind: FromPath, pattern: x, timestampFormat: 5}}"),
            [
                "m.yaml:8:31: x:// is not supported (known: http, https, ftp, ftps, s3, gs, az, abfss, file)",
                "m.yaml:8:54: 'Forevr' is not a kind of caching (did you mean `Forever`?)",
                r"m.yaml:8:100: the pattern has no group (put the timestamp into parentheses, as in `(\d{4}-\d\d-\d\d)`)",
                'm.yaml:8:120: `timestampFormat` must be a string, not the number 5 (write "5" in quotes)',
            ],
            id="parts of a fetch step",
        ),
        pytest.param(
            poll(fetch="{kind: Url, url: 'x://y'}", read="{kind: Cvs}", merge="{kind: Ledger, primaryKey: []}"),
            [
                "m.yaml:8:31: x:// is not supported (known: http, https, ftp, ftps, s3, gs, az, abfss, file)",
                "m.yaml:9:20: 'Cvs' is not a read step (did you mean `Csv`?)",
                "m.yaml:10:29: `primaryKey` is empty (name the columns that identify a record)",
            ],
            id="steps after one of an unknown kind",
        ),
        pytest.param(
            poll().replace("kind: Root", "kind: Rot") + "    - {kind: SetInfo, description: 5}\n    - {kind: AddData, x: 1}\n",
            [
                "m.yaml:5:9: 'Rot' is not a kind of dataset (did you mean `Root`?)",
                'm.yaml:11:36: `description` must be a string, not the number 5 (write "5" in quotes)',
                "m.yaml:12:7: AddData cannot be declared: runs write it (remove it)",
                "m.yaml:12:23: unknown key `x` in AddData (known: kind, prevCheckpoint, prevOffset, newData, newCheckpoint, newWatermark, newSourceState, extra)",
            ],
            id="events of a dataset of an unknown kind",
        ),
        pytest.param(
            HEAD.replace("Root", "Derivative") + "    - {kind: SetInfo, description: 5}\n",
            [
                "m.yaml:6:3: a Derivative needs a SetTransform",
                'm.yaml:7:36: `description` must be a string, not the number 5 (write "5" in quotes)',
            ],
            id="what is missing",
        ),
    ],
)  # fmt: skip
def test_nothing_is_hidden(outcome: Callable[..., Any], text: str, problems: list[str]) -> None:
    assert outcome(text).problems == problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            push(f"read: {{kind: Csv, schema: [x INT]}}, merge: {LEDGER}, preprocess: {{kind: Sqll}}"),
            "m.yaml:7:140: 'Sqll' is not a transform (did you mean `Sql`?)",
            id="columns after an invalid preprocess",
        ),
        pytest.param(
            push(f"read: {{kind: Csv, schema: [x INT]}}, merge: {LEDGER}, preproces: {{kind: Sql, engine: spark, query: q}}"),
            "m.yaml:7:121: unknown key `preproces` in AddPushSource (did you mean `preprocess`?)",
            id="columns after a misspelled preprocess",
        ),
        pytest.param(
            push(f"read: {{kind: Csv, schema: [5]}}, merge: {LEDGER}"),
            'm.yaml:7:71: item 1 of `schema` must be a string, not the number 5 (write "5" in quotes)',
            id="columns of an invalid schema",
        ),
        pytest.param(
            push(f"read: {{kind: Csv, schema: ['x INTT, id INT', y INT]}}, merge: {LEDGER}"),
            "m.yaml:7:74: unknown type INTT (did you mean `INT`?)",
            id="columns of an entry of several",
        ),
        pytest.param(
            push("read: Csv, merge: Append, preprocess: {kind: Sql, engine: spark, quries: []}"),
            "m.yaml:7:109: unknown key `quries` in Sql (did you mean `queries`?)",
            id="a misspelled list of queries",
        ),
        pytest.param(
            push("read: Csv, merge: Append, preprocess: {kind: Sql, engine: spark, query: 5}"),
            'm.yaml:7:116: `query` must be a string, not the number 5 (write "5" in quotes)',
            id="an invalid query",
        ),
        pytest.param(
            push("read: Csv, merge: Append, preprocess: {kind: Sql, engine: spark, queries: [{query: a, alias: 5}, {query: b}]}"),
            'm.yaml:7:137: `alias` must be a string, not the number 5 (write "5" in quotes)',
            id="an invalid alias",
        ),
        pytest.param(
            push(f"read: {{kind: Csv, schema: [id INT, event_time INT]}}, merge: {LEDGER}") + "    - {kind: SetVocab, eventTimeColumn: 5}\n",
            'm.yaml:8:41: `eventTimeColumn` must be a string, not the number 5 (write "5" in quotes)',
            id="the type of an event time that has another name",
        ),
        pytest.param(
            HEAD + "    - {kind: SetPolingSource}\n",
            "m.yaml:7:14: 'SetPolingSource' is not a metadata event (did you mean `SetPollingSource`?)",
            id="no source but a misspelled one",
        ),
        pytest.param(
            HEAD + "    - {kind: SetDataSchema, shema: {fields: []}}\n    - {kind: AddPushSource, sourceName: s, read: Csv, merge: Append}\n",
            "m.yaml:7:29: unknown key `shema` in SetDataSchema (did you mean `schema`?)",
            id="no schema but a misspelled one",
        ),
        pytest.param(
            poll(fetch="{kind: EthereumLogs, nodeURI: x}", read="{kind: Parquet}"),
            "m.yaml:8:35: unknown key `nodeURI` in EthereumLogs (did you mean `nodeUrl`?)",
            id="no node but a misspelled one",
        ),
    ],
)  # fmt: skip
def test_what_follows_from_an_error_is_none(outcome: Callable[..., Any], text: str, problem: str) -> None:
    got = outcome(text)
    assert got.problems == [problem]
    assert got.warnings == []


def test_names_and_inputs_of_manifests_that_are_invalid_otherwise(outcome: Callable[..., Any]) -> None:
    derivative = """\
        kind: DatasetSnapshot
        version: 1
        content:
          name: %s
          kind: Derivative
          metadata:
            - kind: SetTransform
              inputs: [{datasetRef: %s}]
              transform: {kind: Sql, engine: %s, query: select 1}
            - {kind: SetInfo, keywords: %s}
        """
    got = outcome(
        a=derivative % ("x", "y", "spark", "5"),
        b=derivative % ("y", "x", "sprak", "[]"),
        c=poll(merge="Apend"),
        d=poll(),
        e=derivative % ("z", "far", "spark", "5"),
    )
    assert got.names == []
    assert [p.partition(": ")[0] for p in got.problems if "reads itself through" in p] == ["a.yaml:8:29", "b.yaml:8:29"]
    assert [p for p in got.problems if "reads itself" not in p] == [
        "a.yaml:10:33: `keywords` must be a list, not the number 5",
        "b.yaml:9:38: engine 'sprak' is not known (did you mean `spark`?)",
        "c.yaml:4:9: dataset a is also declared in d.yaml:4:9 (rename one)",
        "c.yaml:10:14: 'Apend' is not a merge strategy (did you mean `Append`?)",
        "d.yaml:4:9: dataset a is also declared in c.yaml:4:9 (rename one)",
        "e.yaml:10:33: `keywords` must be a list, not the number 5",
    ]
    assert got.warnings == ["e.yaml:8:29: input far is not in these manifests"]


RICH = """\
kind: DatasetSnapshot
version: 1
content:
  name: a
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch:
        kind: Url
        url: https://x.org/
        headers: [{name: a, value: b}]
        cache: {kind: Forever}
        eventTime: {kind: FromPath, pattern: (x), timestampFormat: '%Y'}
      prepare: [{kind: Decompress, format: Gzip, subPath: x}, {kind: Pipe, command: [a, b]}]
      read: {kind: Csv, schema: [op STRING, id BIGINT, name STRING, t DATE], quote: '"', encoding: utf-8, dateFormat: yyyy}
      merge: {kind: ChangelogStream, primaryKey: [id, name]}
    - {kind: SetVocab, eventTimeColumn: t, offsetColumn: o}
    - {kind: SetInfo, description: d, keywords: [a, b]}
    - {kind: SetLicense, name: n, shortName: s, websiteUrl: 'https://x.org'}
---
kind: DatasetSnapshot
version: 1
content:
  name: b
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs: [{datasetRef: a, alias: x}, {datasetRef: c}]
      transform:
        kind: Sql
        engine: spark
        version: '4'
        queries: [{query: q, alias: z}, {query: w}]
        temporalTables: [{name: x, primaryKey: [k]}]
---
kind: DatasetSnapshot
version: 1
content:
  name: c
  kind: Root
  metadata:
    - kind: AddPushSource
      sourceName: p
      read: {kind: Parquet, schema: {fields: [{name: id, type: Int64}, {name: v, type: {kind: Option, inner: Bool}}]}}
      merge: {kind: Snapshot, primaryKey: [id], compareColumns: [v]}
    - kind: AddPushSource
      sourceName: q
      read: {kind: Json, subPath: x}
      preprocess: {kind: Sql, engine: spark, query: select 1}
      merge: {kind: Snapshot, primaryKey: [id], compareColumns: [v]}
"""


@pytest.mark.no_cover
def test_one_mistake_is_one_problem(tmp_path: Path) -> None:
    documents = [document.value for document in parse(RICH, "m")]
    places = [(index, *place) for index, document in enumerate(documents) for place in _places(document["content"])]
    assert len(places) == 124
    assert _number_of_problems(tmp_path, documents) == 0
    for index, *path, last in places:
        wrong = copy.deepcopy(documents)
        container = wrong[index]["content"]
        for step in path:
            container = container[step]
        container[last] = [None]
        assert _number_of_problems(tmp_path, wrong) == 1, (index, *path, last)


def _number_of_problems(folder: Path, documents: list[Any]) -> int:
    (folder / "m.yaml").write_text("---\n".join(map(dump_yaml, documents)))
    loaded = load([folder / "m.yaml"])
    return len(loaded.problems) + len(loaded.warnings)


def _places(value: Any) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (key,)
        yield from ((key, *place) for place in _places(inner))


def test_what_is_built() -> None:
    built = build(model.FetchStep, {"kind": "url", "url": 5, "headers": [{"name": "a", "value": "b"}, 7], "x": 1})
    assert type(built) is model.FetchStepUrl
    assert built.url is INVALID
    assert built.headers[0] == model.RequestHeader(name="a", value="b")
    assert built.headers[1] is INVALID
    assert (built.event_time, built.cache) == (None, None)
    assert build(model.FetchStep, {"kind": "Curl"}) is INVALID
    assert build(model.DatasetKind, "Root") == "Root"


def test_an_outline_has_the_events_that_are_valid() -> None:
    info = {"kind": "SetInfo", "description": "d"}
    (outlined,) = outline(
        build(model.DatasetSnapshot, {"name": "a", "metadata": [info, {"kind": "SetInfo", "x": 1}, 5]})
    )
    assert outlined.metadata[:2] == (model.SetInfo(description="d"), model.SetInfo())
    assert outlined.metadata[2] is INVALID
    assert outline(build(model.DatasetSnapshot, {"name": "a_b", "kind": "Root", "metadata": []})) == []
