"""Results of queries that are linear in their new records: what these add to the result and take from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import ddl
from airflow_provider_odf.engine.transform import difference
from airflow_provider_odf.engine.transform.inputs import COUNT, History, Input
from airflow_provider_odf.engine.transform.keyed import in_memory, matching
from airflow_provider_odf.engine.transform.layout import Result
from airflow_provider_odf.engine.transform.linear import Totals
from airflow_provider_odf.merge_strategies import PRESENT
from airflow_provider_odf.protocol import HistorySlice


def slices(inputs: Sequence[Input], own: Sequence[HistorySlice]) -> Iterator[HistorySlice]:
    """Yield the slices that an evaluation reads: all but those of an input whose new records are evaluated alone."""
    changed = [i for i in inputs if i.is_new]
    yield from own
    for i in inputs:
        yield from i.new_slices if changed == [i] else i.history.slices


def added(query: Callable[[], DataFrame], inputs: Sequence[Input]) -> DataFrame:
    """Return the rows that new records add. ``query`` runs over the views that are registered at the time."""
    return _sum(query, inputs, "IN", [i for i in inputs if i.is_new])


def removed(query: Callable[[], DataFrame], inputs: Sequence[Input]) -> DataFrame | None:
    """Return the rows that new records take from the result, None if they only add."""
    shrinking = [i for i in inputs if not i.only_grows]
    return _sum(query, inputs, "NOT IN", shrinking) if shrinking else None


def totals(spark: SparkSession, new: DataFrame, own: History, of: Totals, result: Result) -> DataFrame:
    """Return the records of an aggregate from its rows over new records: each of them is added to the present row of
    its group. They have the columns of `difference.difference`."""
    new = in_memory(spark, new)
    # The query may spell a column in another case than the derivative.
    fields = {f.name.lower(): f for f in new.schema.fields}
    groups, columns = [quoted(fields[c.lower()].name) for c in of.groups], result.spark_columns
    sums = [_added_up(fields[c.lower()], function) for c, function in of.functions.items()]
    row = f"struct({', '.join(columns)})"
    both = _present(own, new, groups, columns).selectExpr(*columns, f"{row} AS `odf:old`")
    both = both.unionAll(new.selectExpr(*columns, "NULL AS `odf:old`"))
    rows = both.groupBy(*groups).agg(F.expr("any_value(`odf:old`, true) AS `odf:old`"), *sums)
    return difference.of_rows(rows.selectExpr("`odf:old`", f"{row} AS `odf:new`"), result)


def _added_up(field: T.StructField, function: str) -> Column:
    name = quoted(field.name)
    return F.expr(f"CAST({function}({name}) AS {ddl(field.dataType)}) AS {name}")


def _present(own: History, new: DataFrame, groups: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """Return the present rows of a derivative in the groups of new rows, each of which has one row at most."""
    records = own.records()
    if groups:
        pairs = [(group, f"odf:group{n}") for n, group in enumerate(groups)]
        values = new.selectExpr(*(f"{group} AS {quoted(name)}" for group, name in pairs))
        records = matching(records, values, pairs)
    count = quoted(COUNT)
    return own.counted(records).groupBy(*columns).agg(F.expr(f"sum({count}) AS {count}")).where(f"{count} > 0")


def _sum(
    query: Callable[[], DataFrame], inputs: Sequence[Input], condition: str, changed: Sequence[Input]
) -> DataFrame:
    """Return the rows for the records of each changed input that meet a condition on their operation.

    Beside the records of one input, those before it have their rows now, those after it their earlier ones.
    """
    found: DataFrame | None = None
    for of in changed:
        for i in inputs:
            op = quoted(i.history.vocab.operation_type_column)
            if i is of:
                rows = i.changes().where(f"{op} {condition} {PRESENT}")
            else:
                history = i.history if i.number < of.number else i.before()
                rows = history.current(history.records())
            i.view(rows, is_raw=False)
        found = query() if found is None else found.unionAll(query())
    assert found is not None  # noqa: S101 - an evaluation has new records
    return found
