"""Queries by users: one SELECT over its inputs and earlier queries, without access to anything else.

Spark SQL can also start programs, call Java, read files and catalog tables, and change them. Spark's own plans
therefore decide whether a query may run. First, the parsed plan is checked: to analyze a query, Spark runs commands,
looks up names in catalogs and folds constants. Then the analyzed plan shows how each name was resolved.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine import plan_nodes, spark_internals
from airflow_provider_odf.engine.spark_errors import refusal
from airflow_provider_odf.errors import InvalidQuery

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
"""Package of Spark's parsed expressions. Only named functions can be harmful; they are checked separately."""

_NODES = frozenset({
    "Aggregate", "CTERelationDef", "CTERelationRef", "Distinct", "Except", "Expand", "Filter", "Generate",
    "GlobalLimit", "Intersect", "Join", "LateralJoin", "LocalLimit", "LocalRelation", "LimitAll", "Offset",
    "OneRowRelation", "Pivot", "Project", "Range", "RebalancePartitions", "Repartition",
    "RepartitionByExpression", "ResolvedHint", "Sample", "Sort", "SubqueryAlias", "Transpose", "Union",
    "UnionLoop", "UnionLoopRef", "Unpivot", "Window", "WithCTE",
    # Nodes of parsed plans.
    "MultiAlias", "NamedParameter", "PosParameter", "UnresolvedAlias", "UnresolvedAttribute",
    "UnresolvedExtractValue", "UnresolvedFunction", "UnresolvedGenerator", "UnresolvedHaving", "UnresolvedHint",
    "UnresolvedInlineTable", "UnresolvedOrdinal", "UnresolvedQualify", "UnresolvedRegex", "UnresolvedRelation",
    "UnresolvedStar", "UnresolvedStarExceptOrReplace", "UnresolvedSubqueryColumnAliases", "UnresolvedTVFAliases",
    "UnresolvedTableValuedFunction", "UnresolvedWith", "WithWindowDefinition",
})  # fmt: skip
"""Classes of plan nodes that compute rows from rows."""

OUTSIDE = frozenset({
    "java_method", "reflect", "try_reflect",
    "input_file_name", "input_file_block_start", "input_file_block_length", "python_worker_logs",
    # Options or arguments of these functions name files with schemas.
    "from_avro", "to_avro", "schema_of_avro", "from_protobuf", "to_protobuf",
    # Their parser loads the DTD that a document names, from a file or over the network.
    "xpath", "xpath_boolean", "xpath_double", "xpath_float", "xpath_int", "xpath_long", "xpath_number",
    "xpath_short", "xpath_string",
})  # fmt: skip
"""Functions of Spark that call code by name, or return something other than a result of their arguments."""

_SCHEMA_ARGUMENTS = {"from_json": 1, "from_csv": 1, "from_xml": 1, "variant_get": 2, "try_variant_get": 2}
"""Functions with a schema or type as text, and the index of that argument.

JSON can name classes that Spark loads and modules that pyspark imports (``udt``). It can also contain SQL that Spark
runs without showing it in a plan (defaults in the metadata of a field).
"""

_INFERRED = frozenset({"schema_of_json", "schema_of_csv", "schema_of_xml"})
"""Functions that return the DDL of plain types."""

_DDL = re.compile(r"\s*[\w`]")
"""Beginning of a schema as DDL; JSON begins differently."""

_WITH_OPTIONS = {"from_xml": 3, "schema_of_xml": 2}
"""Functions whose options can name a file, and the number of arguments of a call with options."""


def run(
    spark: SparkSession,
    query: str,
    name: str,
    tables: Collection[str],
    parameters: Mapping[str, object] | None = None,
) -> DataFrame:
    """Return the rows of a query, not computed yet.

    That of a Spark Connect server has been checked by a local Spark, since the server shows no plans.

    ``tables`` are the temporary views that it may read. ``name`` is the query's in messages such as ``query 2 (alias),
    line 3: …``. ``parameters`` are values for ``:name`` in the query, which may use them.

    :raises InvalidQuery: Spark rejects the query, or it does more than select from ``tables``.
    """
    check = None if spark_internals.is_remote(spark) else _QueryCheck(spark, query, name, tables)
    try:
        if check:
            check.parse_tree()
        frame = spark.sql(query, parameters_of(query, parameters or {}))
        if check:
            check.analyzed_plan(frame)
    except PySparkException as e:
        refused = refusal(e, {name: query})
        if refused is None:
            raise
        raise refused from e
    return frame


def parameters_of(query: str, parameters: Mapping[str, object]) -> dict[str, object] | None:
    """Return the parameters that a query names, None if there are none."""
    return {name: value for name, value in parameters.items() if f":{name}" in query} or None


def line_of(word: str, query: str) -> int | None:
    """Return the line of a word in a query, from 1, or None if the query does not contain it."""
    match = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", query, re.IGNORECASE) if word else None
    return query.count("\n", 0, match.start()) + 1 if match else None


class _QueryCheck:
    """Checks one query against the tables and functions that it may use."""

    def __init__(self, spark: SparkSession, query: str, name: str, tables: Collection[str]) -> None:
        self._spark, self._query, self._name, self._tables = spark, query, name, tables
        self._readable = {name.lower() for name in tables}

    def parse_tree(self) -> None:
        """Check the parsed plan.

        :raises InvalidQuery: the query is a command, or uses a table or function that is not allowed.
        """
        plan = spark_internals.parsed_plan(self._spark, self._query)
        nodes = [*plan_nodes.nodes(plan)]
        has_windows = any(plan_nodes.class_name(node) == "WithWindowDefinition" for node in nodes)
        for window in plan_nodes.windows(plan) if has_windows else ():
            nodes += plan_nodes.nodes(window)
        # The analyzed plan shows which of two tables with the same name is meant.
        names = self._readable | {cte["_1"].lower() for node in nodes for cte in node.get("cteRelations", ())}
        for node in nodes:
            self._check_node(node)
            if plan_nodes.class_name(node) == "UnresolvedRelation":
                self._check_table(plan_nodes.name_text(node["multipartIdentifier"]), names)
            if function := plan_nodes.function(node):
                self._check_function(function, node)

    def analyzed_plan(self, frame: DataFrame) -> None:
        """Check the analyzed plan.

        :raises InvalidQuery: a name in the query refers to something other than its tables.
        """
        for node in plan_nodes.nodes(spark_internals.analyzed_plan(frame)):
            if plan_nodes.class_name(node) == "View" and node["isTempView"]:
                self._check_table(node["desc"]["identifier"]["table"], self._readable)
            elif not _is_allowed(node):
                raise self._refusal(
                    f"a query can only read {', '.join(self._tables)}, but this query has the Spark plan node "
                    f"{plan_nodes.class_name(node)}, which is not allowed"
                )
        fields = json.loads(spark_internals.schema_json(frame))["fields"]
        if column := next((field["name"] for field in fields if _runs_code(field)), None):
            raise self._refusal(f"column {column} has a type that runs code: cast it to a SQL type", column)

    def _check_node(self, node: plan_nodes.Node) -> None:
        if _is_allowed(node):
            return
        if plan_nodes.class_name(node) == "ScriptTransformation":
            raise self._refusal("TRANSFORM … USING starts a program, which is not allowed: use SQL functions", "using")
        name = plan_nodes.class_name(node).removeprefix("Unresolved").removesuffix("Command")
        raise self._refusal(
            f"a query must be one SELECT over {', '.join(self._tables)}, but this query has the Spark plan node "
            f"{name}, which is not allowed"
        )

    def _check_table(self, name: str, tables: Collection[str]) -> None:
        if name.lower() not in tables:
            message = f"unknown table {name}: a query can only read {', '.join(self._tables)}"
            raise self._refusal(message, name.rpartition(", ")[2])

    def _check_function(self, name: str, node: plan_nodes.Node) -> None:
        lower = name.lower()
        if lower in OUTSIDE:
            raise self._refusal(f"function {name} is not allowed: it reads data or runs code from elsewhere", name)
        if lower not in spark_internals.builtin_functions():
            raise self._refusal(f"{name} is not a built-in function of Spark: use only built-in functions", name)
        if node["num-children"] >= _WITH_OPTIONS.get(lower, node["num-children"] + 1):
            raise self._refusal(f"options of {name} are not allowed, because they can name files: remove them", name)
        place = _SCHEMA_ARGUMENTS.get(lower, int(node["num-children"]))
        if not all(_is_ddl(schema) for schema in node["below"][place : place + 1]):
            message = (
                f"{name} needs its schema or type as DDL in quotes, such as 'STRUCT<a: INT>', not as JSON or expression"
            )
            raise self._refusal(message, name)

    def _refusal(self, message: str, word: str = "") -> InvalidQuery:
        """Return the error with the line of ``word``, if the query contains it."""
        found = line_of(word, self._query)
        line = f", line {found}" if found else ""
        return InvalidQuery(f"{self._name}{line}: {message}")


def _is_allowed(node: plan_nodes.Node) -> bool:
    return node["class"].startswith(_EXPRESSIONS) or plan_nodes.class_name(node) in _NODES


def _is_ddl(node: plan_nodes.Node) -> bool:
    """Whether an argument is certainly DDL, known before Spark computes anything."""
    if plan_nodes.class_name(node) == "Literal":
        return node["dataType"] == "string" and _DDL.match(node["value"] or "") is not None
    return (plan_nodes.function(node) or "").lower() in _INFERRED


def _runs_code(schema: Any) -> bool:
    """Whether the JSON of a field or type contains a type with code or a default in SQL."""
    if isinstance(schema, dict):
        runs = schema.get("type") == "udt" or "CURRENT_DEFAULT" in schema or "EXISTS_DEFAULT" in schema
        return runs or _runs_code([*schema.values()])
    return isinstance(schema, list) and any(map(_runs_code, schema))
