from __future__ import annotations

from textwrap import dedent
from typing import Any

from airflow_provider_odf.contract.compile import compile_model, compile_models
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.protocol import Check, Contract

HEAD = """\
dataContractSpecification: 1.2.1
id: urn:datacontract:orders
info: {title: Orders, version: 1.3.0}
"""


def compiled(body: str, model: str = "orders") -> Contract:
    return compile_model(parse(HEAD + dedent(body), "orders.datacontract.yaml", is_offline=True), model)


def rows(contract: Contract) -> list[tuple[str, int, str, dict[str, Any]]]:
    return [(c.path.removeprefix("/models/orders"), c.line, c.kind, c.arguments) for c in contract.checks]


def test_clauses_of_a_field():
    contract = compiled(r"""
        models:
          orders:
            fields:
              id: {type: text, required: true, unique: true, primaryKey: true, minLength: 10, maxLength: 20}
              sku: {type: string, pattern: '^[A-Z]{8}$', enum: [A, B]}
              total:
                type: long
                minimum: 0
                exclusiveMinimum: -1
                maximum: 99.5
                exclusiveMaximum: 100
        """)
    assert (contract.id, contract.model, contract.version, contract.title, contract.specification) == (
        "urn:datacontract:orders",
        "orders",
        "1.3.0",
        "Orders",
        "Data Contract Specification 1.2.1",
    )
    assert rows(contract) == [
        ("", 6, "model_present", {}),
        ("/fields/id", 8, "field_present", {}),
        ("/fields/id/type", 8, "field_type", {"type": "text"}),
        ("/fields/id/required", 8, "required", {}),
        ("/fields/id/unique", 8, "unique", {}),
        ("/fields/id/primaryKey", 8, "primary_key", {}),
        ("/fields/id/minLength", 8, "min_length", {"limit": 10, "type": "text"}),
        ("/fields/id/maxLength", 8, "max_length", {"limit": 20, "type": "text"}),
        ("/fields/sku", 9, "field_present", {}),
        ("/fields/sku/type", 9, "field_type", {"type": "string"}),
        (
            "/fields/sku/pattern",
            9,
            "pattern",
            {"pattern": "^[A-Z]{8}$", "java": r"^[A-Z]{8}\z", "type": "string"},
        ),
        ("/fields/sku/enum", 9, "enum", {"values": ["A", "B"], "type": "string"}),
        ("/fields/total", 10, "field_present", {}),
        ("/fields/total/type", 11, "field_type", {"type": "long"}),
        ("/fields/total/minimum", 12, "minimum", {"limit": 0, "type": "long"}),
        ("/fields/total/exclusiveMinimum", 13, "exclusive_minimum", {"limit": -1, "type": "long"}),
        ("/fields/total/maximum", 14, "maximum", {"limit": 99.5, "type": "long"}),
        ("/fields/total/exclusiveMaximum", 15, "exclusive_maximum", {"limit": 100, "type": "long"}),
    ]
    assert contract.checks[4].columns == ("id",)
    assert contract.checks[5] == Check(
        "/models/orders/fields/id/primaryKey",
        "primary_key",
        "(id) is never null and identifies one row",
        "id",
        ("id",),
        model="orders",
        line=8,
    )


def test_several_key_fields_are_one_key():
    keys = [
        (c.path, c.columns)
        for c in compiled("""
            models:
              orders:
                fields:
                  a: {primaryKey: true}
                  b: {primary: true}
                  c: {primaryKey: false}
            """).checks
        if c.kind == "primary_key"
    ]
    assert keys == [
        ("/models/orders/fields/a/primaryKey", ("a", "b")),
        ("/models/orders/fields/b/primary", ("a", "b")),
    ]


def test_model_level_key_and_closed_model():
    checks = compiled("""
        models:
          orders:
            additionalFields: false
            primaryKey: [a, b]
            fields: {a: {}, b: {pii: true}}
        """).checks
    assert [(c.path, c.kind, c.columns, c.is_sensitive) for c in checks[3:]] == [
        ("/models/orders/additionalFields", "additional_fields", ("a", "b"), False),
        ("/models/orders/primaryKey", "primary_key", ("a", "b"), True),
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
              lines:
                type: array
                items: {type: object, fields: {sku: {minLength: 3}}}
              names: {type: map, keys: {type: string}, values: {type: long, required: true}}
              text: {type: text, items: {type: long}}
        """)
    inner = [(c.path.removeprefix("/models/orders/fields"), c.kind, c.field, c.outcome) for c in contract.checks]
    assert [entry for entry in inner if entry[1] not in ("model_present", "field_present")] == [
        ("/address/type", "field_type", "address", ""),
        ("/address/fields/zip/type", "field_type", "address.zip", ""),
        ("/address/fields/zip/required", "required", "address.zip", ""),
        ("/lines/type", "field_type", "lines", ""),
        ("/lines/items/type", "field_type", "lines[]", ""),
        ("/lines/items/fields/sku/minLength", "min_length", "lines[].sku", ""),
        ("/names/type", "field_type", "names", ""),
        ("/names/keys/type", "field_type", "names{key}", ""),
        ("/names/values/type", "field_type", "names{value}", ""),
        ("/names/values/required", "required", "names{value}", ""),
        ("/text/type", "field_type", "text", ""),
        ("/text/items/type", "field_type", "text[]", "unsupported"),
    ]
    # The struct around a sensitive field is not shown either.
    assert [c.field for c in contract.checks if c.is_sensitive] == [None, *["address"] * 2, *["address.zip"] * 3]
    assert contract.checks[-1].reason == "a field of type text has no items"


def test_nothing_is_left_out_in_silence():
    contract = compiled("""
        models:
          orders:
            description: no clause
            fields:
              email:
                type: text
                minimum: 5
                pattern: '(['
                title: no clause
                tags: [no-clause]
                config: {jsonType: string}
                lineage: {inputFields: []}
                quality:
                  - {type: text, description: Verified by hand.}
                  - {type: sql, query: SELECT 1, mustBe: 1, severity: warning}
                retentionClass: gold
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
    said = [(c.path, c.outcome, c.description, c.reason, c.severity) for c in contract.checks if c.outcome]
    field = "/models/orders/fields/email"
    assert [entry for entry in said if entry[0].startswith("/models")] == [
        (f"{field}/minimum", "unsupported", "email: >= 5", "minimum does not apply to the type text", "error"),
        (
            f"{field}/pattern",
            "error",
            "email matches ([",
            "not a regular expression: a [ without its ]: character 2 of ([",
            "error",
        ),
        (
            f"{field}/retentionClass",
            "informational",
            "retentionClass: gold",
            "retentionClass is not part of the specification",
            "error",
        ),
        (
            f"{field}/quality/0",
            "informational",
            "email: Verified by hand.",
            "a text rule is documentation and cannot be tested",
            "error",
        ),
        (
            "/models/orders/fields/other/$ref",
            "unsupported",
            "other: $ref https://example.com/x.yaml#/a",
            "the reference points outside the document",
            "error",
        ),
        (
            "/models/orders/quality/0",
            "error",
            "orders: soda",
            "the Soda check has no type",
            "error",
        ),
    ]
    assert [(path, outcome) for path, outcome, *_ in said if not path.startswith("/models")] == [
        ("/quality", "error"),
        ("/servicelevels/availability", "informational"),
        ("/servicelevels/latency", "informational"),
        ("/servicelevels/retention", "informational"),
        ("/servicelevels/ownThing", "informational"),
    ]


def test_paths_are_unique_pointers():
    checks = compiled("models: {orders: {fields: {a: {fields: {'b': {}}}, 'a.b': {}, 'a/b~c': {}}}}").checks
    assert [c.path for c in checks[1:]] == [
        "/models/orders/fields/a",
        "/models/orders/fields/a/fields/b",
        "/models/orders/fields/a.b",
        "/models/orders/fields/a~1b~0c",
    ]


def test_several_models():
    text = HEAD + "models: {a: {fields: {x: {}}}, b: {fields: {y: {}}}}"
    contract = compile_models(parse(text, "c.yaml"), ["b", "a"])
    assert [(c.model, c.path) for c in contract.checks] == [
        ("a", "/models/a"),
        ("a", "/models/a/fields/x"),
        ("b", "/models/b"),
        ("b", "/models/b/fields/y"),
    ]


def test_unknown_keys_are_informational_wherever_they_are():
    """A misspelled or custom key never stops a test of data, and no other clause changes."""
    base = """
dataContractSpecification: 1.2.1
id: urn:t
info: {title: T, version: 1.0.0%s}
%s
models:
  t:
    fields:
      a: {type: long, minimum: 3%s}
    quality: [{metric: rowCount, mustBe: 1}]
%s
"""
    plain = compile_models(parse(base % ("", "", "", ""), "c.yaml"), ["t"]).checks
    keys = (", isUnique: 4", "colour: red", ", isUnique: true, minLenght: 3", "    kolor: [1]")
    file = parse(base % keys, "c.yaml")
    checks = compile_models(file, ["t"]).checks
    known = [(c.path, c.kind, c.arguments) for c in checks if c.kind != "extension"]
    assert known == [(c.path, c.kind, c.arguments) for c in plain]
    assert {(c.path, c.outcome) for c in checks if c.kind == "extension"} == {
        ("/info/isUnique", "informational"),
        ("/colour", "informational"),
        ("/models/t/fields/a/isUnique", "informational"),
        ("/models/t/fields/a/minLenght", "informational"),
        ("/models/t/kolor", "informational"),
    }
    assert [str(problem) for problem in file.unknown] == [
        "c.yaml:5:1: contract: unknown key 'colour'",
        "c.yaml:4:34: info: unknown key 'isUnique'",
        "c.yaml:11:5: models.t: unknown key 'kolor'",
        "c.yaml:9:35: models.t.fields.a: unknown key 'isUnique' (did you mean 'unique'?)",
        "c.yaml:9:51: models.t.fields.a: unknown key 'minLenght' (did you mean 'minLength'?)",
    ]
