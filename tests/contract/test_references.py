from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.contract.load import ContractFile, load
from tests.http_server import Server

HEAD = "dataContractSpecification: 1.1.0\nid: a\ninfo: {title: t, version: '1'}\n"


def contract(folder: Path, reference: str, is_offline: bool = False) -> ContractFile:
    """The contract with one field, in line 5, that refers to a definition."""
    file = folder / "c.yaml"
    file.write_text(f"{HEAD}models: {{m: {{fields: {{\n  f: {{$ref: '{reference}', required: true}}}}}}}}\n")
    return load(file, is_offline)


def clauses(file: ContractFile) -> list[tuple[str, object, str, int]]:
    (field,) = file.contract.models[0].fields
    return [(c.name, c.value, c.path, c.place.line) for c in field.clauses]


def problems(folder: Path, reference: str) -> list[str]:
    return [str(p).replace(f"{folder}/", "") for p in contract(folder, reference).problems]


INHERITED = [
    ("type", "text", "/models/m/fields/f/type", 5),
    ("minLength", 3, "/models/m/fields/f/minLength", 5),
    ("required", True, "/models/m/fields/f/required", 5),
]
"""Clauses of another document have the line of the reference."""


@pytest.mark.parametrize(
    "reference",
    [
        "../shared/definitions.yaml#/definitions/checkout~1id",
        "../shared/definitions.yaml#/definitions/checkout/id",
        "file://../shared/definitions.yaml#/definitions/checkout~1id",
        "../shared/my%20id.yaml",
        "../shared/chain.json#/id",
    ],
)
def test_definitions_in_other_files(tmp_path: Path, reference: str):
    folder, shared = tmp_path / "contracts", tmp_path / "shared"
    folder.mkdir()
    shared.mkdir()
    (shared / "definitions.yaml").write_text("definitions:\n  checkout/id: {type: text, minLength: 3}\n")
    (shared / "my id.yaml").write_text("type: text\nminLength: 3\n")
    (shared / "chain.json").write_text('{"id": {"$ref": "definitions.yaml#/definitions/checkout~1id"}}')
    assert clauses(contract(folder, reference)) == INHERITED


def test_the_digest_covers_other_documents(tmp_path: Path):
    (tmp_path / "id.yaml").write_text("type: text\n")
    before = contract(tmp_path, "id.yaml").digest
    (tmp_path / "id.yaml").write_text("type: long\n")
    assert contract(tmp_path, "id.yaml").digest != before


def test_nested_fields_of_another_file(tmp_path: Path):
    (tmp_path / "d.yaml").write_text("a:\n  type: object\n  fields:\n    zip: {$ref: '#/zip'}\nzip: {type: text}\n")
    (field,) = contract(tmp_path, "d.yaml#/a").contract.models[0].fields
    assert [(f.name, f.type, f.path, f.place.line) for f in field.fields] == [
        ("zip", "text", "/models/m/fields/f/fields/zip", 5)
    ]


@pytest.mark.parametrize(
    ("files", "reference", "problem"),
    [
        (
            {},
            "nowhere.yaml",
            "c.yaml:5:13: $ref nowhere.yaml points to nowhere.yaml: cannot be read: No such file or directory "
            "(correct the path)",
        ),
        (
            {"d.yaml": "definitions: {a: {type: text}}"},
            "d.yaml#/definitions/b",
            "c.yaml:5:13: $ref d.yaml#/definitions/b does not resolve to a definition "
            "(the document has #/definitions/a)",
        ),
        ({}, "ftp://h/a", "c.yaml:5:13: $ref ftp://h/a has the unknown scheme ftp (use a path, file:// or https://)"),
        (
            {"d.yaml": "a: {$ref: 'e.yaml#/b'}", "e.yaml": "b: {$ref: 'd.yaml#/a'}"},
            "d.yaml#/a",
            "e.yaml:1:11: $ref d.yaml#/a refers back to itself",
        ),
        ({"d.yaml": "a: [1\n"}, "d.yaml#/a", "d.yaml:2:1: not YAML: did not find expected ',' or ']'"),
        ({"d.yaml": "a:\n  minLength: x\n"}, "d.yaml#/a", "d.yaml:2:14: a.minLength: 'x' is not a number"),
        ({"d.yaml": "- a\n"}, "d.yaml", "c.yaml:5:13: $ref d.yaml points to a file that is not a single YAML mapping"),
        (
            {"d.yaml": "#" * (1 << 20) + "\na: {}"},
            "d.yaml#/a",
            "c.yaml:5:13: $ref d.yaml#/a points to a file of more than 1 MiB",
        ),
    ],
)
def test_unresolved_references(tmp_path: Path, files: dict[str, str], reference: str, problem: str):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert [p.removesuffix(" (a `[` or `{` is not closed)") for p in problems(tmp_path, reference)] == [problem]


def test_references_cannot_multiply(tmp_path: Path):
    """Each of 20 definitions has two fields of the next one: a million fields."""

    def definition(n: int) -> str:
        inner = f"{{$ref: '#/definitions/d{n + 1}'}}"
        return f"  d{n}: {{type: object, fields: {{a: {inner}, b: {inner}}}}}\n"

    (tmp_path / "d.yaml").write_text("definitions:\n" + "".join(map(definition, range(20))) + "  d20: {type: text}\n")
    assert problems(tmp_path, "d.yaml#/definitions/d0")[0].endswith("expands to more than 20000 fields")


def test_definitions_on_the_web(tmp_path: Path, server: Server):
    server.serve("/d.yaml", b"definitions:\n  id: {$ref: 'e.yaml'}\n")
    server.serve("/e.yaml", b"type: text\nminLength: 3\n")
    assert clauses(contract(tmp_path, f"{server.url}/d.yaml#/definitions/id")) == INHERITED


def test_offline_references_stay(tmp_path: Path, server: Server):
    assert clauses(contract(tmp_path, f"{server.url}/d.yaml", is_offline=True))[0][:2] == (
        "$ref",
        f"{server.url}/d.yaml",
    )


def test_the_web_has_limits(tmp_path: Path, server: Server):
    server.serve("/large", b"#" * (1 << 20) + b"\na: b\n")
    server.serve("/local", b"$ref: file:///etc/hostname\n")
    server.serve("/loop", location="/loop")
    (gone,) = problems(tmp_path, f"{server.url}/gone")
    (large,) = problems(tmp_path, f"{server.url}/large")
    (local,) = problems(tmp_path, f"{server.url}/local")
    (loop,) = problems(tmp_path, f"{server.url}/loop")
    assert gone == f"c.yaml:5:13: $ref {server.url}/gone cannot be read: 404 Not Found"
    assert large == f"c.yaml:5:13: $ref {server.url}/large points to a document of more than 1 MiB"
    assert local == (
        f"{server.url}/local:1:7: $ref file:///etc/hostname points from a web document to a local file "
        "(a web document can refer only to web documents: use an https:// URL)"
    )
    assert loop == f"c.yaml:5:13: $ref {server.url}/loop cannot be read: more than 5 redirects"
