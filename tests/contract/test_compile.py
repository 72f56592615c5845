from __future__ import annotations

from textwrap import dedent
from typing import Any

from airflow_provider_odf.contract.compile import compile_model
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.protocol import Check, Contract

HEAD = """\
dataContractSpecification: 1.2.1
id: urn:datacontract:orders
info: {title: Orders, version: 1.3.0}
"""


def compiled(body: str, model: str = "orders") -> Contract:
    return compile_model(parse(HEAD + dedent(body), "orders.datacontract.yaml"), model)


def rows(contract: Contract) -> list[tuple[str, str, dict[str, Any]]]:
    return [(c.key, c.kind, c.arguments) for c in contract.checks]


def test_clauses_of_a_field():
    contract = compiled(r"""
        models:
          orders:
            fields:
              id: {type: text, required: true, unique: true, primaryKey: true, minLength: 10, maxLength: 20}
              sku: {type: string, pattern: '^[A-Z]{8}$', enum: [A, B]}
              total: {type: long, minimum: 0, exclusiveMinimum: -1, maximum: 99.5, exclusiveMaximum: 100}
        """)
    assert (contract.id, contract.model, contract.version, contract.title) == (
        "urn:datacontract:orders",
        "orders",
        "1.3.0",
        "Orders",
    )
    assert rows(contract) == [
        ("orders__id__field_present", "field_present", {}),
        ("orders__id__field_type", "field_type", {"type": "text"}),
        ("orders__id__required", "required", {}),
        ("orders__id__unique", "unique", {}),
        ("orders__id__min_length", "min_length", {"limit": 10, "type": "text"}),
        ("orders__id__max_length", "max_length", {"limit": 20, "type": "text"}),
        ("orders__sku__field_present", "field_present", {}),
        ("orders__sku__field_type", "field_type", {"type": "string"}),
        ("orders__sku__enum", "enum", {"values": ["A", "B"]}),
        (
            "orders__sku__pattern",
            "pattern",
            {"pattern": "^[A-Z]{8}$", "java": r"^[A-Z]{8}\z", "type": "string"},
        ),
        ("orders__total__field_present", "field_present", {}),
        ("orders__total__field_type", "field_type", {"type": "long"}),
        ("orders__total__minimum", "minimum", {"limit": 0, "type": "long"}),
        ("orders__total__exclusive_minimum", "exclusive_minimum", {"limit": -1, "type": "long"}),
        ("orders__total__maximum", "maximum", {"limit": 99.5, "type": "long"}),
        ("orders__total__exclusive_maximum", "exclusive_maximum", {"limit": 100, "type": "long"}),
        ("orders__id__primary_key", "primary_key", {}),
    ]
    assert contract.checks[3].columns == ("id",)
    assert contract.checks[-1] == Check(
        "orders__id__primary_key", "primary_key", "(id) is never null and identifies one row", "id", ("id",)
    )


def test_several_key_fields_are_one_key():
    keys = [
        (c.key, c.columns)
        for c in compiled("""
            models:
              orders:
                fields:
                  a: {primaryKey: true}
                  b: {primary: true}
            """).checks
        if c.kind == "primary_key"
    ]
    assert keys == [("orders__primary_key", ("a", "b"))]


def test_model_level_key_and_closed_model():
    checks = compiled("""
        models:
          orders:
            additionalFields: false
            primaryKey: [a, b]
            fields: {a: {}, b: {pii: true}}
        """).checks
    assert [(c.key, c.kind, c.columns, c.arguments) for c in checks[2:]] == [
        ("orders__primary_key", "primary_key", ("a", "b"), {"isSensitive": True}),
        ("orders__additional_fields", "additional_fields", ("a", "b"), {}),
    ]


def test_nested_fields():
    contract = compiled("""
        models:
          orders:
            fields:
              address:
                type: struct
                fields:
                  zip: {type: text, required: true, classification: restricted}
        """)
    assert [(c.key, c.column, c.arguments) for c in contract.checks] == [
        ("orders__address__field_present", "address", {}),
        ("orders__address__field_type", "address", {"type": "struct"}),
        ("orders__address.zip__field_present", "address.zip", {"isSensitive": True}),
        ("orders__address.zip__field_type", "address.zip", {"type": "text", "isSensitive": True}),
        ("orders__address.zip__required", "address.zip", {"isSensitive": True}),
    ]


def test_nothing_is_left_out_in_silence():
    contract = compiled("""
        models:
          orders:
            description: no clause
            fields:
              email:
                type: text
                format: email
                minimum: 5
                references: customers.email
                title: no clause
                tags: [no-clause]
                config: {jsonType: string}
                lineage: {inputFields: []}
                quality:
                  - {type: text, description: Verified by hand.}
                  - {type: sql, query: SELECT 1, mustBe: 1, severity: warning}
                retentionClass: gold
              amount: {type: decimal, precision: 10, scale: 2}
              tags: {type: array, items: {type: string}}
              names: {type: map, keys: {type: string}, values: {type: long}}
              other: {$ref: 'https://example.com/x.yaml#/a'}
            quality:
              - {type: custom, engine: soda, implementation: {}}
          customers:
            fields: {}
        terms: {usage: no clause}
        servicelevels:
          availability: {percentage: 99.9%}
          freshness: {description: young, threshold: 25h, timestampField: orders.ts}
          latency: {threshold: 25h, sourceTimestampField: customers.a, processedTimestampField: customers.b}
          retention: {period: P1Y}
          ownThing: {description: something}
        quality: {type: SodaCL, specification: ''}
        """)
    said = [
        (c.key, c.kind, c.description, c.severity)
        for c in contract.checks
        if c.kind in ("unsupported", "informational")
    ]
    assert said == [
        ("orders__email__minimum", "informational", "email: >= 5: does not apply to text", "error"),
        ("orders__email__format", "unsupported", "email: format email is not tested", "error"),
        ("orders__email__references", "unsupported", "email: references customers.email is not tested", "error"),
        ("orders__email__quality_text_0", "informational", "email: Verified by hand.", "error"),
        (
            "orders__email__quality_sql_1",
            "unsupported",
            "email: quality of type sql is not tested: SELECT 1",
            "warning",
        ),
        ("orders__email__retentionClass", "informational", "retentionClass is an extension, not tested", "error"),
        ("orders__amount__precision", "unsupported", "amount: precision 10 is not tested", "error"),
        ("orders__amount__scale", "unsupported", "amount: scale 2 is not tested", "error"),
        ("orders__tags__items", "unsupported", "tags: items of nested values is not tested", "error"),
        ("orders__names__keys", "unsupported", "names: keys of nested values is not tested", "error"),
        ("orders__names__values", "unsupported", "names: values of nested values is not tested", "error"),
        (
            "orders__other__ref",
            "unsupported",
            "other: $ref https://example.com/x.yaml#/a leads out of the document",
            "error",
        ),
        ("orders__quality_custom_0", "unsupported", "orders: quality of type custom is not tested: soda", "error"),
        ("servicelevels__availability", "informational", "service level availability", "error"),
        ("servicelevels__freshness", "unsupported", "service level freshness is not tested: young", "error"),
        (
            "servicelevels__latency",
            "informational",
            "service level latency: about customers.a, customers.b",
            "error",
        ),
        ("servicelevels__retention", "informational", "service level retention", "error"),
        ("servicelevels__ownThing", "unsupported", "service level ownThing is not tested: something", "error"),
        ("quality", "unsupported", "top-level quality of type SodaCL is not tested", "error"),
    ]


def test_keys_are_unique():
    keys = [c.key for c in compiled("models: {orders: {fields: {a: {fields: {'b': {}}}, 'a.b': {}}}}").checks]
    assert keys == ["orders__a__field_present", "orders__a.b__field_present", "orders__a.b__field_present__2"]


def test_limits_of_a_field_without_a_type():
    checks = compiled("models: {orders: {fields: {a: {minimum: 1, enum: [true, 2]}}}}").checks
    assert [(c.kind, c.arguments) for c in checks] == [
        ("field_present", {}),
        ("enum", {"values": ["true", "2"]}),
        ("minimum", {"limit": 1}),
    ]
