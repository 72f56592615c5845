"""Functions and operators of JSON, as the reference has them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from airflow_provider_odf.datafusion import json_functions
from airflow_provider_odf.datafusion.json_operators import as_functions
from airflow_provider_odf.datafusion.query_text import QueryProblem


@pytest.mark.parametrize(
    ("expression", "type_", "values"),
    [
        ("j ->> 'c'", pa.string(), ["true", None, None, None]),
        ("j -> 'a' -> 'b' ->> 1", pa.string(), ["x", None, None, None]),
        ("j ->> 'a'", pa.string(), ['{"b": [1, "x", 2.5]}', None, None, None]),
        ("j ->> 1", pa.string(), [None, "20", None, None]),
        ("cast(j->'a'->'b'->2 as double)", pa.float64(), [2.5, None, None, None]),
        ("(j->'a'->'b'->0)::int", pa.int64(), [1, None, None, None]),
        ("json_get(j, 'c')::boolean", pa.bool_(), [True, None, None, None]),
        ("CAST(json_get(j, 'a', 'b', 1) AS VARCHAR)", pa.string(), ["x", None, None, None]),
        ("(j ->> 'c') = 'true'", pa.bool_(), [True, None, None, None]),
        ("case when json_contains(j, 'c') then upper(j->>'c') else '-' end", pa.string(), ["TRUE", "-", "-", "-"]),
        ("json_get_str(j, 'a', 'b', 1)", pa.string(), ["x", None, None, None]),
        ("json_get_int(j, 0)", pa.int64(), [None, 10, None, None]),
        ("json_get_json(j, 'a')", pa.string(), ['{"b": [1, "x", 2.5]}', None, None, None]),
        ("json_get_array(j, 'a', 'b')", pa.list_(pa.string()), [["1", '"x"', "2.5"], None, None, None]),
        ("json_object_keys(j)", pa.list_(pa.string()), [["a", "c"], None, None, None]),
        ("json_length(j)", pa.int64(), [2, 2, None, None]),
        ("json_contains(j, 'a', 'b')", pa.bool_(), [True, False, False, False]),
        ("'-> ' || \"j\"", pa.string(), ['-> {"a": {"b": [1, "x", 2.5]}, "c": true}', "-> [10, 20]", "-> {", None]),
    ],
)
def test_values(run: Callable[..., pa.Table], expression: str, type_: pa.DataType, values: list[Any]) -> None:
    column = run(f"select {expression} as x from input -- j -> 'a'")["x"]
    assert (column.type, column.to_pylist()) == (type_, values)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select id,\n  j -> 'a' as x from input", "query 1, 2:3: the type of a JSON value is not known (cast"),
        ("select j ->> 'a' = 'x' as x from input", "query 1, 1:10: ->> next to another operator is ambiguous"),
        ("select id from input where j ->> 'a' is null", "query 1, 1:30: ->> next to another operator"),
        ("select 'x' || j ->> 'a' as x from input", "query 1, 1:17: ->> next to another operator"),
        ("select j ->> s as x from input", "query 1, 1:10: the key must be a literal"),
        ("select json_get_str(j, s) as x from input", "query 1, 1:24: the key must be a literal"),
        ("select json_get_str(j, -1) as x from input", "query 1, 1:8: the path after json_get_str must consist of lit"),
        ("select (j -> 'a')::date as x from input", "query 1, 1:8: a JSON value cannot be cast to this type"),
        ("select (j -> 'a')::int + json_get(j, 'b') as x from input", "query 1, 1:26: the type of a JSON value"),
        (
            "select id,\n odf_json_get_str(j, 'a') as x from input",
            "query 1, 2:2: odf_json_get_str is an internal name (call json_get_str)",
        ),
        ('select "ODF_json_len" (j, s) as x from input', "query 1, 1:8: odf_json_len is an internal name (call"),
    ],
)  # fmt: skip
def test_refused_with_its_place(query: str, message: str) -> None:
    with pytest.raises(QueryProblem) as refused:
        as_functions(query, 1)
    assert str(refused.value).startswith(message)


def test_a_result_needs_a_name(job: Callable[..., Any]) -> None:
    with pytest.raises(QueryProblem, match=r"the result of a JSON function has no name \(name it with AS\)"):
        job("select j ->> 'a' from input")


@pytest.mark.parametrize(
    ("name", "text", "path", "value"),
    [
        ("json_get_int", '{"a": 1, broken', ["a"], 1),
        ("json_get_int", '{"a": 1, "a": 2}', ["a"], 1),
        ("json_get_int", '{"b": [1, {"c": "}"}], "a": -2}', ["a"], -2),
        ("json_get_int", '{"a": 1.5}', ["a"], None),
        ("json_get_int", '{"a": 9223372036854775808}', ["a"], None),
        ("json_get_int", '{"a": true}', ["a"], None),
        ("json_get_float", '{"a": 1}', ["a"], 1.0),
        ("json_get_float", '{"a": NaN}', ["a"], None),
        ("json_get_float", '{"a": "1"}', ["a"], None),
        ("json_get_bool", '{"a": "true"}', ["a"], True),
        ("json_get_bool", '{"a": 1}', ["a"], None),
        ("json_get_str", '{"a": "\\u0041\\n"}', ["a"], "A\n"),
        ("json_get_str", '{"a": 1}', ["a"], None),
        ("json_as_text", '{"a": null}', ["a"], None),
        ("json_as_text", '{"a": 1.50}', ["a"], "1.50"),
        ("json_as_text", ' [ [ ] , {"x" : 1 } ]', [1], '{"x" : 1 }'),
        ("json_get_json", '{"a": "x"}', ["a"], '"x"'),
        ("json_length", '{"a": {}}', ["a"], 0),
        ("json_length", '"abc"', [], None),
        ("json_object_keys", "[]", [], None),
        ("json_get_str", '["a"]', ["0"], None),
        ("json_get_str", "", [], None),
    ],
)
def test_values_of_texts(name: str, text: str, path: list[json_functions.Step], value: Any) -> None:
    read, type_ = json_functions.FUNCTIONS[name]
    call = json_functions._over_rows(read, type_, None)
    assert call(pa.array([text]), pa.array([json.dumps(path)])).to_pylist() == [value]
