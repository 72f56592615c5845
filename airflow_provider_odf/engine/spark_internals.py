"""What the engine asks of Spark's JVM, and for which pyspark has no public way.

Only this module uses private names of pyspark. Plans and functions are judged before a query may run (`engine.query`),
and the heap bounds the memory of DataFusion.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import DataFrame, SparkSession


def has_jvm() -> bool:
    """Return whether this process has a JVM, such as that of spark-submit."""
    from pyspark import SparkContext

    return "PYSPARK_GATEWAY_PORT" in os.environ or SparkContext._gateway is not None


def conf_of(gateway: Any) -> SparkConf:
    """Return the configuration of the JVM behind a gateway."""
    from pyspark import SparkConf

    return SparkConf(loadDefaults=True, _jvm=gateway.jvm)


def parsed_plan(spark: SparkSession, sql: str) -> Any:
    """Return the plan of a query as Spark parses it; nothing is looked up or run.

    :raises ParseException: it is no SQL.
    """
    return spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)


def analysed_plan(frame: DataFrame) -> Any:
    """Return the plan of a frame with its names resolved."""
    return frame._jdf.queryExecution().analyzed()


def schema_json(frame: DataFrame) -> str:
    """Return the schema of a frame as JSON. ``frame.schema`` would import modules that a type names."""
    return str(frame._jdf.schema().json())


def node_names(frame: DataFrame) -> Iterator[str]:
    """Yield the names of the nodes of a frame's optimized plan; ``Subquery`` where it has subqueries."""
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
    """Return the names of Spark's own functions; names of several parts lead to those of catalogs."""
    from pyspark import SparkContext

    jvm: Any = SparkContext._jvm
    analysis = jvm.org.apache.spark.sql.catalyst.analysis
    registries = (analysis.FunctionRegistry, analysis.TableFunctionRegistry)
    names = " ".join(registry.functionSet().mkString(" ") for registry in registries)
    return frozenset(name.rpartition(".")[2] for name in names.split())


def heap_bytes() -> int:
    """Return the largest heap of the driver."""
    from pyspark import SparkContext

    jvm: Any = SparkContext._jvm
    return int(jvm.java.lang.Runtime.getRuntime().maxMemory())
