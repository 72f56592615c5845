from __future__ import annotations

from textwrap import dedent

import pytest

from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.errors import ManifestInvalid

HEAD = """\
dataContractSpecification: 1.1.0
id: urn:cities
info:
  title: Cities
  version: 1.0.0
"""


def contract(models: str) -> str:
    return HEAD + dedent(models)


def problems(text: str) -> list[str]:
    try:
        found = parse(text, "c.yaml").problems
    except ManifestInvalid as e:
        found = e.problems
    return [str(p) for p in found]


def test_every_problem_has_its_place():
    text = contract("""\
        models:
          cities:
            fields:
              name: {type: strnig, required: "yes"}
              population:
                type: long
                minimum: "5"
                maxLenght: 4
                $ref: '#/definitions/count'
        definitions:
          size: {type: long}
        """)
    assert problems(text) == [
        "c.yaml:9:20: models.cities.fields.name.type: unknown type 'strnig': use one of array, bigint, boolean, bytes, "
        "date, decimal, double, float, int, integer, json, long, map, null, number, numeric, object, record, string, "
        "struct, text, time, timestamp, timestamp_ntz, timestamp_tz, varchar, variant",
        "c.yaml:9:38: models.cities.fields.name.required: must be a boolean",
        "c.yaml:12:18: models.cities.fields.population.minimum: '5' is not a number",
        "c.yaml:14:15: $ref #/definitions/count does not resolve to a definition (the document has #/definitions/size)",
    ]


def test_missing_parts():
    assert problems("dataContractSpecification: 1.1.0\ninfo: {title: x}\n") == [
        "c.yaml:1:1: id is missing",
        "c.yaml:2:1: info.version is missing",
    ]


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        (
            "id: x",
            "c.yaml:1:1: dataContractSpecification is missing (write 'dataContractSpecification: 1.2.1' at the top, or "
            "'kind: DataContract' and 'apiVersion: v3.2.0')",
        ),
        (
            "kind: DataContract\napiVersion: v2.2.2",
            "c.yaml:2:13: version v2.2.2 of the specification is not supported (use a version from v3.0.0 to v3.2.0)",
        ),
        (
            "dataContractSpecification: 2.0.0",
            "c.yaml:1:28: version 2.0.0 of the specification is not supported (use a version from 0.9.3 to 1.2.1)",
        ),
        (
            "dataContractSpecification: 0.9.2",
            "c.yaml:1:28: version 0.9.2 of the specification is not supported (use a version from 0.9.3 to 1.2.1)",
        ),
        ("- a", "c.yaml:1:1: a contract must be a YAML mapping"),
        (
            "a: 1\n---\nb: 2",
            "c.yaml:3:1: the file has 2 YAML documents; a contract file must have exactly one "
            "(move the others to files of their own)",
        ),
        ("", "c.yaml:1:1: the file is empty; a contract file must have one YAML document"),
    ],
)
def test_not_a_contract(head: str, problem: str):
    assert problems(head) == [problem]


@pytest.mark.parametrize("version", ["0.9.3", "1.0.0", "1.1.0", "1.2.0", "1.2.1"])
def test_known_versions(version: str):
    text = HEAD.replace("1.1.0", version) + "models: {a: {fields: {}}}"
    assert parse(text, "c.yaml").contract.specification == f"Data Contract Specification {version}"


def test_numbers_are_ids_and_versions():
    text = "dataContractSpecification: 1.1.0\nid: 17\ninfo: {title: 2024, version: 2}\nmodels: {}"
    file = parse(text, "c.yaml")
    assert (file.contract.id, file.contract.title, file.contract.version) == ("17", "2024", "2")


def test_digest_is_of_the_text():
    text = "dataContractSpecification: 1.1.0\nid: 17\ninfo: {title: t, version: 2}\nmodels: {}"
    # sha256sum of these bytes
    assert parse(text, "c.yaml").digest == "de0c9e433c27c9058bb40594dad457030f19fb136ffd615fbee4266455f8b441"


def test_references_inherit_and_are_overridden():
    text = contract("""\
        models:
          orders:
            fields:
              id: {$ref: '#/definitions/id', required: true, description: own}
              address:
                $ref: '#/definitions/address'
        definitions:
          id: {type: text, format: uuid, pii: true, description: definition's}
          zip: {type: text, pattern: '^[0-9]{5}$'}
          address:
            type: object
            fields:
              zip: {$ref: '#/definitions/zip'}
        """)
    id_, address = parse(text, "c.yaml").contract.model("orders").fields
    assert (id_.type, id_.is_sensitive) == ("text", True)
    assert [(c.name, c.value, c.path, c.place.line) for c in id_.clauses] == [
        ("type", "text", "/models/orders/fields/id/type", 13),
        ("format", "uuid", "/models/orders/fields/id/format", 13),
        ("pii", True, "/models/orders/fields/id/pii", 13),
        ("description", "own", "/models/orders/fields/id/description", 9),
        ("required", True, "/models/orders/fields/id/required", 9),
    ]
    (zip_,) = address.fields
    pattern = zip_.clause("pattern")
    assert pattern is not None
    assert (pattern.value, pattern.path, pattern.place.line) == (
        "^[0-9]{5}$",
        "/models/orders/fields/address/fields/zip/pattern",
        14,
    )


def test_reference_to_itself():
    text = contract("""\
        models:
          tree:
            fields:
              root: {$ref: '#/definitions/node'}
        definitions:
          node:
            type: object
            fields:
              child: {$ref: '#/definitions/node'}
        """)
    assert problems(text) == ["c.yaml:14:21: $ref #/definitions/node refers back to itself"]


def test_references_to_the_web_stay_offline():
    text = contract("""\
        models:
          orders:
            fields:
              id: {$ref: 'https://example.com/definitions/id'}
        """)
    (field,) = parse(text, "c.yaml", is_offline=True).contract.model("orders").fields
    assert field.value("$ref") == "https://example.com/definitions/id"


def test_texts_of_an_enum_are_quoted():
    text = contract("""\
        models:
          flags:
            fields:
              size: {type: int, enum: [1, 2]}
              code: {type: string, enum: ["007", 8]}
        """)
    assert problems(text) == ["c.yaml:10:28: models.flags.fields.code.enum: 8 is not a string: put it in quotes"]


def test_syntax_error():
    assert problems("a: [1\n")[0].startswith("c.yaml:2:1: not YAML")
