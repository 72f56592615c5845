from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from airflow_provider_odf.contract.lint import lint

DCS = "dataContractSpecification: 1.2.1\nid: a\ninfo: {title: t, version: '1'}\n"
ODCS = "apiVersion: v3.1.0\nkind: DataContract\nid: a\nversion: '1'\nstatus: active\n"


def problems(folder: Path, text: str) -> tuple[list[str], list[str]]:
    """Errors and warnings."""
    file = folder / "c.yaml"
    file.write_text(text)
    errors, warnings = lint(file)
    return [str(p).removeprefix(f"{folder}/") for p in errors], [str(p).removeprefix(f"{folder}/") for p in warnings]


def dcs(folder: Path, body: str) -> tuple[list[str], list[str]]:
    return problems(folder, DCS + dedent(body))


def test_valid_contracts(tmp_path: Path):
    assert dcs(tmp_path, "models: {m: {fields: {f: {type: text, examples: [a, 7]}}}}") == ([], [])
    assert problems(tmp_path, ODCS + "schema: [{name: t, properties: [{name: f, logicalType: string}]}]") == ([], [])
    assert dcs(tmp_path, "") == ([], [])
    oldest = "dataContractSpecification: 0.9.3\nid: 7\ninfo: {title: 1, version: 1.0}\nmodels: {m: {}}"
    assert problems(tmp_path, oldest) == ([], [])


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("{type: text, enum: [a, b], examples: [a, c]}", "'c': f is one of a, b"),
        ("{type: text, pattern: '^[a-z]+$', examples: [a, \"a\\nb\"]}", "'a\\nb': f matches ^[a-z]+$"),
        ("{type: text, format: email, examples: [a@b.org, nobody]}", "'nobody': f is a valid email"),
        ("{type: text, format: uuid, examples: [243c25e5-a081-43a9-aeab-6d5d5b6cb5e2, a]}", "'a': f is a valid uuid"),
        ("{type: text, minLength: 2, examples: [漢字, 漢]}", "'漢': f: length >= 2"),
        ("{type: text, maxLength: 2, examples: [漢字, 漢字漢]}", "'漢字漢': f: length <= 2"),
        ("{type: int, examples: [2147483647, 2147483648]}", "2147483648: f is of type int"),
        ("{type: long, examples: ['7', 1.5]}", "1.5: f is of type long"),
        ("{type: decimal, examples: [1.5, a]}", "'a': f is of type decimal"),
        ("{type: boolean, examples: [true, 1]}", "1: f is of type boolean"),
        ("{type: date, examples: [2024-02-29, 2023-02-29]}", "'2023-02-29': f is of type date"),
        ("{type: timestamp, examples: ['2024-09-09T08:30:00Z', '2024-09-09 08:30:00', soon]}",
         "'soon': f is of type timestamp"),
        ("{type: time, examples: ['08:30', '25:00']}", "'25:00': f is of type time"),
        ("{type: number, minimum: 0.1, examples: [0.1, 0.09]}", "0.09: f: >= 0.1"),
        ("{type: number, exclusiveMinimum: 0, examples: [1, 0]}", "0: f: > 0"),
        ("{type: number, maximum: 1, examples: [1, 1.1]}", "1.1: f: <= 1"),
        ("{type: number, exclusiveMaximum: 1, examples: [0, 1]}", "1: f: < 1"),
        ("{type: decimal, precision: 3, examples: [12.30, 0.005, 12.34]}", "12.34: f: at most 3 digits"),
        ("{type: decimal, scale: 1, examples: [100, 1.50, 1.25]}", "1.25: f: at most 1 decimal places"),
        ("{type: array, items: {type: int}, examples: [[1], [1, a]]}", "'a': f[] is of type int"),
        ("{type: object, fields: {a: {type: text, required: true}}, examples: [{a: b}, {}]}",
         "null: f.a is never null"),
        ("{type: map, keys: {type: text, maxLength: 1}, values: {type: int}, examples: [{a: 1}, {ab: 1}]}",
         "'ab': f{key}: length <= 1"),
        ("{type: text, required: true, examples: [null]}", "null: f is never null"),
    ],
)  # fmt: skip
def test_examples_satisfy_their_field(tmp_path: Path, field: str, reason: str):
    (problem,), _ = dcs(tmp_path, f"models:\n  m:\n    fields:\n      f: {field}\n")
    assert problem.startswith("c.yaml:7:")
    assert problem.endswith(f": example {reason}")


def test_examples_of_a_definition_have_its_place(tmp_path: Path):
    text = """\
        models: {m: {fields: {f: {$ref: '#/definitions/d', maxLength: 1}}}}
        definitions:
          d: {type: text, examples: [ab]}
        """
    assert dcs(tmp_path, text)[0] == ["c.yaml:6:19: example 'ab': f: length <= 1"]


def test_example_rows_are_warnings(tmp_path: Path):
    """The example of the specification itself breaks its format uuid in each row."""
    text = """\
        models:
          m:
            fields:
              id: {type: text, format: uuid, required: true}
              n: {type: int}
            examples:
            - |
              id,n
              "1001",1
              "1002",x
              ,
            - {id: 243c25e5-a081-43a9-aeab-6d5d5b6cb5e2, n: 1}
        """
    assert dcs(tmp_path, text) == (
        [],
        [
            "c.yaml:10:7: 1 example row, such as 'x': n is of type int",
            "c.yaml:10:7: 1 example row, such as null: id is never null",
            "c.yaml:10:7: 2 example rows, such as '1001': id is a valid uuid",
        ],
    )


@pytest.mark.parametrize("step", ["1", "1000000000", "9" * 5000])
def test_a_step_that_a_list_does_not_have(tmp_path: Path, step: str):
    text = f"""\
        definitions: [{{type: bigint}}]
        models: {{m: {{fields: {{f: {{$ref: '#/definitions/{step}'}}}}}}}}
        """
    (_, problem), _ = dcs(tmp_path, text)
    assert problem.startswith("c.yaml:5:33: $ref #/definitions/")
    assert "does not resolve to a definition" in problem


def test_all_problems_at_once(tmp_path: Path):
    text = """\
        servers: {s: {format: csv}}
        models:
          m:
            primaryKey: [idd]
            fields:
              id: {$ref: '#/definitions/none', type: text}
              n: {type: text, pattern: '(', minLenght: 4}
              i: {type: int, minLength: 4, examples: [x]}
        """
    assert dcs(tmp_path, text) == (
        [
            "c.yaml:4:11: servers.s.type is missing",
            "c.yaml:7:18: m has no field idd (did you mean `id`?)",
            "c.yaml:9:18: $ref #/definitions/none does not resolve to a definition (the document has no definitions)",
            "c.yaml:10:32: not a regular expression: a ( without its ): character 1 of (",
            "c.yaml:11:47: example 'x': i is of type int",
        ],
        [
            "c.yaml:10:37: models.m.fields.n: unknown key 'minLenght' (did you mean 'minLength'?)",
            "c.yaml:11:33: not enforced: minLength does not apply to the type int",
        ],
    )


def test_a_value_of_a_wrong_type_hides_no_other_problem(tmp_path: Path):
    text = """\
        modles: {}
        models:
          m:
            feilds: {}
            fields:
              a: {tpye: text, required: 'yes', format: emial}
              b: {type: strng, pattern: '(', minLength: 5, maxLength: 2}
              c: {type: long, minimum: 3, maximum: 2.5, references: orders}
              d: {type: text, requried: true, references: o.yaml#x}
            quality:
              - {type: library, metric: rowCount, mustBee: 1}
              - {type: library, metric: rowCount, mustBe: many}
              - {type: library, metric: rowCount, must_be_betwen: [2, 1]}
              - {type: library, metric: rowCount, mustBeBetween: [2, 1]}
        """
    errors, warnings = dcs(tmp_path, text)
    assert [error.partition(": use one of")[0] for error in errors] == [
        "c.yaml:9:33: models.m.fields.a.required: must be a boolean",
        "c.yaml:10:17: models.m.fields.b.type: unknown type 'strng'",
        "c.yaml:10:33: not a regular expression: a ( without its ): character 1 of (",
        "c.yaml:10:49: minLength 5 is greater than maxLength 2: no value can satisfy both (correct one of them)",
        "c.yaml:11:32: minimum 3 is greater than maximum 2.5: no value can satisfy both (correct one of them)",
        "c.yaml:11:61: 'orders' is no reference: write MODEL.FIELD, such as customers.id",
        "c.yaml:14:9: unknown threshold 'mustBee': did you mean 'mustBe'?",
        "c.yaml:15:9: mustBe: 'many' is not a number",
        "c.yaml:16:9: unknown threshold 'must_be_betwen': did you mean 'must_be_between'?",
        "c.yaml:17:9: mustBeBetween: 2 is greater than 1",
    ]
    assert warnings == [
        "c.yaml:4:1: contract: unknown key 'modles' (did you mean 'models'?)",
        "c.yaml:7:5: models.m: unknown key 'feilds' (did you mean 'fields'?)",
        "c.yaml:9:11: models.m.fields.a: unknown key 'tpye' (did you mean 'type'?)",
        "c.yaml:9:48: not enforced: unknown format emial: use one of email, uri, uuid",
        "c.yaml:12:23: models.m.fields.d: unknown key 'requried' (did you mean 'required'?)",
        "c.yaml:12:51: not enforced: the reference points to another contract",
    ]


def test_problems_of_the_schema_are_short_and_reported_once(tmp_path: Path):
    text = ODCS + "schema: [{properties: [{name: f, logicalTyp: string}], quality: [{metric: rowCount}]}]"
    errors, _ = problems(tmp_path, text)
    assert errors == [
        "c.yaml:6:10: schema.0.name is missing",
        "c.yaml:6:34: schema.0.properties.0: unknown key 'logicalTyp' (did you mean 'logicalType'?)",
        "c.yaml:6:66: the rule has no threshold: add one, such as mustBe or mustBeLessThan",
    ]


def test_limits_of_times(tmp_path: Path):
    text = ODCS + dedent("""\
        schema:
        - name: t
          properties:
          - {name: a, logicalType: date, logicalTypeOptions: {minimum: '2024-02-29', maximum: soon}}
          - {name: b, logicalType: timestamp, logicalTypeOptions: {minimum: '2024', maximum: '2024-02-29T08:00:00Z'}}
          - {name: c, logicalType: date, logicalTypeOptions: {exclusiveMaximum: '2023-02-29'}}
          - {name: d, logicalType: time, logicalTypeOptions: {minimum: '08:30', maximum: '25:00:00'}}
        """)
    assert problems(tmp_path, text)[0] == [
        "c.yaml:9:87: 'soon' is no timestamp: write one such as 2024-05-02T08:30:00Z",
        "c.yaml:10:69: '2024' is no timestamp: write one such as 2024-05-02T08:30:00Z",
        "c.yaml:11:73: '2023-02-29' is no timestamp: write one such as 2024-05-02T08:30:00Z",
        "c.yaml:12:82: '25:00:00' is no time: write one such as 08:30:00",
    ]


def test_schema_of_the_declared_version(tmp_path: Path):
    text = ODCS + dedent("""\
        price: {amount: 1}
        team: [{name: a}]
        schema:
        - name: t
          properties:
          - {name: f, logicalType: map, colour: red}
          quality: [{type: sql, mustBe: 1}]
        """)
    errors, _ = problems(tmp_path, text)
    assert errors == [
        "c.yaml:6:9: price: unknown key 'amount' (did you mean 'priceAmount'?)",
        "c.yaml:7:8: team.0.username is missing",
        "c.yaml:11:28: schema.0.properties.0.logicalType: 'map' is not one of string, date, timestamp, time, number, "
        "integer, object, array, boolean",
        "c.yaml:11:33: schema.0.properties.0: unknown key 'colour'",
        "c.yaml:12:13: the rule has no query",
    ]


@pytest.mark.parametrize("status", ["deprecated", "Retired"])
def test_contracts_that_have_ended(tmp_path: Path, status: str):
    text = DCS.replace("'1'", f"'1', status: {status}") + "models: {m: {}}"
    assert problems(tmp_path, text) == (
        [],
        [f"c.yaml:3:40: the contract is {status}"],
    )
    text = ODCS.replace("active", status)
    assert problems(tmp_path, text) == ([], [f"c.yaml:5:9: the contract is {status}"])


def test_files_that_are_no_contract(tmp_path: Path):
    assert problems(tmp_path, "a: [1\n")[0][0].startswith("c.yaml:2:1: not YAML")
    assert lint(tmp_path / "none.yaml")[0][0].message == "cannot be read: No such file or directory"
