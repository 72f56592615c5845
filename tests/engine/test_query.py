"""What a query of `engine: spark` may do: select from its inputs and from the steps before it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_odf.errors import InvalidQuery

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def session(spark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A session with the inputs `input` and `first`, on a Spark that also has a table, a view and a function."""
    from airflow_provider_odf.engine import session

    table = tmp_path_factory.mktemp("secrets") / "table"
    spark.sql(f"CREATE TABLE secrets USING parquet LOCATION '{table}' AS SELECT 'swordfish' AS word")
    spark.sql("CREATE FUNCTION spell() RETURNS STRING RETURN 'swordfish'")
    spark.sql("CREATE VIEW whispers AS SELECT * FROM secrets")
    spark.sql("SELECT 'swordfish' AS word").createOrReplaceGlobalTempView("shouts")
    columns = "id, CAST(id AS STRING) AS name, array(id, 2) AS ids, DATE '2024-01-01' AS day"
    with session.of_request(spark) as own:
        rows = own.sql(f"SELECT {columns} FROM range(3)")
        rows.createOrReplaceTempView("input")
        rows.select("id").createOrReplaceTempView("`first.step`")
        yield own
    for thing in ("VIEW whispers", "FUNCTION spell", "TABLE secrets"):
        spark.sql(f"DROP {thing}")


def run(session, sql: str) -> object:
    from airflow_provider_odf.engine import query

    return query.run(session, sql, "query 2 (mine)", ("input", "first.step"))


ONE_SELECT = "a query must be one SELECT over input, first.step, but this query has the Spark plan node "

COMMANDS = {
    "SET spark.sql.runSQLOnFiles=true": "Set",
    "RESET": "Reset",
    "SET CATALOG spark_catalog": "SetCatalog",
    "SET VAR x = 1": "SetVariable",
    "DECLARE VARIABLE x INT": "CreateVariable",
    "USE default": "SetCatalogAndNamespace",
    "ADD JAR '{dir}/evil.jar'": "AddJars",
    "ADD FILE '{dir}/victim'": "AddFiles",
    "LIST JARS": "ListJars",
    "CREATE TABLE t USING csv LOCATION '{dir}/victim' AS SELECT * FROM input": "CreateTableAsSelect",
    "CREATE TABLE t (a INT) USING text LOCATION '/etc/passwd'": "CreateTable",
    "CREATE TEMPORARY VIEW v USING text OPTIONS (path '/etc/passwd')": "CreateTempViewUsing",
    "CREATE TEMPORARY VIEW v AS SELECT 1": "CreateView",
    "CREATE TEMPORARY FUNCTION f AS 'java.lang.Runtime'": "CreateFunction",
    "CREATE TEMPORARY FUNCTION f() RETURNS INT RETURN 1": "CreateSQLFunction",
    "INSERT OVERWRITE DIRECTORY '{dir}' USING csv SELECT * FROM input": "InsertIntoDir",
    "INSERT OVERWRITE LOCAL DIRECTORY '{dir}' SELECT * FROM input": "InsertIntoDir",
    "FROM input INSERT OVERWRITE DIRECTORY '{dir}' USING csv SELECT *": "InsertIntoDir",
    "WITH a AS (SELECT 1) INSERT OVERWRITE DIRECTORY '{dir}' USING csv SELECT * FROM a": "InsertIntoDir",
    "INSERT INTO secrets SELECT 'x'": "InsertIntoStatement",
    "INSERT INTO csv.`{dir}` SELECT 'x'": "InsertIntoStatement",
    "DELETE FROM secrets": "DeleteFromTable",
    "UPDATE secrets SET word = 'x'": "UpdateTable",
    "MERGE INTO secrets USING input ON true WHEN MATCHED THEN DELETE": "MergeIntoTable",
    "DROP TABLE secrets": "DropTable",
    "TRUNCATE TABLE secrets": "TruncateTable",
    "ALTER TABLE secrets SET LOCATION '{dir}'": "SetTableLocation",
    "LOAD DATA INPATH '{dir}/victim' INTO TABLE secrets": "LoadData",
    "REFRESH '{dir}'": "RefreshResource",
    "CACHE TABLE c AS SELECT * FROM input": "CacheTableAsSelect",
    "ANALYZE TABLE secrets COMPUTE STATISTICS": "AnalyzeTable",
    "EXPLAIN SELECT * FROM input": "Explain",
    "DESCRIBE secrets": "DescribeRelation",
    "DESCRIBE QUERY SELECT 1": "DescribeQuery",
    "SHOW TABLES": "ShowTables",
    "SHOW CREATE TABLE secrets": "ShowCreateTable",
    "CALL system.rollback('x')": "Call",
    "EXECUTE IMMEDIATE 'DROP TABLE secrets'": "ExecuteImmediate",
    "BEGIN DROP TABLE secrets; END": "CompoundBody",
    "SELECT * FROM IDENTIFIER('secr' || 'ets')": "PlanWithUnresolvedIdentifier",
    "SELECT IDENTIFIER('java_' || 'method')('java.lang.System', 'lineSeparator')": "ExpressionWithUnresolvedIdentifier",
    "SELECT * FROM secrets VERSION AS OF 1": "RelationTimeTravel",
    "SELECT * FROM STREAM secrets": "NamedStreamingRelation",
}  # fmt: skip
"""A statement -> the node that Spark makes of it."""

TABLES = {
    "SELECT * FROM text.`/etc/passwd`": "text, /etc/passwd",
    "SELECT * FROM binaryFile.`/etc`": "binaryFile, /etc",
    "SELECT (SELECT max(value) FROM text.`/etc/passwd`) FROM input": "text, /etc/passwd",
    "SELECT * FROM input WHERE EXISTS (SELECT * FROM text.`/etc/passwd`)": "text, /etc/passwd",
    "SELECT id IN (TABLE text.`/etc/passwd`) FROM input": "text, /etc/passwd",
    "SELECT * FROM input, LATERAL (SELECT * FROM text.`/etc/passwd`)": "text, /etc/passwd",
    "SELECT sum(id) OVER w FROM input WINDOW w AS (ORDER BY (SELECT max(value) FROM text.`/etc/passwd`))":
        "text, /etc/passwd",
    "WITH a AS (WITH b AS (SELECT * FROM text.`/etc/passwd`) TABLE b) TABLE a": "text, /etc/passwd",
    "SELECT * FROM secrets": "secrets",
    "TABLE secrets": "secrets",
    "FROM secrets |> SELECT word": "secrets",
    "SELECT * FROM whispers": "whispers",
    "SELECT * FROM default.secrets": "default, secrets",
    "SELECT * FROM spark_catalog.default.secrets": "spark_catalog, default, secrets",
    "SELECT * FROM global_temp.shouts": "global_temp, shouts",
    "SELECT * FROM input.metadata": "input, metadata",
    "SELECT * FROM jdbc.`jdbc:sqlite:/tmp/x`": "jdbc, jdbc:sqlite:/tmp/x",
}  # fmt: skip

OUT_OF_SCOPE = (
    "WITH a AS (SELECT * FROM secrets), secrets AS (SELECT 1) SELECT * FROM a",
    "WITH a AS (SELECT * FROM whispers), whispers AS (SELECT 1) SELECT * FROM a",
    "SELECT * FROM secrets JOIN (WITH secrets AS (SELECT 1) SELECT * FROM secrets)",
)
"""Tables with the name of a CTE that Spark does not see there."""

REACHING = (
    "java_method('java.lang.System', 'lineSeparator')",
    "`JAVA_METHOD`('java.lang.System', 'lineSeparator')",
    "reflect('java.lang.System', 'lineSeparator')",
    "try_reflect('java.lang.System', 'lineSeparator')",
    "input_file_name()",
    "input_file_block_start()",
    "from_avro(X'00', 'null', map('avroSchemaUrl', '/etc/passwd'))",
    "from_protobuf(X'00', 'M', '/etc/passwd')",
    *(
        f"xpath{kind}('<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a>1</a>', '/a')"
        for kind in ("", "_boolean", "_double", "_float", "_int", "_long", "_number", "_short", "_string")
    ),
)

NAMED = (
    "spell()",
    "default.spell()",
    "spark_catalog.default.spell()",
    "system.builtin.java_method('a', 'b')",
    "no_such(1)",
    "odf_json_len('[]', '[]')",
)

PLACES = (
    "SELECT {} FROM input",
    "SELECT 1 ORDER BY {}",
    "SELECT id FROM input WHERE {} IS NULL",
    "SELECT max(id) OVER w FROM input WINDOW w AS (ORDER BY {})",
    "SELECT (SELECT max(id) OVER w FROM input WINDOW w AS (PARTITION BY {}) LIMIT 1)",
    "SELECT transform(ids, i -> {}) FROM input",
    "WITH a AS (SELECT {}) SELECT * FROM a",
    "SELECT * FROM VALUES ({}), (1)",
    "SELECT * FROM input LATERAL VIEW explode(array({})) t AS x",
    "SELECT * FROM explode(array({}))",
    "SELECT from_json(name, 'a INT', map('mode', {})) FROM input",
    "SELECT CASE WHEN {} = 'a' THEN 1 END",
    "SELECT count(*) FILTER (WHERE {} = 'a') FROM input",
    "SELECT id FROM input GROUP BY GROUPING SETS ((id), ({}))",
    "SELECT id FROM input GROUP BY id HAVING {} = 'a'",
    "SELECT * FROM input PIVOT (max({}) FOR id IN (1, 2))",
    "SELECT /*+ REPARTITION(3, id) */ {} FROM input",
    "SELECT id FROM input DISTRIBUTE BY {}",
    "SELECT 1 LIMIT length({})",
    "SELECT * FROM input a JOIN input b ON a.id = {}",
    "FROM input |> EXTEND {} AS x",
)
"""Where an expression can stand."""


def struct(type_: object, metadata: object = None) -> str:
    return json.dumps(
        {"type": "struct", "fields": [{"name": "a", "type": type_, "nullable": True, "metadata": metadata or {}}]}
    )


MODULE = {"type": "udt", "pyClass": "antigravity.X", "serializedClass": "", "sqlType": "long"}
"""Python's module that opens a browser when it is imported."""

SCHEMAS = (
    json.dumps(MODULE),
    struct(MODULE),
    struct({"type": "udt", "class": "java.util.Timer", "sqlType": "long"}),
    struct("string", {"CURRENT_DEFAULT": "1", "EXISTS_DEFAULT": 'reflect("java.lang.System", "lineSeparator")'}),
    struct("string", {"CURRENT_DEFAULT": "1", "EXISTS_DEFAULT": "(SELECT max(value) FROM text.`/etc/passwd`)"}),
    " \\n\\t" + struct("string"),
    '"integer"',
    "[1]",
)
"""Schemas as JSON that load classes, import modules, or run SQL; and harmless ones."""

TAKING_SCHEMAS = (
    "from_json('{{}}', {})",
    "FROM_JSON('{{}}', {}, map('mode', 'FAILFAST'))",
    "from_csv('1', {})",
    "from_csv(csv => '1', schema => {})",
    "from_xml('<a/>', {})",
    "variant_get(parse_json('1'), '$', {})",
    "try_variant_get(parse_json('1'), '$', {})",
)

COMPUTED = (
    "'a' || ' INT'",
    "concat('{', '}')",
    "CAST(X'7B7D' AS STRING)",
    "X'7B7D'",
    "NULL",
    "'{}' COLLATE UTF8_LCASE",
    "unbase64('e30=')",
    "(SELECT '{}')",
    "name",
)
"""Schemas that cannot be judged before Spark computes them."""


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A folder that holds one file before and after."""
    (tmp_path / "victim").write_text("untouched")
    yield tmp_path
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("victim", "untouched")]


def refused(session, sql: str) -> str:
    with pytest.raises(InvalidQuery) as error:
        run(session, sql)
    return str(error.value)


def test_commands_are_not_run(session, victim: Path) -> None:
    messages = {sql: refused(session, sql.replace("{dir}", str(victim))) for sql in COMMANDS}
    assert messages == {
        sql: f"query 2 (mine): {ONE_SELECT}{name}, which is not allowed" for sql, name in COMMANDS.items()
    }
    assert session.conf.get("spark.sql.runSQLOnFiles") == "false"
    assert session.sql("SELECT word FROM secrets").first() == ("swordfish",)
    assert {row.tableName for row in session.sql("SHOW TABLES").collect()} == {
        "secrets",
        "whispers",
        "input",
        "first.step",
    }


def test_programs_are_not_started(session, tmp_path: Path) -> None:
    script = f'sh -c "touch {tmp_path}/made"'
    for sql in (
        f"SELECT\nTRANSFORM(id) USING '{script}' AS (a) FROM input",
        f"FROM input MAP id\nUSING '{script}' AS a",
        f"SELECT * FROM (SELECT TRANSFORM(id)\nUSING '{script}' FROM input)",
    ):
        message = "query 2 (mine), line 2: TRANSFORM … USING starts a program, which is not allowed: use SQL functions"
        assert refused(session, sql) == message
    assert [*tmp_path.iterdir()] == []


def test_other_tables_and_files_are_not_read(session) -> None:
    messages = {sql: refused(session, sql) for sql in TABLES}
    assert messages == {
        sql: f"query 2 (mine), line 1: unknown table {name}: a query can only read input, first.step"
        for sql, name in TABLES.items()
    }
    for sql in OUT_OF_SCOPE:
        assert "a query can only read input, first.step" in refused(session, sql)


def test_functions_that_reach_beyond_the_rows_are_refused(session) -> None:
    for function in REACHING:
        name = function.partition("(")[0].strip("`")
        message = f"query 2 (mine), line 1: function {name} is not allowed: it reads data or runs code from elsewhere"
        assert refused(session, f"SELECT {function}") == message
    for function in NAMED:
        name = function.partition("(")[0].replace(".", ", ")
        assert refused(session, f"SELECT {function}").endswith(
            f": {name} is not a built-in function of Spark: use only built-in functions"
        )
    assert refused(session, "SELECT 1\n FROM python_worker_logs()").startswith(
        "query 2 (mine), line 2: function python"
    )
    for function in (
        "from_xml('<a/>', 'a INT', map('rowValidationXSDPath', '/x'))",
        "schema_of_xml('<a/>', map('a', 'b'))",
    ):
        assert "are not allowed, because they can name files: remove them" in refused(session, f"SELECT {function}")


def test_functions_are_found_wherever_they_stand(session) -> None:
    reaching = "java_method('java.lang.System', 'lineSeparator')"
    harmless = [
        place
        for place in PLACES
        if "function java_method is not allowed" not in refused(session, place.format(reaching))
    ]
    assert harmless == []


def test_schemas_are_ddl(session) -> None:
    literals = ["'" + schema.replace('\\"', '\\\\"') + "'" for schema in SCHEMAS]
    calls = [call.format(schema) for call in TAKING_SCHEMAS for schema in (*literals, *COMPUTED)]
    ending = " needs its schema or type as DDL in quotes, such as 'STRUCT<a: INT>', not as JSON or expression"
    messages = {call: refused(session, f"SELECT 1,\n {call} FROM input") for call in calls}
    assert messages == {call: f"query 2 (mine), line 2: {call.partition('(')[0]}{ending}" for call in calls}
    within = (
        f"SELECT max(id) OVER w FROM input WINDOW w AS (ORDER BY transform(ids, i -> from_json('1', {literals[1]})))"
    )
    assert refused(session, within).endswith(ending)


def test_types_that_run_code_are_refused(session) -> None:
    from airflow_provider_odf.engine import query

    own = session.newSession()
    default = struct("string", {"CURRENT_DEFAULT": "1", "EXISTS_DEFAULT": "1"})
    for schema in (struct(MODULE), default):
        own.sql(f"SELECT 1 AS id, array(from_json('{{}}', '{schema}')) AS x").createOrReplaceTempView("input")
        with pytest.raises(InvalidQuery, match="column x has a type that runs code: cast it to a SQL type"):
            query.run(own, "SELECT * FROM input", "query 1", ("input",))


def test_several_statements_are_refused(session) -> None:
    assert "Syntax error at or near 'DROP'" in refused(session, "SELECT 1; DROP TABLE secrets")


def test_variables_are_text(session, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(session, "SELECT '${env:PATH} ${spark.master}' AS `${env:PATH}`").collect()[0].asDict() == {
        "${env:PATH}": "${env:PATH} ${spark.master}"
    }
    assert "Syntax error" in refused(session, "SELECT ${env:PATH}")


def test_settings_of_a_cluster_do_not_widen_a_request(spark) -> None:
    from airflow_provider_odf.engine import session

    open_session = spark.newSession()
    open_session.conf.set("spark.sql.runSQLOnFiles", "true")
    open_session.conf.set("spark.sql.variable.substitute", "true")
    with session.of_request(open_session) as own:
        settings = [own.conf.get(f"spark.sql.{name}") for name in ("runSQLOnFiles", "variable.substitute")]
    assert settings == ["false", "false"]


QUERIES = (
    "SELECT * FROM input",
    "select Id, NAME from INPUT as i where i.id between 1 and 2 -- java_method()",
    "SELECT i.id, f.id AS other FROM input i LEFT JOIN `first.step` f ON i.id = f.id + 1",
    "SELECT * FROM input a JOIN input b USING (id) NATURAL JOIN `first.step`",
    "SELECT id FROM input WHERE id IN (SELECT id FROM `first.step`) AND EXISTS (SELECT 1 FROM input)",
    "SELECT id FROM input a LEFT ANTI JOIN input b ON a.id = b.id + 1",
    "TABLE input",
    "VALUES (1, 'a'), (2, upper('b'))",
    "SELECT 'java_method(x)' AS `reflect`, '${env:HOME}' AS input_file_name",
    "SELECT * EXCEPT (ids) FROM input",
    "WITH a AS (TABLE input), b AS (SELECT id FROM a), input AS (SELECT 5) TABLE b UNION ALL TABLE input",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r",
    "SELECT day, count(*), sum(id) FILTER (WHERE id > 1), max_by(name, id) FROM input GROUP BY day HAVING count(*) > 1",
    "SELECT day, count(*) AS n FROM input GROUP BY ALL ORDER BY ALL LIMIT 3 OFFSET 0",
    "SELECT day, id, count(*) FROM input GROUP BY CUBE (day, id)",
    "SELECT id, row_number() OVER (PARTITION BY day ORDER BY id DESC) AS r FROM input",
    "SELECT id, sum(id) OVER w, lag(id) OVER (w) FROM input WINDOW w AS (PARTITION BY day ORDER BY name), v AS (w)",
    "SELECT id, one FROM input LATERAL VIEW OUTER explode(ids) t AS one",
    "SELECT id, explode(ids) AS one FROM input",
    "SELECT id, posexplode(ids) AS (place, one) FROM input",
    "SELECT id, t.one FROM input, LATERAL (SELECT id + 1 AS one) t",
    "SELECT * FROM input, LATERAL explode(ids) AS t(one)",
    "SELECT inline(array(struct(1 AS a, 2 AS b)))",
    "SELECT stack(2, 1, 'a', 2, 'b') AS (n, s)",
    "SELECT * FROM range(3) CROSS JOIN input",
    "SELECT transform(filter(ids, i -> i > 1), (i, n) -> i * n) FROM input",
    "SELECT CAST(name AS DECIMAL(12,2)), name::INT, try_cast(name AS DATE), INTERVAL '1' DAY + day FROM input",
    "SELECT CASE WHEN id > 1 THEN 'a' ELSE coalesce(name, 'b') END, if(id > 1, 1, 2), id <=> 3 FROM input",
    "SELECT from_json('{\"a\": 1}', 'a INT').a, get_json_object('{}', '$.a'), to_json(struct(id)) FROM input",
    "SELECT from_xml('<a><b>1</b></a>', 'b INT').b, from_csv('1', 'a INT').a",
    "SELECT parse_json('{\"a\": 1}'):a::INT",
    "SELECT from_json(name, schema_of_json('{\"a\": [1]}')), from_csv(name, schema_of_csv('1,a')) FROM input",
    "SELECT from_json(name, ' `a b` INT, c STRUCT<d: ARRAY<STRING>> COMMENT \"{\"', map('a', 'b')) FROM input",
    "SELECT from_json(upper(name), 'ARRAY<INT>'), from_xml(name, schema_of_xml('<a><b>1</b></a>')) FROM input",
    "SELECT variant_get(parse_json('1'), '$', 'INT'), try_variant_get(parse_json('1'), '$'), schema_of_json('[1]')",
    "SELECT named_struct('a', 1).a, map('k', 1)['k'], array(1)[0], ids[0] FROM input",
    "SELECT extract(YEAR FROM day), date_format(day, 'yyyy'), to_date('2024', 'yyyy') FROM input",
    "SELECT name RLIKE '^[0-9]+$', name LIKE '1%', regexp_replace(name, '(.)', '$1$1') FROM input",
    "SELECT sha2(name, 256), uuid() IS NULL, now() IS NULL, current_date IS NULL, current_user IS NULL FROM input",
    "SELECT DISTINCT day FROM input DISTRIBUTE BY day SORT BY day",
    "SELECT /*+ BROADCAST(f), REPARTITION(2) */ * FROM input i JOIN `first.step` f ON i.id = f.id",
    "SELECT id FROM input EXCEPT SELECT 1 INTERSECT SELECT id FROM input",
    "(SELECT id FROM input) UNION (SELECT 2) MINUS SELECT 7",
    "SELECT * FROM (SELECT id, day FROM input) PIVOT (sum(id) FOR day IN (DATE '2024-01-01' AS d))",
    "SELECT * FROM (SELECT id, id + 1 AS other FROM input) UNPIVOT (v FOR n IN (id, other))",
    "SELECT * FROM input TABLESAMPLE (100 PERCENT)",
    "FROM input |> WHERE id > 0 |> SELECT id |> EXTEND id + 1 AS n |> AGGREGATE sum(n) AS s GROUP BY id |> ORDER BY s",
    "FROM input SELECT id",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY id), count(DISTINCT id), listagg(name, ',') FROM input;",
    "SELECT id AS a, a + 1 AS b FROM input",
    "SELECT sum(id) AS s, grouping(day) FROM input GROUP BY ROLLUP (day)",
    "SELECT window.start, count(*) FROM (SELECT CAST(day AS TIMESTAMP) AS t FROM input) GROUP BY window(t, '1 day')",
    "SELECT raise_error('no') FROM input WHERE id > 5",
)


def test_queries_of_rows_are_run(session) -> None:
    for sql in QUERIES:
        run(session, sql)


def test_functions_of_spark_are_reviewed(session) -> None:
    """A new Spark may have new functions that reach beyond the rows: review them, then put their number here."""
    from airflow_provider_odf.engine.query import OUTSIDE
    from airflow_provider_odf.engine.spark_version import version

    of_spark = {row[0] for row in session.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert len(of_spark) == {(4, 1): 533, (4, 2): 574}[version(session)]
    assert of_spark >= OUTSIDE or version(session) < (4, 2)
