# ruff: noqa: E501  (tables of cases, one a line)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

TEMPLATE = """\
kind: DatasetSnapshot
version: 1
content:
  name: a
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch: {fetch}
      prepare: {prepare}
      read: {read}
      preprocess: {preprocess}
      merge: Append
"""
PARTS = {
    "fetch": "{kind: Url, url: 'https://x.org/'}",
    "prepare": "[]",
    "read": "Csv",
    "preprocess": "{kind: Sql, engine: spark, query: select 1}",
}


def manifest(**parts: str) -> str:
    return TEMPLATE.format(**{**PARTS, **parts})


@pytest.mark.parametrize(
    ("fetch", "problems"),
    [
        ("{kind: Url, url: 'htps://x.org/'}", ["m.yaml:8:31: htps:// is not supported (did you mean `https`?)"]),
        ("{kind: Url, url: 's3://b/k'}", ["m.yaml:8:31: s3:// is not supported (known: http, https, ftp, ftps, file)"]),
        ("{kind: Url, url: 'https:///a'}", ["m.yaml:8:31: the URL has no host"]),
        ("{kind: Url, url: 'https://[x'}", ["m.yaml:8:31: the URL has no host"]),
        ("{kind: Url, url: '${{ env.URL }}'}", []),
        ("{kind: Url, url: 'https://x.org/${{ env.A || env.B || ''c'' }}'}", []),
        (
            "{kind: Url, url: 'https://x.org/${{ A }}'}",
            ["m.yaml:8:31: `url`: invalid pattern: A (known: env.NAME, numbers and 'text')"],
        ),
        (
            "{kind: Url, url: 'https://x.org/', headers: [{name: a, value: '${{ env.A'}]}",
            ["m.yaml:8:76: `value`: a template begins with ${{ and does not end: close it with }}"],
        ),
        (
            "{kind: Url, url: 'https://x.org/', eventTime: {kind: FromPath, pattern: 'x'}}",
            [
                r"m.yaml:8:86: the pattern has no group (put the timestamp into parentheses, as in "
                r"`(\d{4}-\d\d-\d\d)`)"
            ],
        ),
        (
            "{kind: Url, url: 'https://x.org/', eventTime: {kind: FromPath, pattern: '(x'}}",
            ["m.yaml:8:86: not a regular expression: missing ), unterminated subpattern at position 0"],
        ),
        (
            "{kind: FilesGlob, path: a, eventTime: {kind: FromPath, pattern: '(x)', timestampFormat: yyQQ}}",
            ["m.yaml:8:102: 'yyQQ' is not a time format: 'QQ' is not supported"],
        ),
        ("{kind: FilesGlob, path: ''}", ["m.yaml:8:38: `path` is empty"]),
        ("{kind: Container, image: i, args: ['${{ env.A }}'], env: [{name: A}]}", []),
        (
            "{kind: Container, image: 'i:${{ x }}'}",
            ["m.yaml:8:39: `image`: invalid pattern: x (known: env.NAME, numbers and 'text')"],
        ),
        ("{kind: EthereumLogs, filter: x}", ["m.yaml:8:7: EthereumLogs needs `chainId` or `nodeUrl`"]),
    ],
)
def test_fetch(outcome: Callable[..., Any], fetch: str, problems: list[str]) -> None:
    assert outcome(manifest(fetch=fetch)).problems == problems


def test_a_url_without_a_scheme_is_a_path(outcome: Callable[..., Any]) -> None:
    got = outcome(manifest(fetch="{kind: Url, url: data/a.csv}"))
    assert got.problems == []
    assert got.warnings == [
        "m.yaml:8:31: the URL has no scheme: it is taken as a path "
        "(a path is relative to the manifest; for the web write https://…)"
    ]


def test_prepare(outcome: Callable[..., Any]) -> None:
    assert outcome(manifest(prepare="[{kind: Pipe, command: []}]")).problems == [
        "m.yaml:9:30: `command` is empty (a program and its arguments, one a list item)"
    ]


@pytest.mark.parametrize(
    ("read", "problems"),
    [
        ("{kind: Csv, schema: [id BIGNT]}", ["m.yaml:10:37: unknown type BIGNT (did you mean `BIGINT`?)"]),
        ("{kind: Csv, schema: ['id BIGNT']}", ["m.yaml:10:38: unknown type BIGNT (did you mean `BIGINT`?)"]),
        ("{kind: Csv, schema: [id INT, ID INT]}", ["m.yaml:10:42: column ID is declared twice, also as id"]),
        ("{kind: Csv, schema: [id INT, id INT]}", ["m.yaml:10:42: column id is declared twice"]),
        ("{kind: Csv, schema: []}", ["m.yaml:10:25: the schema has no columns (leave it out)"]),
        ("{kind: Csv, schema: {fields: []}}", ["m.yaml:10:25: the schema has no columns (leave it out)"]),
        (
            "{kind: Csv, schema: {fields: [{name: a, type: Duration}]}}",
            ["m.yaml:10:59: column a: the type Duration has no counterpart in Spark"],
        ),
        ("{kind: Csv, quote: ab, escape: cd}", ["m.yaml:10:32: `quote` must be a single character", "m.yaml:10:44: `escape` must be a single character"]),
        ("{kind: Csv, quote: '', separator: ''}", ["m.yaml:10:47: `separator` is empty"]),
        ("{kind: Csv, encoding: utf-9}", ["m.yaml:10:35: unknown encoding 'utf-9' (such as utf-8, latin1, windows-1252)"]),
        ("{kind: Csv, dateFormat: '%Q'}", ["m.yaml:10:37: %Q has no counterpart in Java's patterns"]),
        ("{kind: Csv, timestampFormat: '%Y-%m-%d', encoding: utf8}", []),
    ],
)  # fmt: skip
def test_read(outcome: Callable[..., Any], read: str, problems: list[str]) -> None:
    assert outcome(manifest(read=read)).problems == problems


def test_widened_types_are_warned_of(outcome: Callable[..., Any]) -> None:
    assert outcome(manifest(read="{kind: Csv, schema: [id INT UNSIGNED]}")).warnings == [
        "m.yaml:10:34: column id: INT UNSIGNED is kept as BIGINT: Spark has no unsigned integers"
    ]


@pytest.mark.parametrize(
    ("transform", "problems"),
    [
        ("engine: sprak, query: q", ["m.yaml:11:39: engine 'sprak' is not known (did you mean `spark`?)"]),
        ("engine: hive, query: q", ["m.yaml:11:39: engine 'hive' is not known (known: spark, datafusion, flink, risingwave)"]),
        ("engine: flink", ["m.yaml:11:7: the transform has no query (give `query`, or `queries` with at least one step)"]),
        ("engine: flink, queries: []", ["m.yaml:11:7: the transform has no query (give `query`, or `queries` with at least one step)"]),
        ("engine: flink, query: ' '", ["m.yaml:11:53: the query is empty"]),
        ("engine: flink, query: a, queries: [{query: b}]", ["m.yaml:11:53: `query` and `queries` are both given (keep one: `query` is short for one step)"]),
        ("engine: flink, queries: [{query: a, alias: x}]", ["m.yaml:11:74: the last query is the output and has no alias (remove the alias)"]),
        ("engine: flink, queries: [{query: a}, {query: b}]", ["m.yaml:11:56: only the last query has no alias (give it one, for the queries after it)"]),
        ("engine: flink, queries: [{query: a, alias: x}, {query: b, alias: X}, {query: c}]", ["m.yaml:11:96: alias X is given twice"]),
        ("engine: flink, queries: [{query: a, alias: Input}, {query: c}]", ["m.yaml:11:74: `input` is the name of the data read (choose another alias)"]),
        ("engine: flink, query: a, temporalTables: [{name: x, primaryKey: [k]}]", ["m.yaml:11:56: temporal tables need a history, and what is preprocessed has none yet (join in a derivative dataset)"]),
    ],
)  # fmt: skip
def test_preprocess(outcome: Callable[..., Any], transform: str, problems: list[str]) -> None:
    assert outcome(manifest(preprocess=f"{{kind: Sql, {transform}}}")).problems == problems


def test_another_spark_is_a_warning(outcome: Callable[..., Any]) -> None:
    text = manifest(preprocess="{kind: Sql, engine: spark, version: 3.1.2, query: q}")
    assert outcome(text).warnings == ["m.yaml:11:55: written for Spark 3.1.2, and runs on Spark 4"]
    assert outcome(text.replace("3.1.2", "'4.0'")).warnings == []


def test_rules_speak_also_where_other_parts_do_not_validate(outcome: Callable[..., Any]) -> None:
    text = manifest(fetch="{kind: Url, url: 'x://y'}", read="{kind: Cvs}", prepare="[{kind: Pipe, command: []}]")
    assert outcome(text).problems == [
        "m.yaml:8:31: x:// is not supported (known: http, https, ftp, ftps, file)",
        "m.yaml:9:30: `command` is empty (a program and its arguments, one a list item)",
        "m.yaml:10:20: 'Cvs' is not a read step (did you mean `Csv`?)",
    ]
