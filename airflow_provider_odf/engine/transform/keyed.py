"""Queries with state, evaluated for the parts of the result that new records touch, or for what these add to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import ddl
from airflow_provider_odf.engine.transform import difference
from airflow_provider_odf.engine.transform.analysis import Totals
from airflow_provider_odf.engine.transform.inputs import COUNT, History, Input, in_memory, matching
from airflow_provider_odf.engine.transform.result import Result
from airflow_provider_odf.engine.transform.row_keys import Part
from airflow_provider_odf.merge_strategies import PRESENT
from airflow_provider_odf.protocol import HistorySlice


@dataclass(frozen=True)
class Touched:
    """Values of a key that new records have, as columns ``odf:key0``, ``odf:key1``, …"""

    part: Part
    values: DataFrame

    @classmethod
    def by(cls, spark: SparkSession, part: Part, inputs: Sequence[Input]) -> Touched:
        """Return the values of a key in the new records."""
        by_number = {i.number: i for i in inputs}
        frames = [
            by_number[number].changes().selectExpr(*(f"{s} AS {quoted(f'odf:key{n}')}" for n, s in enumerate(sql)))
            for number, sql in part.changed
        ]
        return cls(part, in_memory(spark, reduce(DataFrame.unionAll, frames).distinct()))

    def of_result(self, rows: DataFrame, *, inverse: bool = False) -> DataFrame:
        """Return the rows of the result with these values, or those without."""
        pairs = [(quoted(name), f"odf:key{number}") for number, name in enumerate(self.part.columns)]
        return matching(rows, self.values, pairs, inverse=inverse)

    def current(self, history: History, number: int) -> DataFrame:
        """Return the current rows of an input that can be in these parts of the result."""
        if history.key:
            # The records of one primary key can have different values of the part's key.
            return self._of_input(history.current(history.records()), number)
        return history.current(self._of_input(history.records(), number))

    def _of_input(self, rows: DataFrame, number: int) -> DataFrame:
        sides = enumerate(self.part.inputs.get(number) or ())
        known = [(sql, f"odf:key{key}") for key, sql in sides if sql is not None]
        if not known:
            return rows
        return matching(rows, self.values.select(*(quoted(name) for _, name in known)).distinct(), known)


def in_parts(rows: Callable[[Touched], DataFrame], parts: Sequence[Touched]) -> DataFrame:
    """Return the rows that are in the touched parts of the result, from those that can be in each of them."""
    frames: list[DataFrame] = []
    for number, part in enumerate(parts):
        frame = part.of_result(rows(part))
        for other in parts[:number]:
            frame = other.of_result(frame, inverse=True)
        frames.append(frame)
    return reduce(DataFrame.unionAll, frames)


def view(part: Touched, inputs: Iterable[Input]) -> None:
    """Register the current rows of all inputs in a part of the result, as the views that queries read."""
    for i in inputs:
        i.view(part.current(i.history, i.number), is_raw=False)


# --- what new records add ---


def slices(inputs: Sequence[Input], own: Sequence[HistorySlice]) -> Iterator[HistorySlice]:
    """Yield the slices that an evaluation reads: all but those of an input whose new records are evaluated alone."""
    changed = [i for i in inputs if i.is_new]
    yield from own
    for i in inputs:
        yield from i.new_slices if changed == [i] else i.history.slices


Beside: TypeAlias = Mapping[tuple[Input, Input], DataFrame]
"""Records of an input, the second, that can meet the new records of another one, the first. Where a pair is missing,
they are all of its records."""


def beside(inputs: Sequence[Input], parts: Callable[[int], Sequence[Part] | None]) -> Beside:
    """Return the few records of each large input that can meet the new records of another input.

    Result rows with a value of a key depend only on input rows with this value. So the rows that new records give
    depend only on rows of other inputs that have their keys.

    :param parts: returns the keys by which changes of an input are found in the result.
    """
    found: dict[tuple[Input, Input], DataFrame] = {}
    for one in (i for i in inputs if i.is_new):
        for part in parts(one.number) or ():
            ((_, own),) = part.changed
            for other in (i for i in inputs if i is not one):
                for key, key_of_one in zip(part.inputs.get(other.number, ()), own, strict=False):
                    if (one, other) not in found and key is not None:
                        records = other.beside(key, one, key_of_one)
                        found |= {(one, other): records} if records is not None else {}
    return found


def added(query: Callable[[], DataFrame], inputs: Sequence[Input], near: Beside) -> DataFrame:
    """Return the rows that new records add. ``query`` runs over the views that are registered at the time."""
    return _sum(query, inputs, "IN", [i for i in inputs if i.is_new], near)


def removed(query: Callable[[], DataFrame], inputs: Sequence[Input], near: Beside) -> DataFrame | None:
    """Return the rows that new records take from the result, None if they only add."""
    shrinking = [i for i in inputs if not i.only_grows]
    return _sum(query, inputs, "NOT IN", shrinking, near) if shrinking else None


def _sum(
    query: Callable[[], DataFrame], inputs: Sequence[Input], condition: str, changed: Sequence[Input], near: Beside
) -> DataFrame:
    """Return the rows for the records of each changed input that meet a condition on their operation.

    Beside the records of one input, those before it have their rows now, those after it their earlier ones.
    """
    frames: list[DataFrame] = []
    for one in changed:
        for i in inputs:
            op = quoted(i.history.vocab.operation_type_column)
            if i is one:
                rows = i.changes().where(f"{op} {condition} {PRESENT}")
            else:
                is_before = i.number > one.number
                history = i.before() if is_before else i.history
                records = near.get((one, i))
                if records is None:
                    records = history.records()
                elif is_before:
                    records = records.where(F.col(quoted(i.history.vocab.offset_column)) < i.new_from)
                rows = history.current(records)
            i.view(rows, is_raw=False)
        frames.append(query())
    return reduce(DataFrame.unionAll, frames)


def totals(spark: SparkSession, new: DataFrame, own: History, linear: Totals, result: Result) -> DataFrame:
    """Return the records of an aggregate from its rows over new records: each of them is added to the present row of
    its group. They have the columns of `difference.difference`."""
    new = in_memory(spark, new)
    # The query may spell a column in another case than the derivative.
    fields = {f.name.lower(): f for f in new.schema.fields}
    groups, columns = [quoted(fields[c.lower()].name) for c in linear.groups], result.spark_columns
    sums = [_added_up(fields[c.lower()], function) for c, function in linear.functions.items()]
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
