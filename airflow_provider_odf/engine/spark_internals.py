"""Access to Spark's JVM for which pyspark has no public API.

Only this module uses private names of pyspark. `engine.query` checks plans and functions before a query runs. The size
of the heap bounds the memory of DataFusion.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import DataType, StructType


def has_jvm() -> bool:
    """Whether this process has a JVM, such as that of spark-submit."""
    from pyspark import SparkContext

    return "PYSPARK_GATEWAY_PORT" in os.environ or SparkContext._gateway is not None


def is_remote(spark: SparkSession) -> bool:
    """Whether a session is that of a Spark Connect server. Then nothing else here works with it."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def conf_of(gateway: Any) -> SparkConf:
    """Return the configuration of the JVM behind a gateway."""
    from pyspark import SparkConf

    return SparkConf(loadDefaults=True, _jvm=gateway.jvm)


def submitted() -> dict[str, str]:
    """Return the settings that spark-submit gave to this process, none without it."""
    from pyspark import SparkConf, SparkContext

    if has_jvm():
        SparkContext._ensure_initialized()  # before, a SparkConf of Python has no settings
    return dict(SparkConf().getAll())


def parsed_plan(spark: SparkSession, sql: str) -> Any:
    """Return the parsed plan of a query. Spark looks up and runs nothing for it.

    :raises ParseException: the text is not SQL.
    """
    return spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)


def analyzed_plan(frame: DataFrame) -> Any:
    """Return the analyzed plan of a frame, with resolved names."""
    return frame._jdf.queryExecution().analyzed()


def plan_without_aliases(frame: DataFrame) -> Any:
    """Return the analyzed plan of a frame, with common table expressions inlined and without views and aliases."""
    plan = _catalyst("optimizer.InlineCTE")(True, False).apply(analyzed_plan(frame))
    plan = _object("expressions.EliminatePipeOperators").apply(plan)
    return _object("analysis.EliminateSubqueryAliases").apply(_object("analysis.EliminateView").apply(plan))


_RUN = {
    "ComputeCurrentTime": "the time of the run or its time zone",
    "ReplaceCurrentLike": "the user or the catalog of the session",
    "SpecialDatetimeValues": "a time of the run, from a text such as now or today that it computes",
}
"""Rules by which Catalyst puts values of the run into a plan -> what these are."""


def values_of_run(spark: SparkSession, top: Any) -> Iterator[str]:
    """Yield what the plan of a query depends on beside its arguments, as Catalyst knows it, in words for messages."""
    inner = top.subqueriesAll()
    for found in (top, *(inner.apply(index) for index in range(inner.size()))):
        plan = _rule(spark, "ReplaceExpressions").apply(found)
        if not plan.deterministic():
            yield "random numbers, or on how Spark distributes the rows"
        for name, what in _RUN.items():
            replaced = _rule(spark, name).apply(plan)
            if not replaced.fastEquals(plan):
                yield what
            plan = replaced


def _rule(spark: SparkSession, name: str) -> Any:
    """Return a rule of Catalyst's optimizer."""
    if name == "ReplaceCurrentLike":
        return _catalyst(f"optimizer.{name}")(spark._jsparkSession.sessionState().catalogManager())
    return _object(f"optimizer.{name}")


def text_of_literal(spark: SparkSession, sql: str) -> str:
    """Return the text of a string literal in SQL, without quotes and escapes.

    :raises ParseException: it is none.
    """
    return str(spark._jsparkSession.sessionState().sqlParser().parseExpression(sql).value())


def frame_of(spark: SparkSession, plan: Any) -> DataFrame:
    """Return the rows of an analyzed plan."""
    from pyspark.sql import DataFrame

    return DataFrame(_class("org.apache.spark.sql.classic.Dataset").ofRows(spark._jsparkSession, plan), spark)


def empty_frame(spark: SparkSession, types: StructType) -> DataFrame:
    """Return a frame without rows, which needs no job and no Python. Spark's optimizer knows that it has none."""
    from pyspark.sql import DataFrame

    schema = spark._jsparkSession.parseDataType(types.json())
    return DataFrame(spark._jsparkSession.createDataFrame(_class("java.util.ArrayList")(), schema), spark)


def read_json(reader: DataFrameReader, texts: DataFrame) -> DataFrame:
    """Return the records of JSON texts, the column ``value`` of a frame."""
    from pyspark.sql import DataFrame

    encoder = _class("org.apache.spark.sql.Encoders").STRING()
    texts_of_jvm = getattr(texts._jdf, "as")(encoder)
    return DataFrame(reader._jreader.json(texts_of_jvm), texts.sparkSession)


def project(columns: Any, plan: Any) -> Any:
    """Return a plan with these columns, a sequence of the JVM, of another plan."""
    return _catalyst("plans.logical.Project")(columns, plan)


def with_children(plan: Any, children: Sequence[Any]) -> Any:
    """Return a plan or an expression with other children."""
    return plan.withNewChildren(_seq(children))


def optimized_plan(frame: DataFrame) -> Any:
    """Return the optimized plan of a frame, in which correlated subqueries are joins."""
    return frame._jdf.queryExecution().optimizedPlan()


def items(sequence: Any) -> list[Any]:
    """Return the items of a sequence of the JVM."""
    return [sequence.apply(index) for index in range(sequence.size())]


def kind(node: Any) -> str:
    """Return the name of the class of a plan node or expression, without its package."""
    return str(node.getClass().getSimpleName())


def is_subquery(expression: Any) -> bool:
    """Whether an expression has a plan."""
    return _is(expression, "org.apache.spark.sql.catalyst.expressions.SubqueryExpression")


def has_subqueries(node: Any) -> bool:
    """Whether an expression of a plan node has a plan. Those of the nodes below do not count."""
    return not node.subqueries().isEmpty()


def with_expressions(plan: Any, change: Callable[[Any], Any]) -> Any:
    """Return a plan node with other expressions, which a function makes of each."""
    old = [plan.productElement(index) for index in range(plan.productArity())]
    new = [_changed(value, change) for value in old]
    if all(a is b for a, b in zip(old, new, strict=True)):
        return plan
    return _copy(plan, new)


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a field of a node with changed expressions, itself if none is changed."""
    if _is(value, "org.apache.spark.sql.catalyst.expressions.Expression"):
        new = change(value)
        return value if new.fastEquals(value) else new
    if _is(value, "scala.Some"):
        inner = value.get()
        new = _changed(inner, change)
        return value if new is inner else _class("scala.Option").apply(new)
    if _is(value, "scala.collection.immutable.Seq"):
        old = items(value)
        changed = [_changed(item, change) for item in old]
        return value if all(a is b for a, b in zip(old, changed, strict=True)) else _seq(changed)
    return value


def without_negative_zero(expression: Any) -> Any:
    """Return an expression whose floating-point values are those of GROUP BY: one zero, and one NaN."""
    return _object("optimizer.NormalizeFloatingNumbers").normalize(expression)


def replaced(text: Any, pattern: str, new: str) -> Any:
    """Return an expression with the first match of a regular expression in a text replaced."""
    literal = _object("expressions.Literal")
    return _catalyst("expressions.RegExpReplace")(text, literal.apply(pattern), literal.apply(new))


def ascending(expression: Any) -> Any:
    """Return the ascending order by an expression."""
    directions = (_object(f"expressions.{name}") for name in ("Ascending", "NullsFirst"))
    return _catalyst("expressions.SortOrder")(expression, *directions, _seq([]))


def with_one_zero(frame: DataFrame, names: Collection[str]) -> DataFrame:
    """Return the rows of a frame with the floating-point values of GROUP BY in some columns: one zero, and one NaN."""
    if not names:
        return frame
    plan = analyzed_plan(frame)
    columns = [column(without_negative_zero(c), c.name()) if c.name() in names else c for c in items(plan.output())]
    return frame_of(frame.sparkSession, project(_seq(columns), plan))


def column(expression: Any, name: str = "odf:value") -> Any:
    """Return an expression as a new column."""
    new_id = _object("expressions.NamedExpression").newExprId()
    return _catalyst("expressions.Alias")(expression, name, new_id, _seq([]), _none(), _seq([]))


def without_distinct(aggregate: Any) -> Any:
    """Return an aggregate in which no function has DISTINCT: another one below it has the distinct values."""
    true = _object("expressions.Literal").TrueLiteral()

    def filtered(expression: Any) -> Any:
        if kind(expression) == "AggregateExpression":
            if not expression.isDistinct() or expression.filter().isDefined():
                return expression
            values = [expression.productElement(index) for index in range(expression.productArity())]
            return _copy(expression, [*values[:3], _class("scala.Option").apply(true), *values[4:]])
        below = [filtered(child) for child in items(expression.children())]
        return with_children(expression, below) if below else expression

    # Spark's rule leaves a single DISTINCT without a filter to hash tables.
    return _object("optimizer.RewriteDistinctAggregates").rewrite(with_expressions(aggregate, filtered))


def with_columns(columns: Sequence[Any], plan: Any) -> Any:
    """Return a plan that has further columns."""
    return project(_seq([*items(plan.output()), *columns]), plan) if columns else plan


def sorted_groups(groups: Sequence[Any], order: Sequence[Any], plan: Any) -> Any:
    """Return a plan whose rows of a group are in one partition, each of which is sorted. Without groups, there is one
    partition."""
    number = _none() if groups else _class("scala.Option").apply(1)
    together = _catalyst("plans.logical.RepartitionByExpression")(_seq(groups), plan, number, _none())
    return _catalyst("plans.logical.Sort")(_seq(order), False, together, _none())


def schema_json(frame: DataFrame) -> str:
    """Return the schema of a frame as JSON. ``frame.schema`` would import modules that a type names."""
    return str(frame._jdf.schema().json())


def node_names(frame: DataFrame) -> Iterator[str]:
    """Yield the names of the nodes of a frame's optimized plan, and ``Subquery`` if it has subqueries."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    if not plan.subqueriesAll().isEmpty():
        yield "Subquery"
    yield from _names(plan)


def _names(plan: Any) -> Iterator[str]:
    yield plan.nodeName()
    children = plan.children()
    for index in range(children.size()):
        yield from _names(children.apply(index))


@cache
def builtin_functions() -> frozenset[str]:
    """Return the names of Spark's built-in functions, without catalogs."""
    registries = (_catalyst("analysis.FunctionRegistry"), _catalyst("analysis.TableFunctionRegistry"))
    names = " ".join(registry.functionSet().mkString(" ") for registry in registries)
    return frozenset(name.rpartition(".")[2] for name in names.split())


def heap_bytes() -> int:
    """Return the maximum heap size of the driver in bytes."""
    return int(_class("java.lang.Runtime").getRuntime().maxMemory())


def size_in_bytes(frame: DataFrame) -> int:
    """Return Spark's estimate of the size of a frame: of its files, or more."""
    return int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())


def parquet_schema(spark: SparkSession, uri: str) -> Any:
    """Return the schema in the footer of a Parquet file, as an object of the JVM.

    :raises Py4JJavaError: the file cannot be read, or is not Parquet.
    """
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    path = _class("org.apache.hadoop.fs.Path")(_class("java.net.URI")(uri))
    file = _class("org.apache.parquet.hadoop.util.HadoopInputFile").fromPath(path, conf)
    reader = _class("org.apache.parquet.hadoop.ParquetFileReader").open(file)
    try:
        return reader.getFileMetaData().getSchema()
    finally:
        reader.close()


def type_of_parquet(spark: SparkSession, field: Any) -> DataType:
    """Return the type of a field in the schema of a Parquet file, with the settings of a session.

    :raises Py4JJavaError: Spark cannot read the type.
    """
    from pyspark.sql.types import StructType

    conf = spark._jsparkSession.sessionState().conf()
    converter = _class("org.apache.spark.sql.execution.datasources.parquet.ParquetToSparkSchemaConverter")(conf)
    fields = _class("java.util.ArrayList")()
    fields.add(field)
    schema = converter.convert(_class("org.apache.parquet.schema.MessageType")("root", fields))
    return StructType.fromJson(json.loads(schema.json())).fields[0].dataType


def _copy(node: Any, values: Sequence[Any]) -> Any:
    array = _gateway().new_array(_class("java.lang.Object"), len(values))
    for index, value in enumerate(values):
        array[index] = value
    return node.makeCopy(array)


def _is(value: Any, name: str) -> bool:
    from py4j.java_gateway import JavaObject

    return isinstance(value, JavaObject) and bool(_class("py4j.reflection.TypeUtil").isInstanceOf(name, value))


def _seq(values: Sequence[Any]) -> Any:
    return _class("org.apache.spark.api.python.PythonUtils").toSeq(list(values))


def _none() -> Any:
    return _object_of("scala.None")


def _catalyst(name: str) -> Any:
    """Return a class in a package of Catalyst."""
    return _class(f"org.apache.spark.sql.catalyst.{name}")


def _object(name: str) -> Any:
    """Return an object of Scala in a package of Catalyst."""
    return _object_of(f"org.apache.spark.sql.catalyst.{name}")


def _object_of(name: str) -> Any:
    return getattr(_class(f"{name}$"), "MODULE$")


def _class(name: str) -> Any:
    """Return a class of the JVM. By `SparkContext._jvm`, the JVM would search its jars for each part of the name."""
    from py4j.java_gateway import JavaClass

    return JavaClass(name, _gateway()._gateway_client)


def _gateway() -> Any:
    from pyspark import SparkContext

    return SparkContext._gateway
