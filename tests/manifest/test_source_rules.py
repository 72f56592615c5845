# ruff: noqa: E501  (tables of cases, one a line)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: a
  kind: Root
  metadata:
    - kind: AddPushSource
      sourceName: default
      read: %s
      merge: Append
"""


@pytest.mark.parametrize(
    ("read", "problems"),
    [
        ("{kind: Csv, schema: [id BIGNT]}", ["m.yaml:9:37: unknown type BIGNT (did you mean `BIGINT`?)"]),
        ("{kind: Csv, schema: ['id BIGNT']}", ["m.yaml:9:38: unknown type BIGNT (did you mean `BIGINT`?)"]),
        ("{kind: Csv, schema: [id INT, ID INT]}", ["m.yaml:9:42: column ID is declared twice, also as id"]),
        ("{kind: Csv, schema: [id INT, id INT]}", ["m.yaml:9:42: column id is declared twice"]),
        ("{kind: Csv, schema: [day DATE, rate DECIMAL(8,2), a INT]}", ['m.yaml:9:58: a comma splits the items of a list in [...] (quote the column: "rate DECIMAL(8, 2)", or write one column per line)']),
        ("{kind: Json, schema: [s STRUCT<a INT, b INT, c INT>]}", ['m.yaml:9:49: a comma splits the items of a list in [...] (quote the column: "s STRUCT<a INT, b INT, c INT>", or write one column per line)']),
        ("{kind: Csv, schema: []}", ["m.yaml:9:25: the schema has no columns (leave it out)"]),
        ("{kind: Csv, schema: {fields: []}}", ["m.yaml:9:25: the schema has no columns (leave it out)"]),
        (
            "{kind: Csv, schema: {fields: [{name: a, type: Duration}]}}",
            ["m.yaml:9:59: column a: the type Duration has no counterpart in Spark"],
        ),
        ("{kind: Csv, quote: ab, escape: cd}", ["m.yaml:9:32: `quote` must be a single character", "m.yaml:9:44: `escape` must be a single character"]),
        ("{kind: Csv, separator: '||'}", ["m.yaml:9:36: `separator` must be a single character"]),
        ('{kind: Csv, separator: "\\n"}', ["m.yaml:9:36: `separator` cannot be a line end or NUL"]),
        ("{kind: Csv, separator: ';', quote: ';'}", ["m.yaml:9:36: `separator` is also the quote or the escape character (choose another)"]),
        ("{kind: Csv, separator: '\\t', quote: '', escape: ''}", []),
        ("{kind: Csv, encoding: rot13}", ["m.yaml:9:35: unknown encoding 'rot13' (such as utf-8, latin1, windows-1252)"]),
        ("{kind: NdJson, encoding: windows-31j}", []),
        ("{kind: Csv, schema: [a INT, b ARRAY<INT>]}", ["m.yaml:9:41: column b: ARRAY<INT> cannot be read from Csv (declare STRING, and use from_json in preprocess)"]),
        ("{kind: Json, schema: ['a ARRAY<MAP<INT, INT>>']}", ["m.yaml:9:35: column a has a map, which datasets do not support (select in preprocess, in Spark SQL: `to_json(a) AS a`)", "m.yaml:9:35: column a: keys of a MAP are STRING in JSON"]),
        ("{kind: Json, schema: ['a MAP<STRING, MAP<STRING, INT>>']}", ["m.yaml:9:35: column a has a map, which datasets do not support (select in preprocess, in Spark SQL: `to_json(a) AS a`)"]),
        ("{kind: Parquet, schema: ['a STRUCT<`MAP<`: ARRAY<INT>, b: STRUCT<c: INT>>']}", []),
        ("{kind: Parquet, schema: ['a STRUCT<b: ARRAY<ARRAY<STRUCT<c: INT>>>>']}", ["m.yaml:9:38: column a has a list of structs, which datasets do not support (select in preprocess, in Spark SQL: `to_json(a) AS a`)"]),
        ("{kind: Json, schema: ['a ARRAY<STRUCT<c: INT>>']}", ["m.yaml:9:35: column a has a list of structs, which datasets do not support (select in preprocess, in Spark SQL: `to_json(a) AS a`, or one row for each: `inline(a)`)"]),
        ("{kind: Csv, quote: '', separator: ''}", ["m.yaml:9:47: `separator` is empty"]),
        ("{kind: Csv, encoding: utf-9}", ["m.yaml:9:35: unknown encoding 'utf-9' (such as utf-8, latin1, windows-1252)"]),
        ("{kind: Csv, dateFormat: '%Q'}", ["m.yaml:9:37: %Q has no counterpart in Java's patterns"]),
        ("{kind: Csv, timestampFormat: '%Y-%m-%d', encoding: utf8}", []),
        ("{kind: GeoJson, schema: [id INT, 'Geometry STRUCT<x: INT>']}", ["m.yaml:9:46: column Geometry is the text of a GeoJSON geometry (declare it STRING)"]),
        ("{kind: NdGeoJson, schema: [geometry BINARY]}", ["m.yaml:9:40: column geometry is the text of a GeoJSON geometry (declare it STRING)"]),
        ("{kind: EsriShapefile, schema: [geometry TEXT NOT NULL], subPath: ''}", ["m.yaml:9:78: `subPath` is empty (remove it if the archive has only one shapefile)"]),
        ("{kind: Csv, schema: [geometry INT]}", []),
    ],
)  # fmt: skip
def test_rules(outcome: Callable[..., Any], read: str, problems: list[str]) -> None:
    assert outcome(MANIFEST % read).problems == problems


def test_widened_types_are_warned_of(outcome: Callable[..., Any]) -> None:
    assert outcome(MANIFEST % "{kind: Csv, schema: [id INT UNSIGNED]}").warnings == [
        "m.yaml:9:34: column id: INT UNSIGNED is stored as BIGINT: Spark has no unsigned integers"
    ]
