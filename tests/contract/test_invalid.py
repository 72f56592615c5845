"""What cannot be read in a contract is the outcome of its clause: all other clauses stay as they are."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import yaml

from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import ContractFile, parse
from airflow_provider_odf.contract.model import pointer
from airflow_provider_odf.errors import ManifestInvalid
from airflow_provider_odf.protocol import Check

DCS = """
dataContractSpecification: 1.2.1
id: urn:t
info: {title: T, version: 1.0.0, status: active, owner: me, contact: {name: x}}
terms: {usage: any}
models:
  t:
    type: table
    title: T
    additionalFields: false
    primaryKey: [a]
    fields:
      a: {type: long, required: true, unique: true, minimum: 2, primaryKey: true, title: A, tags: [x]}
      b: {type: string, maxLength: 3, enum: [x, y], pattern: ^x, pii: true, classification: secret, primaryKey: true}
      c:
        type: array
        items: {type: record, fields: {d: {type: date, required: true}, e: {type: double, maximum: 1.5}}}
      f: {$ref: '#/definitions/f', required: true, config: {databricksType: STRING}}
      at: {type: timestamp, quality: [{type: library, metric: nullValues, mustBe: 0}]}
      m: {type: map, keys: {type: string}, values: {type: int, minimum: 1}}
    quality:
      - {type: sql, query: SELECT count(*) FROM t, mustBe: 4}
      - {type: library, metric: rowCount, mustBe: 4, severity: warning}
  u:
    fields: {x: {type: long, references: t.a}}
definitions:
  f: {type: string, minLength: 1, format: uuid}
servicelevels:
  freshness: {threshold: 1h, timestampField: t.at}
  frequency: {interval: daily}
tags: [a]
"""
ODCS = """
apiVersion: v3.1.0
kind: DataContract
id: urn:t
version: 1.0.0
status: active
name: T
description: {purpose: x}
servers: [{server: s, type: local, path: x}]
schema:
  - name: t
    physicalType: table
    tags: [x]
    properties:
      - {name: a, logicalType: integer, required: true, unique: true, primaryKey: true, primaryKeyPosition: 1,
         logicalTypeOptions: {minimum: 2, multipleOf: 2}}
      - {name: b, physicalName: bb, logicalType: string, classification: restricted, primaryKey: true,
         primaryKeyPosition: 2, logicalTypeOptions: {maxLength: 3, pattern: ^x}}
      - name: c
        logicalType: object
        properties: [{name: d, logicalType: date, required: true}, {name: e, physicalType: double}]
      - {name: l, logicalType: array, items: {logicalType: number, logicalTypeOptions: {maximum: 4}}}
      - {name: at, logicalType: timestamp, quality: [{metric: nullValues, mustBe: 0}]}
    quality:
      - {type: sql, query: SELECT count(*) FROM t, mustBe: 4}
      - {metric: rowCount, mustBe: 4, severity: warning}
  - name: u
    properties: [{name: x, logicalType: integer, relationships: [{to: t.a}]}]
slaProperties:
  - {property: freshness, value: 1, unit: h, element: t.at}
  - {property: frequency, value: 1, unit: d}
"""


def read(value: Any) -> ContractFile:
    return parse(yaml.safe_dump(value, sort_keys=False), "c.yaml")


def checks(file: ContractFile) -> dict[str, Check]:
    """The checks by path. Lines and marks of sensitive fields do not count."""
    compiled = compile_models(file, [model.name for model in file.contract.models]).checks
    return {check.path: replace(check, line=0, is_sensitive=False) for check in compiled}


def paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([path] if path else []), *(inner for key, child in entries for inner in paths(child, (*path, key)))]


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


_WRONG: list[Any] = [5, 1.5, True, "text", [], [[1]], [5], {}, {"z": 1}, None]
_ROOT = ("dataContractSpecification", "apiVersion", "kind", "models", "schema")
"""Without these, a document is no contract."""


_OPEN = ("models", "fields", "definitions", "servicelevels", "slaProperties", "quality")
"""Mappings in which every key is a name, and rules with keys of their own."""


def _break(chance: random.Random, value: Any) -> tuple[str | int, ...]:
    """Break one value, and return its path."""
    path = chance.choice([p for p in paths(value) if p[0] not in _ROOT or len(p) > 2])
    parent = at(value, path[:-1])
    fault = chance.choice(["wrong", "wrong", "missing", "unknown"])
    if fault == "unknown" and isinstance(parent, dict) and not {*path[-3:-1]} & {*_OPEN}:
        path = (*path[:-1], "xUnknown")
        parent["xUnknown"] = chance.choice(_WRONG)
    elif fault == "missing" and isinstance(parent, dict):
        del parent[path[-1]]
    else:
        parent[path[-1]] = chance.choice(_WRONG)
    return path


def _owner(path: tuple[str | int, ...]) -> str:
    """Return the pointer of the field, rule or section around a value, whose clauses may need the value."""
    if path[0] == "definitions":
        return "/models/t/fields/f"
    ends = [index for index, step in enumerate(path) if step in ("fields", "properties", "quality", "schema", "models")]
    return pointer(*path[: ends[-1] + 2] if ends else path[:2])


def break_at_random(seed: int, text: str, before: dict[str, Check]) -> None:
    chance = random.Random(seed)
    value = yaml.safe_load(text)
    path = _break(chance, value)
    file = read(value)
    after = checks(file)
    is_unknown = path[-1] == "xUnknown"
    if not file.problems and not is_unknown:
        return  # the contract is still valid, and says something else
    errors = {check.path for check in after.values() if check.outcome == "error"}
    assert bool(errors) != is_unknown
    owner = _owner(path)
    for clause, check in before.items():
        if f"{clause}/".startswith(f"{owner}/") and not is_unknown:
            assert after.get(clause, check).outcome == "error" or after.get(clause, check) == check or clause == owner
        elif clause not in errors and not (owner.startswith("/schema") and clause.startswith("/slaProperties")):
            assert after.get(clause) == check, (path, clause)


def break_all(seeds: range, text: str) -> None:
    before = checks(read(yaml.safe_load(text)))
    for seed in seeds:
        break_at_random(seed, text, before)


def test_several_wrong_items_of_a_list_break_its_clause_alone():
    text = DCS.replace("enum: [x, y]", "enum: [x, null, [1], ~]")
    after = checks(parse(text, "c.yaml"))
    assert [clause for clause, check in checks(parse(DCS, "c.yaml")).items() if after[clause] != check] == [
        "/models/t/fields/b/enum"
    ]
    assert after["/models/t/fields/b/enum"].reason == (
        "c.yaml:14:49: models.t.fields.b.enum.1: None is not a single value; "
        "c.yaml:14:55: models.t.fields.b.enum.2: [1] is not a single value; "
        "c.yaml:14:60: models.t.fields.b.enum.3: None is not a single value"
    )


@pytest.mark.parametrize(
    ("place", "number", "message"),
    [
        ("maxLength: 3", "1e999999999", "c.yaml:14:36: not a value of float: the exponent is not between -400 and 400"),
        (
            "maxLength: 3",
            "1e" + "9" * 20,
            "c.yaml:14:36: not a value of float: the exponent is not between -400 and 400",
        ),
        ("1.2.1", "1.2." + "9" * 5000, "c.yaml:2:28: version 1.2.99"),
        ("maxLength: 3", "9" * 5000, "c.yaml:14:36: not a value of int: Exceeds the limit"),
    ],
)
def test_numbers_that_would_take_all_memory_or_time(place: str, number: str, message: str):
    text = DCS.replace(place, number if place == "1.2.1" else f"maxLength: {number}")
    with pytest.raises(ManifestInvalid) as invalid:
        parse(text, "c.yaml")
    assert str(invalid.value).startswith(message)


def test_zero_has_any_exponent():
    zero = check_of("maxLength: 0e500")
    assert zero == check_of("maxLength: 0.0")


def check_of(limit: str) -> object:
    return [check for clause, check in checks(parse(DCS.replace("maxLength: 3", limit), "c.yaml")).items()]


@pytest.mark.parametrize("text", [DCS, ODCS], ids=["dcs", "odcs"])
def test_some_broken_values(text: str):
    break_all(range(40), text)


@pytest.mark.torture
@pytest.mark.parametrize("text", [DCS, ODCS], ids=["dcs", "odcs"])
def test_broken_values(text: str):
    break_all(range(1000, 1400), text)
