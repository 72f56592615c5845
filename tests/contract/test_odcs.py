from __future__ import annotations

from textwrap import dedent, indent
from typing import Any

import pytest

from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import ContractFile, parse
from airflow_provider_odf.protocol import Check

_SEVERAL = (
    "a relationship of a property must refer to exactly one property: move a relationship between several properties "
    "to the table"
)

HEAD = """\
apiVersion: v3.2.0
kind: DataContract
id: urn:orders
name: Orders
version: 1.2.0
status: active
"""


def contract(body: str, version: str = "v3.2.0") -> ContractFile:
    return parse(HEAD.replace("v3.2.0", version) + dedent(body), "c.yaml")


def checks(body: str, version: str = "v3.2.0") -> list[Check]:
    file = contract(body, version)
    return [*compile_models(file, [model.name for model in file.contract.models]).checks]


def rows(body: str, version: str = "v3.2.0") -> list[tuple[str, int, str, Any]]:
    """Path, line, kind and argument of the checks of the first property's clauses."""
    start = "/schema/0/properties/0"
    return [
        (c.path.removeprefix(start), c.line, c.kind, next(iter(c.arguments.values()), None))
        for c in checks(body, version)
        if c.path.startswith(f"{start}/")
    ]


def one_property(text: str) -> str:
    return "schema:\n- name: t\n  properties:\n  - name: f\n" + indent(dedent(text).strip(), "    ") + "\n"


def test_a_contract():
    file = contract("""\
        schema:
        - name: orders
          physicalName: ORDERS_V2
          properties:
          - {name: id, physicalName: order_id, logicalType: string, primaryKey: true, required: true, unique: true}
        servers:
        - {server: production, type: local, path: orders.csv, format: csv}
        """)
    c = file.contract
    assert (c.specification, c.id, c.title, c.version, c.status) == (
        "Open Data Contract Standard v3.2.0",
        "urn:orders",
        "Orders",
        "1.2.0",
        "active",
    )
    (model,) = c.models
    (field,) = model.fields
    assert (model.name, model.path, model.place.line, field.name, field.type) == (
        "orders",
        "/schema/0",
        8,
        "order_id",
        "string",
    )
    assert [(clause.name, clause.value, clause.path) for clause in field.clauses] == [
        ("type", "string", "/schema/0/properties/0/logicalType"),
        ("primaryKey", True, "/schema/0/properties/0/primaryKey"),
        ("required", True, "/schema/0/properties/0/required"),
        ("unique", True, "/schema/0/properties/0/unique"),
    ]
    assert [(server.name, server.path) for server in c.servers] == [("production", "/servers/0")]


def test_options_of_a_string():
    text = one_property("""
        logicalType: string
        physicalType: varchar(18)
        logicalTypeOptions: {minLength: 1, maxLength: 9, pattern: '^a', format: email}
        enum: [{value: a, label: A}, {value: b}]
        classification: restricted
        """)
    assert rows(text) == [
        ("/logicalType", 11, "field_type", "string"),
        ("/physicalType", 12, "not_tested", None),
        ("/logicalTypeOptions/minLength", 13, "min_length", 1),
        ("/logicalTypeOptions/maxLength", 13, "max_length", 9),
        ("/logicalTypeOptions/pattern", 13, "pattern", "^a"),
        ("/logicalTypeOptions/format", 13, "format", "email"),
        ("/enum", 14, "enum", ["a", "b"]),
    ]
    assert all(check.is_sensitive for check in checks(text)[1:])


@pytest.mark.parametrize(
    ("version", "options", "expected"),
    [
        (
            "v3.1.0",
            "{minimum: 0, exclusiveMaximum: 10, multipleOf: 2, format: i32}",
            [("minimum", "minimum", 0), ("exclusiveMaximum", "exclusive_maximum", 10), ("multipleOf", "multiple_of", 2),
             ("format", "range", (-2147483648, 2147483647))],
        ),
        (
            "v3.0.2",
            "{minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false}",
            [("minimum", "minimum", 0), ("exclusiveMinimum", "exclusive_minimum", 0), ("maximum", "maximum", 9)],
        ),
    ],
)  # fmt: skip
def test_options_of_an_integer(version: str, options: str, expected: list[tuple[str, str, Any]]):
    text = one_property(f"\nlogicalType: integer\nlogicalTypeOptions: {options}")
    assert rows(text, version) == [
        ("/logicalType", 11, "field_type", "long"),
        *((f"/logicalTypeOptions/{name}", 12, kind, value) for name, kind, value in expected),
    ]


def test_options_of_times():
    text = one_property("""
        logicalType: timestamp
        logicalTypeOptions: {minimum: '2020-01-01T00:00:00Z', format: yyyy-MM-dd, timezone: true}
        """)
    assert [(c.kind, c.arguments.get("limit"), c.outcome, c.reason) for c in checks(text)[3:]] == [
        ("minimum", "2020-01-01T00:00:00Z", "", ""),
        ("not_tested", None, "informational", "times are read as timestamps, which have no text format"),
        ("not_tested", None, "informational", "timestamps are read in UTC, without their original time zone"),
    ]


def test_nested_properties():
    text = one_property("""
        properties:
        - name: lines
          logicalType: array
          logicalTypeOptions: {minItems: 1, maxItems: 5, uniqueItems: true}
          items:
            logicalType: object
            logicalTypeOptions: {required: [sku]}
            properties: [{name: sku, physicalType: 'VARCHAR(9)'}]
        - name: names
          logicalType: map
          map: {key: {logicalType: string}, value: {logicalType: integer, required: true}}
        - name: vector
          logicalType: vector
          logicalTypeOptions: {dimensions: 3}
        """)
    start = "/schema/0/properties/0/properties"
    assert [(c.path.removeprefix(start), c.kind, c.field) for c in checks(text) if c.path.startswith(start)] == [
        ("/0", "field_present", "f.lines"),
        ("/0/logicalType", "field_type", "f.lines"),
        ("/0/logicalTypeOptions/minItems", "min_items", "f.lines"),
        ("/0/logicalTypeOptions/maxItems", "max_items", "f.lines"),
        ("/0/logicalTypeOptions/uniqueItems", "unique_items", "f.lines"),
        ("/0/items", "field_present", "f.lines[]"),
        ("/0/items/logicalType", "field_type", "f.lines[]"),
        ("/0/items/logicalTypeOptions/required", "required_fields", "f.lines[]"),
        ("/0/items/properties/0", "field_present", "f.lines[].sku"),
        ("/0/items/properties/0/physicalType", "field_type", "f.lines[].sku"),
        ("/1", "field_present", "f.names"),
        ("/1/logicalType", "field_type", "f.names"),
        ("/1/map/key", "field_present", "f.names{key}"),
        ("/1/map/key/logicalType", "field_type", "f.names{key}"),
        ("/1/map/value", "field_present", "f.names{value}"),
        ("/1/map/value/logicalType", "field_type", "f.names{value}"),
        ("/1/map/value/required", "required", "f.names{value}"),
        ("/2", "field_present", "f.vector"),
        ("/2/logicalType", "field_type", "f.vector"),
        ("/2/logicalTypeOptions/dimensions", "items", "f.vector"),
    ]


def test_a_date_can_be_a_time():
    """Version 3.0 had no logical type for times, and contracts kept the habit."""
    text = one_property("\nlogicalType: date\nphysicalType: timestamp")
    assert rows(text, "v3.0.2")[0] == ("/logicalType", 11, "field_type", "timestamp")
    text = one_property("\nlogicalType: date\nphysicalType: date")
    assert rows(text)[0] == ("/logicalType", 11, "field_type", "date")


def test_a_compound_key_is_in_the_order_of_its_positions():
    text = """\
        schema:
        - name: t
          properties:
          - {name: a, primaryKey: true, primaryKeyPosition: 2}
          - {name: b, primaryKey: true, primaryKeyPosition: 1}
        """
    assert [c.columns for c in checks(text) if c.kind == "primary_key"] == [("b", "a"), ("b", "a")]


def test_relationships():
    text = """\
        schema:
        - name: orders
          id: orders_tbl
          relationships:
          - {from: orders.country, to: countries.code}
          - {from: [orders.id, country], to: [lines.order, lines.land]}
          - {from: [id, country], to: [lines.order]}
          - {from: nothing, to: lines.order}
          properties:
          - {name: id, relationships: [{to: schema/lines_tbl/properties/order_prop}, {to: [a.b, a.c]}]}
          - {name: country, physicalName: land}
          - {name: other, relationships: [{to: 'https://example.com/c.yaml#schema/a/properties/b'}]}
        - name: lines
          id: lines_tbl
          properties: [{name: order, id: order_prop, physicalName: order_no}, {name: land}]
        """
    assert [
        (
            c.path,
            c.line,
            c.field,
            c.columns,
            c.arguments.get("target") or c.arguments.get("targets"),
            c.outcome,
            c.reason,
        )
        for c in checks(text)
        if c.kind == "references"
    ] == [
        ("/schema/0/properties/0/relationships/0", 16, "id", (), "lines.order_no", "", ""),
        (
            "/schema/0/properties/0/relationships/1",
            16,
            "id",
            (),
            {"problem": _SEVERAL},
            "error",
            _SEVERAL,
        ),
        ("/schema/0/relationships/0", 11, "land", (), "countries.code", "", ""),
        (
            "/schema/0/properties/2/relationships/0",
            18,
            "other",
            (),
            "https://example.com/c.yaml#schema/a/properties/b",
            "unsupported",
            "the reference points to another contract",
        ),
        ("/schema/0/relationships/1", 12, None, ("id", "land"), ["lines.order_no", "lines.land"], "", ""),
        (
            "/schema/0/relationships/2",
            13,
            None,
            (),
            None,
            "error",
            "`from` has 2 columns and `to` has 1: list the same number of columns in both",
        ),
        ("/schema/0/relationships/3", 14, None, (), None, "error", "orders has no property nothing"),
    ]


def test_quality_rules_keep_their_keys():
    text = """\
        schema:
        - name: t
          quality: [{metric: rowCount, mustBeGreaterThan: 5}]
          properties:
          - name: f
            quality:
            - {type: library, rule: nullCheck, mustBe: 0, severity: warning}
            - {type: custom, engine: soda, implementation: 'type: row_count'}
        """
    (model,) = contract(text, "v3.0.2").contract.models
    assert [(rule.path, rule.value) for rule in (*model.quality, *model.fields[0].quality)] == [
        ("/schema/0/quality/0", {"type": "library", "metric": "rowCount", "mustBeGreaterThan": 5}),
        (
            "/schema/0/properties/0/quality/0",
            {"type": "library", "rule": "nullCheck", "mustBe": 0, "severity": "warning"},
        ),
        (
            "/schema/0/properties/0/quality/1",
            {"type": "custom", "engine": "soda", "implementation": "type: row_count"},
        ),
    ]


def test_service_levels_have_the_names_of_the_other_specification():
    text = """\
        slaDefaultElement: orders.at
        schema: [{name: orders, properties: [{name: at, physicalName: ordered_at}]}]
        slaProperties:
        - {property: freshness, value: 4, unit: h, element: orders.at}
        - {property: retention, value: 3, unit: y}
        - {property: availability, value: 99.9}
        - {property: frequency, value: P1D}
        - {property: endOfLife, value: '2042-05-12T09:30:10-08:00'}
        - {property: freshness, value: PT1H, element: elsewhere.at}
        """
    levels = contract(text).contract.service_levels
    assert [(level.name, level.path) for level in levels] == [
        ("freshness", "/slaProperties/0"),
        ("retention", "/slaProperties/1"),
        ("availability", "/slaProperties/2"),
        ("frequency", "/slaProperties/3"),
        ("endOfLife", "/slaProperties/4"),
        ("freshness", "/slaProperties/5"),
    ]
    extra = [
        {k: v for k, v in level.value.items() if k not in ("property", "value", "unit", "element")} for level in levels
    ]
    assert extra == [
        {"threshold": "4h", "timestampField": "orders.ordered_at"},
        {"period": "3y", "timestampField": "orders.ordered_at"},
        {"percentage": "99.9%"},
        {"interval": "P1D"},
        {},
        {"threshold": "PT1H"},
    ]


def test_physical_types_count_on_databricks():
    text = one_property("\nlogicalType: number\nphysicalType: decimal(5,2)")
    text += "servers: [{server: s, type: databricks}]"
    assert rows(text)[1] == ("/physicalType", 12, "physical_type", "decimal(5,2)")


def test_measures_are_not_columns():
    text = one_property("\nlogicalType: number\nsemanticType: measure")
    assert {(c.outcome, c.reason) for c in checks(text)[1:]} == {("informational", "a measure is computed, not stored")}


def test_problems_have_places():
    text = HEAD + dedent("""\
        schema:
        - name: t
          properties:
          - {name: f, logicalType: text, required: 'yes'}
          - {logicalType: string}
          - {name: g, requierd: true, logicalTypeOptions: {minLenght: 4}}
        """)
    assert [str(p) for p in parse(text, "c.yaml").problems] == [
        "c.yaml:10:28: schema.0.properties.0.logicalType: unknown type 'text': use one of array, boolean, date, "
        "integer, map, number, object, string, time, timestamp, vector",
        "c.yaml:10:44: schema.0.properties.0.required: must be a boolean",
        "c.yaml:11:5: schema.0.properties.1.name is missing",
    ]
    text = text.replace("text", "string").replace("'yes'", "true").replace("{logicalType: string}", "{name: h}")
    assert [str(p) for p in parse(text, "c.yaml").unknown] == [
        "c.yaml:12:15: schema.0.properties.2: unknown key 'requierd' (did you mean 'required'?)",
        "c.yaml:12:52: schema.0.properties.2.logicalTypeOptions: unknown key 'minLenght' (did you mean 'minLength'?)",
    ]


def test_a_foreign_key_with_a_sensitive_column_is_sensitive() -> None:
    text = """\
        schema:
        - name: orders
          relationships: [{from: [id, person], to: [people.order, people.id]}]
          properties: [{name: id}, {name: person, classification: confidential}]
        - name: people
          properties: [{name: order}, {name: id}]
        """
    (key,) = (c for c in checks(text) if c.kind == "references")
    assert (key.columns, key.is_sensitive) == (("id", "person"), True)


def test_a_rule_whose_name_says_that_there_is_no_such_value_needs_no_threshold():
    (check,) = [
        c for c in checks(one_property("quality: [{rule: nullCheck}]"), "v3.0.2") if c.kind == "quality_library"
    ]
    assert (check.outcome, check.arguments) == (
        "",
        {"metric": "null_values", "thresholds": {"must_be": 0}, "unit": "rows"},
    )
