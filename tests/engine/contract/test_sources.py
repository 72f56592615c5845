"""Contracts on files, from YAML to the report."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.contract.report import document
from airflow_provider_odf.contract.sources import models_to_test as models_of
from airflow_provider_odf.contract.sources import of_data
from airflow_provider_odf.engine.contract import sources
from airflow_provider_odf.protocol import Source

pytestmark = pytest.mark.spark

HEAD = "dataContractSpecification: 1.2.1\nid: urn:t\ninfo: {title: T, version: 1.0.0}\nmodels:\n"


@pytest.fixture
def tested(spark, tmp_path: Path):
    """Test a contract with these models on files, and return its report as a JSON document."""

    def tested(models: str, files: dict[str, str], data: str, model: str | None = None) -> dict[str, Any]:
        for name, content in files.items():
            (tmp_path / name).write_text(content)
        text = HEAD + "".join(f"  {line}\n" for line in dedent(models).strip().splitlines())
        file = parse(text, "c.yaml")
        names = models_of(file, model)
        contract = compile_models(file, names)
        report = sources.test(spark.newSession(), contract, of_data(file, names, str(tmp_path / data), None), None)
        return document(report)

    return tested


def outcomes(report: dict[str, Any], model: str = "t") -> dict[str, tuple[str, int | None]]:
    """Return outcome and failed rows by the end of the pointer, without clauses that pass."""
    start = f"/models/{model}"
    return {
        c["path"].removeprefix(start).removeprefix("/fields"): (c["outcome"], c["failedRows"])
        for c in report["checks"]
        if c["outcome"] != "pass"
    }


def test_values_of_json(tested):
    rows = [
        {
            "id": 1,
            "email": "a@example.org",
            "link": "http://x.org/a?b#c",
            "uuid": "243C25E5-a081-43a9-aeab-6d5d5b6cb5e2",
        },
        {"id": 2, "email": "a b@example.org", "link": "x.org", "uuid": "243c25e5a08143a9aeab6d5d5b6cb5e2"},
        {"id": 3, "n": 12.345, "x": 1e300, "code": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "day": "2024-02-30"},
        {"id": 4, "n": -100.5, "x": 0.25, "code": "aaaa", "day": "2024-02-29", "flag": "yes"},
        {"id": "5x", "n": 99.99, "flag": True, "extra": 1},
    ]
    report = tested(
        """
        t:
          additionalFields: false
          fields:
            id: {type: long, required: true, primaryKey: true}
            email: {type: string, format: email, pii: true}
            link: {type: string, format: uri}
            uuid: {type: string, format: uuid}
            n: {type: number, precision: 4, scale: 2}
            x: {type: double, precision: 3, scale: 1}
            code: {type: string, pattern: '^(a+)+$'}
            day: {type: date}
            flag: {type: boolean, format: email}
            gone: {type: string, minLength: 1}
        """,
        {"t.ndjson": "\n".join(map(json.dumps, rows))},
        "t.ndjson",
    )
    assert outcomes(report) == {
        "/id/type": ("fail", 1),
        "/email/format": ("fail", 1),
        "/link/format": ("fail", 1),
        "/uuid/format": ("fail", 1),
        "/n/precision": ("fail", 1),
        "/n/scale": ("fail", 1),
        "/x/precision": ("fail", 1),
        "/x/scale": ("fail", 1),
        "/code/pattern": ("fail", 1),
        "/day/type": ("fail", 1),
        "/flag/type": ("fail", 1),
        "/flag/format": ("unsupported", None),
        "/gone": ("fail", None),
        "/gone/type": ("fail", None),
        "/gone/minLength": ("fail", None),
        "/additionalFields": ("fail", None),
    }
    checks = {c["path"]: c for c in report["checks"]}
    email = checks["/models/t/fields/email/format"]
    assert (email["line"], email["reason"], email["samples"]) == (9, "1 row: id 2", [{"id": 2, "email": "***"}])
    link = checks["/models/t/fields/link/format"]
    assert (link["reason"], link["observed"]) == ("1 row: x.org with id 2", "x.org")
    assert checks["/models/t/additionalFields"]["reason"] == "additional columns: extra"


def test_nested_values(tested):
    rows = [
        {"a": {"zip": "123", "n": 1}, "lines": [{"sku": "x", "n": 1}, {"sku": "yy"}], "m": {"k": 1, "kk": 20}},
        {"a": {"n": 2}, "lines": [{"n": "z"}], "m": {}},
        {"lines": None, "tags": ["a", None]},
    ]
    report = tested(
        """
        t:
          fields:
            a:
              type: object
              fields: {zip: {type: string, required: true, maxLength: 2}, n: {type: int, unique: true}}
            lines:
              type: array
              items: {type: struct, fields: {sku: {type: text, required: true, pattern: '^y'}, n: {type: int}}}
            tags: {type: array, items: {type: string, required: true}}
            m: {type: map, keys: {type: string, maxLength: 1}, values: {type: long, maximum: 9}}
        """,
        {"t.ndjson": "\n".join(map(json.dumps, rows))},
        "t.ndjson",
    )
    assert outcomes(report) == {
        "/a/fields/zip/required": ("fail", 1),
        "/a/fields/zip/maxLength": ("fail", 1),
        "/lines/items/fields/sku/required": ("fail", 1),
        "/lines/items/fields/sku/pattern": ("fail", 1),
        "/lines/items/fields/n/type": ("fail", 1),
        "/tags/items/required": ("fail", 1),
        "/m/keys/maxLength": ("fail", 1),
        "/m/values/maximum": ("fail", 1),
    }


@pytest.mark.parametrize("suffix", ["csv", "ndjson"])
def test_columns_with_names_that_a_program_might_give(tested, suffix: str):
    names = [
        "__value a",
        "__row",
        "__rows",
        "__malformed",
        "__key_0",
        "__rows_of_key_0",
        "__target_1",
        "m0",
        "c0",
        "s0",
    ]
    rows = [{"a": value, **dict.fromkeys(names, "1")} for value in ("1", "x", "1")]
    lines = [",".join(values) for values in (rows[0], *(row.values() for row in rows))]
    report = tested(
        "t:\n  fields:\n    a: {type: string, unique: true, pattern: '^[0-9]+$', references: t.__row}\n"
        + "".join(f"    {name}: {{type: string, required: true, unique: true}}\n" for name in names),
        {"t.csv": "\n".join(lines), "t.ndjson": "\n".join(map(json.dumps, rows))},
        f"t.{suffix}",
    )
    broken = {"/a/unique": ("fail", 2), "/a/pattern": ("fail", 1), "/a/references": ("fail", 1)}
    assert outcomes(report) == {**broken, **{f"/{name}/unique": ("fail", 3) for name in names}}


def test_texts_of_another_type_in_keys(tested):
    """They fail the type, and are different keys, but no missing ones."""
    models = """
        t:
          fields:
            id: {type: long, primaryKey: true}
            u: {type: int, unique: true}
            d: {type: decimal, quality: [{type: library, metric: duplicateValues, mustBe: 0}]}
        """
    rows = "1,1,1\nx,y,z\nw,v,u\n2,,\n3,,\n"
    report = tested(models, {"t.csv": f"id,u,d\n{rows}"}, "t.csv")
    assert outcomes(report) == {"/id/type": ("fail", 2), "/u/type": ("fail", 2), "/d/type": ("fail", 2)}
    report = tested(models, {"t.csv": f"id,u,d\n{rows}x,y,z\n1.0,01,1.00\n"}, "t.csv")
    assert {path: count for path, (_, count) in outcomes(report).items() if not path.endswith("/type")} == {
        "/id/primaryKey": 4,
        "/u/unique": 4,
        "/d/quality/0": 4,
    }


def test_a_file_of_another_format(tested):
    models = "t: {fields: {a: {type: int}}}"
    report = tested(models, {"t.parquet": "a\n1\n"}, "t.parquet")
    (reason,) = {c["reason"] for c in report["checks"]}
    assert reason.startswith("file:/")
    assert "t.parquet is not a Parquet file" in reason


def test_several_models_and_references(tested):
    report = tested(
        """
        orders: {fields: {id: {type: int, primaryKey: true}, parent: {references: orders.id}}}
        lines:
          fields: {order: {type: int, references: orders.id}, o: {references: none.id}, x: {references: orders.y}}
        gone: {fields: {a: {required: true}}}
        """,
        {"orders.csv": "id,parent\n1,\n2,1\n3,9\n", "lines.csv": 'order,o,x\n1,,\n"4",,\n,,\n4,,\n'},
        "{model}.csv",
    )
    failed = {
        c["path"]: (c["outcome"], c["failedRows"], c["reason"]) for c in report["checks"] if c["outcome"] != "pass"
    }
    (gone,) = {reason for path, (_, _, reason) in failed.items() if path.startswith("/models/gone")}
    assert gone.startswith("no file matches ")
    assert {path: v for path, v in failed.items() if not path.startswith("/models/gone")} == {
        "/models/orders/fields/parent/references": ("fail", 1, "1 row: 9 with id 3"),
        "/models/lines/fields/order/references": ("fail", 2, "2 rows: 4, 4"),
        "/models/lines/fields/o/references": (
            "error",
            None,
            "there is no data of model none: add the model to the contract",
        ),
        "/models/lines/fields/x/references": ("error", None, "model orders has no column y"),
    }
    assert report["result"] == "error"


def test_records_that_are_no_rows(tested):
    models = "t: {fields: {a: {type: int}, b: {type: string, required: true}}}"
    report = tested(models, {"t.ndjson": '{"a": 1, "b": "x"}\n{"a": \n'}, "t.ndjson")
    assert outcomes(report) == {"": ("fail", 1), "/b/required": ("fail", 1)}
    report = tested(models, {"t.csv": "a,b\n1,x\n2\n3,y,z\n"}, "t.csv")
    assert outcomes(report) == {"": ("fail", 2), "/b/required": ("fail", 1)}


@pytest.mark.parametrize(("name", "content"), [("t.ndjson", ""), ("t.csv", "a,b\n"), ("t.json", "[]")])
def test_no_rows(tested, name: str, content: str):
    models = (
        "t: {primaryKey: [a], fields: {a: {type: int, required: true}, b: {type: struct, fields: {c: {type: int}}}}}"
    )
    expected = {"/b/type": ("fail", None), "/b/fields/c": ("fail", None), "/b/fields/c/type": ("fail", None)}
    assert outcomes(tested(models, {name: content}, name)) == (expected if name == "t.csv" else {})


@pytest.mark.parametrize(("limit", "jobs"), [(None, 2), (-1, 3)])
def test_jobs(spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int | None, jobs: int):
    """One job reads the schema, one counts the failing rows. Large data take one more for the keys."""
    if limit is not None:
        monkeypatch.setattr(sources.files, "SMALL", limit)
    session = spark.newSession()
    frame = session.range(1000).selectExpr("id", "id AS a", "CAST(id AS STRING) AS s", "id % 10 AS ten")
    frame.write.parquet(str(tmp_path / "t"))
    text = HEAD + (
        "  t: {primaryKey: [a, s], fields: {id: {type: long, primaryKey: true, unique: true, maximum: 999},\n"
        "    a: {required: true, precision: 3}, s: {type: string, minLength: 1, maxLength: 3, pattern: '^[0-9]+$'}}}\n"
    )
    contract = compile_models(parse(text, "c.yaml"), ["t"])
    data = of_data(parse(text, "c.yaml"), ["t"], str(tmp_path / "t"), None)
    store = spark.sparkContext._jsc.sc().statusStore()
    before = {job.jobId() for job in _jobs(store)}
    assert sources.test(session, contract, data, None).result == "passed"
    assert len({job.jobId() for job in _jobs(store)} - before) == jobs


def _jobs(store: Any) -> list[Any]:
    jobs = store.jobsList(None)
    return [jobs.apply(i) for i in range(jobs.size())]


def test_failing_rows_as_a_table(spark, tmp_path: Path):
    (tmp_path / "t.ndjson").write_text('{"a": 1, "b": "x"}\n{"a": 1, "b": "yy"}\n{"a": 2, "b": "x"}\n{"b": null}\n')
    text = HEAD + "  t: {fields: {a: {type: int, unique: true}, b: {pii: true, required: true, maxLength: 1}}}"
    contract = compile_models(parse(text, "c.yaml"), ["t"])
    data = of_data(parse(text, "c.yaml"), ["t"], str(tmp_path / "t.ndjson"), None)
    sources.test(spark.newSession(), contract, data, str(tmp_path / "failed"))
    rows = spark.read.parquet(str(tmp_path / "failed" / "t")).orderBy("a", "failed_clauses").collect()
    field = "/models/t/fields"
    assert [(row["a"], row["b"], row["failed_clauses"]) for row in rows] == [
        (None, None, [f"{field}/b/required"]),
        ("1", "***", [f"{field}/a/unique"]),
        ("1", "***", [f"{field}/a/unique", f"{field}/b/maxLength"]),
    ]
    assert rows[0].__fields__ == ["a", "b", "failed_clauses"]
    (tmp_path / "t.ndjson").write_text('{"a": 1, "b": "x"}\n{broken\n')
    sources.test(spark.newSession(), contract, data, str(tmp_path / "broken"))
    (row,) = spark.read.parquet(str(tmp_path / "broken" / "t")).where("`odf:malformed` IS NOT NULL").collect()
    assert (row["odf:malformed"], "/models/t" in row["failed_clauses"]) == ("***", True)


def test_decimals_keep_their_digits_in_samples(spark):
    text = HEAD + "  t: {fields: {n: {type: decimal, minimum: 0}, s: {fields: {n: {type: decimal, maximum: -2}}}}}"
    contract = compile_models(parse(text, "c.yaml"), ["t"])
    frame = spark.sql("SELECT -12345678901234567890.50BD AS n, struct(-1.20BD AS n, array(1.10BD) AS l) AS s")
    report = document(sources.test_frames(contract, {"t": frame}))
    assert [c["samples"] for c in report["checks"] if c["outcome"] == "fail"] == [
        [{"n": "-12345678901234567890.50"}],
        [{"s": {"n": "-1.20", "l": ["1.10"]}}],
    ]


def test_no_output_has_a_sensitive_value(spark, tmp_path: Path):
    """Neither have clauses on other parts of its column, nor those that show one value of it."""
    text = (
        HEAD
        + dedent("""
      t:
        fields:
          id: {type: int}
          l: {type: array, items: {type: struct, fields: {x: {pii: true}, y: {type: int, maximum: 1}}}}
          m: {type: map, keys: {type: string, pattern: ^q}, values: {type: string, pii: true}}
          a.b: {type: string, pii: true, quality: [{type: library, metric: nullValues, mustBe: 9}]}
          at:
            type: timestamp
            classification: confidential
            quality: [{type: custom, engine: soda, specification: {type: freshness_in_days, must_be_less_than: 1}}]
        primaryKey: [a.b]
    """).replace("\n", "\n  ")
        + dedent("""
    servicelevels:
      freshness: {threshold: 1h, timestampField: t.at}
      retention: {period: 1h, timestampField: t.at}
      latency: {threshold: 1h, sourceTimestampField: t.at, processedTimestampField: t.at}
    """)
    )
    contract = compile_models(parse(text, "c.yaml"), ["t"])
    row = "1 AS id, array(struct('leak' AS x, 2 AS y)) AS l, map('k', 'leak') AS m, 'leak' AS `a.b`"
    rows = spark.sql(f"SELECT {row}, TIMESTAMP'1977-07-07 10:00:00' AS at FROM range(2)")
    report = sources.test_frames(contract, {"t": rows}, "1977-07-08T10:00:00Z")
    shown = json.dumps(document(report))
    assert "leak" not in shown
    assert "1977" not in shown
    assert outcomes(document(report)) == {
        "/l/items/fields/y/maximum": ("fail", 2),
        "/m/keys/pattern": ("fail", 2),
        "/a.b/quality/0": ("fail", 0),
        "/at/quality/0": ("fail", None),
        "/primaryKey": ("fail", 2),
        "/servicelevels/freshness": ("fail", None),
        "/servicelevels/retention": ("fail", None),
    }


def test_a_record_of_csv_that_is_no_row_shows_no_value(spark, tmp_path: Path):
    """With a field too many, or a quote without its end, the values of sensitive fields are in other columns."""
    (tmp_path / "t.csv").write_text('id,mail,z\n1,a@b,q\nx,2,leak1,leak2\nleak3,q\n"3,leak4\n')
    text = HEAD + "  t: {fields: {id: {type: int, primaryKey: true}, mail: {pii: true, format: email}, z: {enum: [q]}}}"
    file = parse(text, "c.yaml")
    data = of_data(file, ["t"], str(tmp_path / "t.csv"), None)
    report = document(sources.test(spark.newSession(), compile_models(file, ["t"]), data, str(tmp_path / "failed")))
    assert outcomes(report) == {
        "": ("fail", 3),
        "/id/type": ("fail", 3),
        "/mail/format": ("fail", 2),
        "/z/enum": ("fail", 1),
    }
    samples = {c["path"]: c["samples"] for c in report["checks"]}
    assert samples["/models/t/fields/z/enum"] == [{"id": "***", "z": "***"}]
    rows = spark.read.parquet(str(tmp_path / "failed" / "t")).collect()
    assert len(rows) == 3
    assert "leak" not in f"{json.dumps(report)} {rows}"


def test_options_of_a_server_reach_each_format(spark, tmp_path: Path):
    """Options of Spark stand for those of Hadoop: without them, S3 has no endpoint and Azure no key."""
    for name in ("read", "skipped"):
        for suffix, content in (("csv", "a\n1\n"), ("json", '{"a": 1}\n'), ("ndjson", '{"a": 1}\n')):
            (tmp_path / suffix).mkdir(exist_ok=True)
            (tmp_path / suffix / f"{name}.{suffix}").write_text(content)
        spark.range(1).selectExpr("1L AS a").write.parquet(str(tmp_path / "parquet" / name))
    for form in ("csv", "json", "ndjson", "parquet"):
        source = Source("t", form, (str(tmp_path / form),), {"pathGlobFilter": "*skipped*"})
        if form == "parquet":
            source = Source("t", form, (str(tmp_path / form / "*"),), {"pathGlobFilter": "none"})
            with pytest.raises(sources.Unreadable):
                sources.read(spark, source, ())
        else:
            assert sources.read(spark, source, ()).frame.count() == 1


@pytest.mark.parametrize(("name", "content"), [("t.csv", 'b\n1\n"2\n'), ("t.json", '{"b": 1}\n{"b":\n')])
def test_data_without_any_field_of_the_contract(tested, name: str, content: str):
    report = tested("t: {fields: {a: {type: int}}}", {name: content}, name)
    missing = {"/a": ("fail", None), "/a/type": ("fail", None)}
    assert outcomes(report) == {"": ("fail", 1), **missing} if name == "t.json" else missing
    assert report["checks"][0]["rows"] == 2


def test_a_file_without_anything(tested):
    report = tested("t: {fields: {}}", {"t.csv": ""}, "t.csv")
    assert [(c["outcome"], c["rows"]) for c in report["checks"]] == [("pass", 0)]


def test_decimals_of_structs_with_odd_names(spark):
    text = HEAD + "  t: {fields: {n: {type: decimal, maximum: 9}, s: {fields: {x: {type: decimal, maximum: 9}}}}}"
    contract = compile_models(parse(text, "c.yaml"), ["t"])
    values = "1BD AS n, named_struct('x', 12345678901234567890.10BD, 'a b', 1.5D) AS s"
    results = sources.test_frames(contract, {"t": spark.sql(f"SELECT {values}")}).results
    (sample,) = (r.samples for r in results if r.outcome == "fail")
    assert sample == ({"s": {"x": "12345678901234567890.10", "a b": 1.5}},)


def test_frames(spark):
    fields = "{n: {type: int, minimum: 2, references: u.n}, z: {type: 'null'}, f: {config: {databricksType: FLOAT}}}"
    text = HEAD + f"  t: {{fields: {fields}}}\n  u: {{fields: {{n: {{}}}}}}"
    contract = compile_models(parse(text, "c.yaml"), ["t"])
    frames = {"t": spark.sql("SELECT 1 AS n, null AS z, 1.5D AS f"), "u": spark.sql("SELECT 2 AS n")}
    assert outcomes(document(sources.test_frames(contract, frames))) == {
        "/n/minimum": ("fail", 1),
        "/n/references": ("fail", 1),
        "/f/config/databricksType": ("fail", None),
    }
