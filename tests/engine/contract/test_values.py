"""Every type, format and clause about values, compared with the oracle in plain Python."""

from __future__ import annotations

import json
import random
import re
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.contract.report import document
from airflow_provider_odf.contract.sources import of_data
from airflow_provider_odf.engine.contract import json_types, numbers, sources

from . import oracle

pytestmark = pytest.mark.spark

HEAD = "dataContractSpecification: 1.2.1\nid: urn:t\ninfo: {title: T, version: 1.0.0}\nmodels:\n"
LENGTH = 40
_NUMERIC = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "precision", "scale")


def as_yaml(clauses: dict[str, Any]) -> str:
    """Return clauses in a line of YAML, with numbers as they are written."""
    texts = {k: v if k in _NUMERIC else json.dumps(v, ensure_ascii=False) for k, v in clauses.items()}
    return "{" + ", ".join(f"{k}: {v}" for k, v in texts.items()) + "}"


def as_json(value: Any) -> str:
    return value.text if isinstance(value, oracle.Number) else json.dumps(value, ensure_ascii=False)


def as_text(value: Any) -> str | None:
    if isinstance(value, oracle.Number):
        return value.text
    return value if value is None or isinstance(value, str) else str(value).lower()


def rows_of(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [{name: of[i] for name, of in columns.items()} for i in range(LENGTH)]


def written(path: Path, kind: str, columns: dict[str, list[Any]]) -> Path:
    """Write rows as a file of a format. A null is left out, or written as null."""
    file = path / f"t.{kind}"
    if kind == "csv":
        lines = [",".join(columns)]
        for row in rows_of(columns):
            texts = (as_text(value) for value in row.values())
            lines.append(",".join("" if t is None else '"' + t.replace('"', '""') + '"' for t in texts))
        file.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
        return file
    objects = [
        "{" + ", ".join(f"{json.dumps(k)}: {as_json(v)}" for k, v in row.items() if v is not None or i % 2) + "}"
        for i, row in enumerate(rows_of(columns))
    ]
    lines_of = "\n".join(objects) if kind == "ndjson" else "[" + ",\n".join(objects) + "]"
    file.write_text(lines_of, encoding="utf-8")
    return file


def test_order_keys_are_those_of_the_numbers(spark):
    r = random.Random(5)
    digits = lambda most: "".join(r.choice("0012345678999") for _ in range(r.randrange(most)))  # noqa: E731
    texts = [
        r.choice(["", "", "-", "+"]) + digits(25) + r.choice(["", "."]) + digits(25) + r.choice(["", "", "e-", "E3"])
        + digits(3)
        for _ in range(3000)
    ]  # fmt: skip
    texts += ["0", "-0", "0.0", "00.10", "1e-99999999", "-0.05", ".5", "5.", "7 ", " 7", "1d", "\u0661", "1\n"]
    frame = spark.createDataFrame([(t,) for t in texts], "t STRING")
    columns = (numbers.order_key("t"), numbers.as_bigint("t"), numbers.places("k"), numbers.digits("k"))
    rows = frame.selectExpr("t", f"{columns[0]} AS k").selectExpr("t", "k", *columns[1:]).collect()
    compared = 0
    for t, key, bigint, places, digits_of in rows:
        number = Decimal(t) if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,8})?", t) else None
        assert key == (None if number is None else numbers.key_of(number)), t
        if number is None:
            assert bigint is None, t
            continue
        compared += 1
        before, after = oracle.figures(number)
        assert (places, digits_of) == (after, before + after), t
        is_bigint = after == 0 and -(2**63) <= number < 2**63
        assert bigint == (int(number) if is_bigint else None), t
    assert compared > 1500


def test_items_and_fields_of_mixed_json(spark, tmp_path: Path):
    rows = [
        '{"tags": ["a", "b", "a"], "nums": [1, 1.0], "o": {"p": "x", "q": 1}}',
        '{"tags": ["a", 1, "1"], "nums": [1, 2], "o": {"p": null, "q": "1"}}',
        '{"tags": ["a", null], "nums": [0.1, "0.1"], "o": {"q": 2}}',
        '{"tags": null, "nums": [], "o": null}',
    ]
    (tmp_path / "t.ndjson").write_text("\n".join(rows))
    contract = """{apiVersion: v3.0.2, kind: DataContract, id: t, version: 1.0.0, status: active, schema: [{name: t,
      properties: [
        {name: tags, logicalType: array, logicalTypeOptions: {uniqueItems: true}, items: {logicalType: string}},
        {name: nums, logicalType: array, logicalTypeOptions: {uniqueItems: true}, items: {logicalType: number}},
        {name: o, logicalType: object, logicalTypeOptions: {required: [p]}, properties: [
          {name: p, logicalType: string, required: true}, {name: q, logicalType: integer}]}]}]}"""
    got = judged(spark, contract, tmp_path / "t.ndjson")
    failed = {
        path.removeprefix("/schema/0/properties/"): n for path, (outcome, n, _) in got.items() if outcome != "pass"
    }
    assert failed == {
        "0/logicalTypeOptions/uniqueItems": 1,
        "0/items/logicalType": 1,
        "1/logicalTypeOptions/uniqueItems": 1,
        "1/items/logicalType": 1,
        "2/logicalTypeOptions/required": 2,
        "2/properties/0/required": 2,
        "2/properties/1/logicalType": 1,
    }


def test_nulls_and_empty_values_of_json_have_the_declared_shape(spark, tmp_path: Path):
    contract = (
        HEAD
        + """  t:
    fields:
      items: {type: array, items: {type: object, fields: {p: {type: string}, q: {type: array, items: {type: int}}}}}
      empty: {type: array, items: {type: object, fields: {p: {type: string, required: true}}}}
      grid: {type: array, items: {type: array, items: {type: int, maximum: 3}}}
      place: {type: object, fields: {p: {type: string, minLength: 2}, tags: {type: map, values: {type: number}}}}
      any: {type: object}
      names: {type: map, keys: {pattern: ^k}, values: {type: object, fields: {x: {type: int, minimum: 1}}}}
      codes: {type: map, values: {type: array, items: {type: number}}}
"""
    )
    nulls = '{"Items": null, "empty": null, "grid": null, "place": null, "any": null, "names": null, "codes": null}'
    empty = '{"Items": [], "empty": [null], "grid": [[]], "place": {}, "any": {}, "names": {}, "codes": {"a": []}}'
    inner = (
        '{"Items": [{"p": null, "q": null}], "empty": [{}], "place": {"p": "xx", "tags": {}}, '
        '"names": {"k": null, "j": {}}, "codes": {"a": [], "b": null}}'
    )
    wrong = '{"Items": {}, "empty": [[]], "grid": {}, "place": [], "any": [], "names": [], "codes": {"a": {}}}'
    failed = {}
    for name, rows in {"none": [], "nulls": [nulls], "empty": [nulls, empty, inner], "wrong": [wrong]}.items():
        (tmp_path / "t.ndjson").write_text("\n".join(rows))
        got = judged(spark, contract, tmp_path / "t.ndjson")
        paths = (path for path, (outcome, *_) in got.items() if outcome != "pass")
        failed[name] = [path.removeprefix("/models/t/fields/") for path in paths]
    assert failed["none"] == failed["nulls"] == []
    assert failed["empty"] == ["empty/items/fields/p/required", "names/keys/pattern"]
    assert [path for path in failed["wrong"] if path.count("/") < 3 and path.endswith("type")] == [
        "items/type", "items/items/type", "empty/items/type", "grid/type", "grid/items/type", "place/type", "any/type",
        "names/type", "names/values/type", "codes/values/type",
    ]  # fmt: skip


def test_maps_of_json_with_many_keys_are_read_in_linear_time(spark):
    """The types of 4000 values, with a map of other keys in each, took 15 seconds."""
    inner = (f"z{i}: ARRAY<{kind}>" for i, kind in enumerate(["BIGINT", "DOUBLE", "VOID", "STRING"] * 1000))
    keys = ", ".join(f"k{i}: STRUCT<x: {'BIGINT' if i else 'DOUBLE'}, y: STRUCT<{one}>>" for i, one in enumerate(inner))
    inferred = T.StructType().add("m", T.DataType.fromDDL(f"STRUCT<{keys}>"))
    types = {"m": "map", "m{value}": "object", "m{value}.x": "int", "m{value}.y": "map", "m{value}.y{value}": "array"}
    begin = time.process_time()
    fitting = json_types.to_read(inferred, json_types.Shapes.of_fields(types, types))
    assert time.process_time() - begin < 5
    assert fitting.schema.simpleString() == "struct<m:map<string,struct<x:string,y:map<string,array<string>>>>>"
    assert fitting.kinds == {"m{value}.x": "number"}


def judged(spark, contract: str, file: Path) -> dict[str, tuple[str, int | None, str]]:
    loaded = parse(contract, "c.yaml")
    found = of_data(loaded, ["t"], str(file), None)
    report = document(sources.test(spark.newSession(), compile_models(loaded, ["t"]), found, None))
    return {c["path"]: (c["outcome"], c["failedRows"], c["reason"]) for c in report["checks"]}


def compare(spark, path: Path, seed: int, kind: str, types: tuple[str, ...] = oracle.TYPES) -> int:
    """Compare all clauses of a random contract with the oracle, and return their number."""
    r = random.Random(f"{seed}/{kind}")
    fields = {f"f_{t}": oracle.clauses(r, t) for t in types}
    columns = {"id": [oracle.Number(str(i)) for i in range(LENGTH)]}
    columns |= {name: oracle.values(r, c["type"], LENGTH) for name, c in fields.items()}
    is_csv = kind == "csv"
    if is_csv:
        columns = {name: [as_text(value) for value in of] for name, of in columns.items()}
    contract = f"{HEAD}  t:\n    fields:\n" + "".join(f"      {n}: {as_yaml(c)}\n" for n, c in fields.items())
    got = judged(spark, contract, written(path, kind, columns))
    wrong, compared = [], 0
    for name, clauses in fields.items():
        for clause, limit in clauses.items():
            want = oracle.failed(clauses["type"], clause, limit, columns[name], is_csv)
            outcome, failed, reason = got[f"/models/t/fields/{name}/{clause}"]
            compared += 1
            if (outcome, failed or 0) != ("fail" if want else "pass", want):
                wrong.append((name, clause, limit, f"want {want}", outcome, failed, reason[:200]))
    assert not wrong, "\n".join(map(str, wrong))
    return compared


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_values_are_judged_as_by_the_oracle(spark, tmp_path: Path, kind: str):
    assert compare(spark, tmp_path, 1, kind, ("decimal", "int", "date", "bytes")) > 10


@pytest.mark.torture
@pytest.mark.parametrize("kind", ["csv", "json", "ndjson"])
@pytest.mark.parametrize("seed", range(2, 12))
def test_more_values(spark, tmp_path: Path, kind: str, seed: int):
    compare(spark, tmp_path, seed, kind)
