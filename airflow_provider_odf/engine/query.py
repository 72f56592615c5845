"""Queries that users write: one SELECT over its inputs and the steps before it, and nothing else of the machine.

Spark SQL can also start programs, call Java, read files and tables of a catalog, and change them. A query is therefore
judged on Spark's own plans. The parsed plan is judged first: to analyse a query, Spark runs commands, looks names up in
catalogs and folds constants. The analysed plan then shows what each name was resolved to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine import plan_nodes, spark_internals
from airflow_provider_odf.engine.refusal import query_name, refusal
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import SqlQueryStep

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
"""The package of expressions that Spark's parser makes: those that may do harm are functions with a name."""

_NODES = frozenset({
    "Aggregate", "CTERelationDef", "CTERelationRef", "Distinct", "Except", "Expand", "Filter", "Generate",
    "GlobalLimit", "Intersect", "Join", "LateralJoin", "LocalLimit", "LocalRelation", "Offset",
    "OneRowRelation", "Pivot", "Project", "Range", "RebalancePartitions", "Repartition",
    "RepartitionByExpression", "ResolvedHint", "Sample", "Sort", "SubqueryAlias", "Transpose", "Union",
    "UnionLoop", "UnionLoopRef", "Unpivot", "Window", "WithCTE",
    # Of parsed plans.
    "MultiAlias", "NamedParameter", "PosParameter", "UnresolvedAlias", "UnresolvedAttribute",
    "UnresolvedExtractValue", "UnresolvedFunction", "UnresolvedGenerator", "UnresolvedHaving", "UnresolvedHint",
    "UnresolvedInlineTable", "UnresolvedRegex", "UnresolvedRelation", "UnresolvedStar",
    "UnresolvedStarExceptOrReplace", "UnresolvedSubqueryColumnAliases", "UnresolvedTVFAliases",
    "UnresolvedTableValuedFunction", "UnresolvedWith", "WithWindowDefinition",
})  # fmt: skip
"""Classes of plans' nodes that compute rows from rows."""

OUTSIDE = frozenset({
    "java_method", "reflect", "try_reflect",
    "input_file_name", "input_file_block_start", "input_file_block_length", "python_worker_logs",
    # Options or arguments of these name files with schemas.
    "from_avro", "to_avro", "schema_of_avro", "from_protobuf", "to_protobuf",
})  # fmt: skip
"""Functions of Spark that call code by its name, or show something other than their arguments."""

_SCHEMA_ARGUMENTS = {"from_json": 1, "from_csv": 1, "from_xml": 1, "variant_get": 2, "try_variant_get": 2}
"""Functions that read a schema or type from a text, and its place among their arguments, from 0.

As JSON it can name classes that Spark loads, modules that pyspark imports (``udt``), and SQL that Spark runs without
showing it in a plan (defaults in the metadata of a field).
"""

_INFERRED = frozenset({"schema_of_json", "schema_of_csv", "schema_of_xml"})
"""Functions that write the DDL of plain types."""

_DDL = re.compile(r"\s*[\w`]")
"""How a schema as DDL begins, and none as JSON does."""

_WITH_OPTIONS = {"from_xml": 3, "schema_of_xml": 2}
"""Functions whose options can name a file, and the number of arguments with which options are given."""


def run(spark: SparkSession, step: SqlQueryStep, number: int, tables: Collection[str]) -> DataFrame:
    """Return the rows of a query, not computed yet. ``tables`` are the temporary views that it may read; ``number`` is
    its place among the queries, for messages: ``query 2 (alias), line 3: …``.

    :raises InvalidQuery: Spark refuses the query, or it does something other than select from ``tables``.
    """
    judge = _Judge(spark, step, number, tables)
    try:
        judge.parsed()
        frame = spark.sql(step.query)
        judge.analysed(frame)
    except PySparkException as e:
        refused = refusal(e, [step], number)
        if refused is None:
            raise
        raise refused from e
    return frame


class _Judge:
    """One query, and what it may use."""

    def __init__(self, spark: SparkSession, step: SqlQueryStep, number: int, tables: Collection[str]) -> None:
        self._spark, self._step, self._number, self._tables = spark, step, number, tables
        self._readable = {name.lower() for name in tables}

    def parsed(self) -> None:
        """:raises InvalidQuery: the query is a command, or names a table or function that it may not use."""
        plan = spark_internals.parsed_plan(self._spark, self._step.query)
        nodes = [*plan_nodes.nodes(plan)]
        has_windows = any(plan_nodes.class_name(node) == "WithWindowDefinition" for node in nodes)
        for window in plan_nodes.windows(plan) if has_windows else ():
            nodes += plan_nodes.nodes(window)
        # Which of two tables of one name is meant shows in the analysed plan.
        names = self._readable | {cte["_1"].lower() for node in nodes for cte in node.get("cteRelations", ())}
        for node in nodes:
            self._check_node(node)
            if plan_nodes.class_name(node) == "UnresolvedRelation":
                self._check_table(plan_nodes.name_text(node["multipartIdentifier"]), names)
            if function := plan_nodes.function(node):
                self._check_function(function, node)

    def analysed(self, frame: DataFrame) -> None:
        """:raises InvalidQuery: a name of the query leads to something other than its tables."""
        for node in plan_nodes.nodes(spark_internals.analysed_plan(frame)):
            if plan_nodes.class_name(node) == "View" and node["isTempView"]:
                self._check_table(node["desc"]["identifier"]["table"], self._readable)
            elif not _is_allowed(node):
                tables = ", ".join(self._tables)
                raise self._refusal(
                    f"a query reads {tables}; this reads {plan_nodes.class_name(node)}, as Spark calls it"
                )
        fields = json.loads(spark_internals.schema_json(frame))["fields"]
        if column := next((field["name"] for field in fields if _runs_code(field)), None):
            raise self._refusal(f"the type of column {column} runs code of its own: cast it to a type of SQL", column)

    def _check_node(self, node: plan_nodes.Node) -> None:
        if _is_allowed(node):
            return
        if plan_nodes.class_name(node) == "ScriptTransformation":
            raise self._refusal("TRANSFORM … USING starts a program, which a query cannot do", "using")
        name = plan_nodes.class_name(node).removeprefix("Unresolved").removesuffix("Command")
        raise self._refusal(f"a query is one SELECT over {', '.join(self._tables)}; this has {name}, as Spark calls it")

    def _check_table(self, name: str, tables: Collection[str]) -> None:
        if name.lower() not in tables:
            message = f"table {name} cannot be found: a query reads {', '.join(self._tables)}"
            raise self._refusal(message, name.rpartition(", ")[2])

    def _check_function(self, name: str, node: plan_nodes.Node) -> None:
        lower = name.lower()
        if lower in OUTSIDE:
            raise self._refusal(f"function {name} reaches beyond the rows of the query and is not available", name)
        if lower not in spark_internals.builtin_functions():
            raise self._refusal(f"Spark has no function {name} of its own; functions of a catalog cannot be used", name)
        if node["num-children"] >= _WITH_OPTIONS.get(lower, node["num-children"] + 1):
            raise self._refusal(f"options of {name} can name files and are not available: leave them out", name)
        place = _SCHEMA_ARGUMENTS.get(lower, int(node["num-children"]))
        if not all(_is_ddl(schema) for schema in node["below"][place : place + 1]):
            message = (
                f"{name} takes a schema or type as DDL in quotes, such as 'STRUCT<a: INT>', not as JSON or computed"
            )
            raise self._refusal(message, name)

    def _refusal(self, message: str, word: str = "") -> InvalidQuery:
        """The error, with the line of a word of the query where it is in it."""
        found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", self._step.query, re.IGNORECASE) if word else None
        line = f", line {self._step.query.count(chr(10), 0, found.start()) + 1}" if found else ""
        return InvalidQuery(f"{query_name(self._number, self._step)}{line}: {message}")


def _is_allowed(node: plan_nodes.Node) -> bool:
    return node["class"].startswith(_EXPRESSIONS) or plan_nodes.class_name(node) in _NODES


def _is_ddl(node: plan_nodes.Node) -> bool:
    """Whether an argument is sure to be DDL before Spark computes anything."""
    if plan_nodes.class_name(node) == "Literal":
        return node["dataType"] == "string" and _DDL.match(node["value"] or "") is not None
    return (plan_nodes.function(node) or "").lower() in _INFERRED


def _runs_code(schema: Any) -> bool:
    """Whether the JSON of a field or type has a type of a program or a default of SQL anywhere in it."""
    if isinstance(schema, dict):
        runs = schema.get("type") == "udt" or "CURRENT_DEFAULT" in schema or "EXISTS_DEFAULT" in schema
        return runs or _runs_code([*schema.values()])
    return isinstance(schema, list) and any(map(_runs_code, schema))
