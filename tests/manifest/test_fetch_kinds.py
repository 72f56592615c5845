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
        ("{kind: Url, url: 'sftp://b/k'}", ["m.yaml:8:31: sftp:// is not supported (did you mean `ftp`?)"]),
        ("{kind: Url, url: 's3://${{ env.BUCKET }}/a#b?c.csv'}", []),
        ("{kind: Url, url: 's3:///k'}", ["m.yaml:8:31: s3:///k: the bucket is missing: use s3://BUCKET/PREFIX"]),
        (
            "{kind: Url, url: 's3://b/in/'}",
            ["m.yaml:8:31: the URI names no object (write s3://b/in/NAME, or use FilesGlob for a folder)"],
        ),
        (
            "{kind: Url, url: 's3://me:pa55@b/k'}",
            [
                "m.yaml:8:31: s3://: the URI has a user, a password or parameters: leave them out; credentials come from the environment of the process, the role of the machine, or a connection of [odf] object_store_connections"
            ],
        ),
        (
            "{kind: Url, url: 'abfss://c@a.dfs.core.windows.net/k?sig=pa55'}",
            [
                "m.yaml:8:31: abfss://: the URI has a user, a password or parameters: leave them out; credentials come from the environment of the process, the role of the machine, or a connection of [odf] object_store_connections"
            ],
        ),
        (
            "{kind: Url, url: 'gs://b/k', headers: [{name: a, value: b}]}",
            ["m.yaml:8:43: requests to object stores have no `headers` of the manifest (remove them)"],
        ),
        ("{kind: FilesGlob, path: 'az://c/in/*.csv'}", []),
        ("{kind: FilesGlob, path: 's3://b'}", ["m.yaml:8:38: the URI names no object (write s3://b/NAME)"]),
        (
            "{kind: FilesGlob, path: 's3://b-*/k'}",
            ["m.yaml:8:38: a bucket cannot have wildcards (write one source for each bucket)"],
        ),
        (
            "{kind: FilesGlob, path: 'https://x.org/*.csv'}",
            ["m.yaml:8:38: https:// has no folders that can be listed (use a path or an object store)"],
        ),
        ("{kind: Url, url: 'https:///a'}", ["m.yaml:8:31: the URL has no host"]),
        ("{kind: Url, url: 'https:x.org/a'}", ["m.yaml:8:31: the URL has no host"]),
        ("{kind: Url, url: 'file://'}", ["m.yaml:8:31: the URL has no path"]),
        ("{kind: Url, url: ' '}", ["m.yaml:8:31: `url` is empty"]),
        (
            "{kind: Url, url: 'https://x.org:65536/a'}",
            ["m.yaml:8:31: port 65536 is out of range: the highest is 65535"],
        ),
        ("{kind: Url, url: 'https://u:99999@x.org:8443/a'}", []),
        ("{kind: Url, url: 'https://[x'}", ["m.yaml:8:31: the URL has no host"]),
        ("{kind: Url, url: '${{ env.URL }}'}", []),
        ("{kind: Url, url: 'https://x.org/${{ env.A || env.B || ''c'' }}'}", []),
        (
            "{kind: Url, url: 'https://x.org/${{ A }}'}",
            ["m.yaml:8:31: `url`: invalid expression A in the template (use env.NAME, a number or 'text')"],
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
            ["m.yaml:8:86: not a regular expression: missing ) at position 2"],
        ),
        (
            "{kind: FilesGlob, path: a, eventTime: {kind: FromPath, pattern: '(x)', timestampFormat: yyQQ}}",
            ["m.yaml:8:102: 'yyQQ' is not a time format: 'QQ' is not supported"],
        ),
        ("{kind: FilesGlob, path: a, eventTime: {kind: FromPath, pattern: '(?<day>x)', timestampFormat: '%Y'}}", []),
        (
            "{kind: FilesGlob, path: a, eventTime: {kind: FromPath, pattern: '(x)', timestampFormat: '%Q'}}",
            ["m.yaml:8:102: 'Q' is a bad directive in format '%Q'"],
        ),
        ("{kind: FilesGlob, path: ''}", ["m.yaml:8:38: `path` is empty"]),
        (
            "{kind: FilesGlob, path: '${{ env.A }}/*'}",
            ["m.yaml:8:38: `path` cannot have templates (write the whole path)"],
        ),
        (
            "{kind: FilesGlob, path: a, order: ByEventTime}",
            ["m.yaml:8:48: ordering by event time needs event times (add `eventTime`: FromPath or FromMetadata)"],
        ),
        ("{kind: FilesGlob, path: a, order: ByEventTime, eventTime: {kind: FromMetadata}}", []),
        (
            "{kind: Container, image: my image}",
            ["m.yaml:8:39: not the name of an image (write it as in `registry.example.org/name:tag`)"],
        ),
        ("{kind: Container, image: '${{ env.A || ''b c'' }}:1'}", []),
        ("{kind: Container, image: i, args: ['${{ env.A }}'], env: [{name: A}]}", []),
        (
            "{kind: Container, image: 'i:${{ x }}'}",
            ["m.yaml:8:39: `image`: invalid expression x in the template (use env.NAME, a number or 'text')"],
        ),
        (
            "{kind: Mqtt, host: '${{ env.H }}', port: 1, topics: [{path: a/+/b}, {path: '#'}, {path: '$share/g/a/#'}]}",
            [],
        ),
        ("{kind: Mqtt, host: h, port: 1, topics: []}", ["m.yaml:8:45: `topics` is empty (write at least one topic)"]),
        (
            "{kind: Mqtt, host: h, port: 1, topics: [{path: a#}, {path: '#/a'}, {path: a+/b}]}",
            [
                f"m.yaml:8:{at}: not a topic filter (write `+` for one whole level, or `#` as the last level)"
                for at in (61, 73, 88)
            ],
        ),
        (
            "{kind: Mqtt, host: h, port: 1, password: '${{ x }}', topics: [{path: a}]}",
            ["m.yaml:8:55: `password`: invalid expression x in the template (use env.NAME, a number or 'text')"],
        ),
        (
            "{kind: EthereumLogs, nodeUrl: wss://h}",
            [
                "m.yaml:8:44: not a URL over http or https (write it as in `https://node.example.org`)",
                "m.yaml:10:13: EthereumLogs gives Parquet, which Csv cannot read (use `read: {kind: Parquet}`)",
            ],
        ),
    ],
)
def test_fetch(outcome: Callable[..., Any], fetch: str, problems: list[str]) -> None:
    assert outcome(manifest(fetch=fetch)).problems == problems


@pytest.mark.parametrize("url", ["data/a.csv", "/data/a.csv", "../a.csv", "file:a.csv", "file:///a.csv"])
def test_a_path_is_fine(outcome: Callable[..., Any], url: str) -> None:
    got = outcome(manifest(fetch=f"{{kind: Url, url: '{url}'}}"))
    assert (got.names, got.problems, got.warnings) == (["a"], [], [])


def test_prepare(outcome: Callable[..., Any]) -> None:
    assert outcome(manifest(prepare="[{kind: Pipe, command: []}]")).problems == [
        "m.yaml:9:30: `command` is empty (write the program and its arguments as separate list items)"
    ]


@pytest.mark.parametrize(
    ("transform", "problems"),
    [
        ("engine: sprak, query: q", ["m.yaml:11:39: engine 'sprak' is not known (did you mean `spark`?)"]),
        ("engine: hive, query: q", ["m.yaml:11:39: engine 'hive' is not known (known: spark, datafusion, flink, risingwave)"]),
        ("engine: flink", ["m.yaml:11:7: the transform has no query (add `query`, or `queries` with at least one step)"]),
        ("engine: flink, queries: []", ["m.yaml:11:7: the transform has no query (add `query`, or `queries` with at least one step)"]),
        ("engine: flink, query: ' '", ["m.yaml:11:53: the query is empty"]),
        ("engine: flink, query: a, queries: [{query: b}]", ["m.yaml:11:53: `query` and `queries` cannot be used together (keep one: `query` is short for one step)"]),
        ("engine: flink, queries: [{query: a, alias: x}]", ["m.yaml:11:74: the last query is the output and cannot have an alias (remove the alias)"]),
        ("engine: flink, queries: [{query: a}, {query: b}]", ["m.yaml:11:56: only the last query may have no alias (add an alias, by which later queries refer to it)"]),
        ("engine: flink, queries: [{query: a, alias: x}, {query: b, alias: X}, {query: c}]", ["m.yaml:11:96: alias X is repeated"]),
        ("engine: flink, queries: [{query: a, alias: Input}, {query: c}]", ["m.yaml:11:74: `input` is the name of the data that was read (choose another alias)"]),
        ("engine: flink, query: a, temporalTables: [{name: x, primaryKey: [k]}]", ["m.yaml:11:56: temporal tables cannot be used in preprocess, which reads only new data (remove `temporalTables`)"]),
    ],
)  # fmt: skip
def test_preprocess(outcome: Callable[..., Any], transform: str, problems: list[str]) -> None:
    assert outcome(manifest(preprocess=f"{{kind: Sql, {transform}}}")).problems == problems


def test_another_spark_is_a_warning(outcome: Callable[..., Any]) -> None:
    text = manifest(preprocess="{kind: Sql, engine: spark, version: 3.1.2, query: q}")
    assert outcome(text).warnings == [
        "m.yaml:11:55: the transform declares Spark 3.1.2, but runs on Spark 4 (check its queries and update the version)"
    ]
    assert outcome(text.replace("3.1.2", "'4.0'")).warnings == []
