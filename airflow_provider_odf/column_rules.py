"""Rules for the columns of new rows: names of system columns, the event time, and the columns of a merge strategy.

The rules apply to declared columns, to the output of queries, and to the columns that the engine read. Names are
compared ignoring case. Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from airflow_provider_odf.merge_strategies import MERGE_STRATEGIES, OperationColumn
from airflow_provider_odf.protocol import DatasetVocabulary, MergeStrategy
from airflow_provider_odf.wording import listed, suggestion

_TIMES = ("", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
RESERVED = "odf:"
"""Beginning of the names of columns that the engine adds while it computes."""

_NESTED = ("ARRAY", "STRUCT")
_TEXTS = ("STRING", "CHAR", "VARCHAR", "BOOLEAN", "BINARY", *_NESTED)


@dataclass(frozen=True)
class ColumnProblem:
    """A problem with a column: ``part`` is the wrong property, ``name`` is the column as written there."""

    part: Literal["columns", "merge", "primary_key", "compare_columns"]
    name: str
    message: str
    fix: str


def check(
    columns: Mapping[str, str], vocab: DatasetVocabulary, merge: MergeStrategy | None, place: str = "the data"
) -> Iterator[ColumnProblem]:
    """Yield the problems that prevent a merge of rows with these columns, or their use as rows of a derivative.

    :param merge: None for a derivative.
    :param columns: Spark types by name, such as ``DECIMAL(12,2)``; the type is empty if unknown.
    :param place: how messages name the columns, such as ``the declared schema``.
    """
    yield from _system_columns(columns, vocab, merge, place)
    yield from _event_time(columns, vocab.event_time_column, "in `preprocess`" if merge else "in the query")
    if merge is None:
        return
    data = {name: kind for name, kind in columns.items() if name.lower() != vocab.operation_type_column.lower()}
    yield from _merge_columns("primary_key", merge.primary_key, data, place)
    yield from _merge_columns("compare_columns", merge.compare_columns or (), data, place)
    yield from _nested_keys(columns, merge)


def _system_columns(
    columns: Mapping[str, str], vocab: DatasetVocabulary, merge: MergeStrategy | None, place: str
) -> Iterator[ColumnProblem]:
    """Yield problems with the names of system columns, which the engine adds.

    The data may only have the event time and, for streams and derivatives, the operation.
    """
    use = MERGE_STRATEGIES[merge.kind].operation_column if merge else OperationColumn.OPTIONAL
    where = "in `preprocess`" if merge else "in the query"
    added = {vocab.offset_column.lower(): "offsetColumn", vocab.system_time_column.lower(): "systemTimeColumn"}
    operation = vocab.operation_type_column
    if use is OperationColumn.NONE:
        added[operation.lower()] = "operationTypeColumn"
    present = {name.lower() for name in columns}
    is_star = merge is None and {*added, operation.lower()} <= present
    for name in columns:
        if name.lower().startswith(RESERVED):
            message = f"column {name} has the prefix {RESERVED}, which names columns of the engine"
            yield ColumnProblem(
                "columns", name, message, f"rename it {where}, in Spark SQL ``{name}` AS {_renamed(name)}`"
            )
        if field := added.get(name.lower()):
            fix = (
                f"rename it {where} (`{name} AS {name}_1`), or, if the dataset has no data yet, rename the "
                f"system column with SetVocab.{field}"
            )
            if is_star:
                omitted = ", ".join((vocab.offset_column, operation, vocab.system_time_column))
                fix = (
                    "a `*` selects the system columns of the input, too: list the columns in the query, in Spark SQL "
                    f"also `* EXCEPT ({omitted})`"
                )
            yield ColumnProblem("columns", name, f"column {name} has the name of a system column", fix)
    if merge and use is OperationColumn.REQUIRED and operation.lower() not in present:
        message = f"a {merge.kind} needs the column {operation}, which is not in {place}"
        fix = f"add it, or name one of {listed([*columns])} in SetVocab.operationTypeColumn"
        yield ColumnProblem("merge", operation, message, fix)


def _renamed(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _event_time(columns: Mapping[str, str], event_time: str, where: str) -> Iterator[ColumnProblem]:
    for name, kind in columns.items():
        if name.lower() == event_time.lower() and kind not in _TIMES:
            fix = f"{_conversion(name, kind, where)}, or name another column in SetVocab.eventTimeColumn"
            yield ColumnProblem("columns", name, f"event time column {name} must be DATE or TIMESTAMP, not {kind}", fix)


def _conversion(name: str, kind: str, where: str) -> str:
    """Return advice on converting a column to a time. Only the author of the manifest knows the unit of a number."""
    if kind.startswith(_TEXTS):
        return f"cast it {where}, in Spark SQL `to_timestamp({name}) AS {name}`"
    forms = {"seconds": f"timestamp_seconds({name})", "milliseconds": f"timestamp_millis({name})"}
    forms["a year"] = f"make_date({name}, 1, 1)"
    return f"convert it {where}, in Spark SQL {', '.join(f'`{sql}` for {unit}' for unit, sql in forms.items())}"


def _merge_columns(
    part: Literal["primary_key", "compare_columns"], names: Sequence[str], columns: Mapping[str, str], place: str
) -> Iterator[ColumnProblem]:
    present = {name.lower() for name in columns}
    for name in names:
        if name.lower() not in present:
            yield ColumnProblem(part, name, f"column {name} is not in {place}", suggestion(name, [*columns]))


def _nested_keys(columns: Mapping[str, str], merge: MergeStrategy) -> Iterator[ColumnProblem]:
    types = {name.lower(): kind for name, kind in columns.items()}
    for name in merge.primary_key:
        if types.get(name.lower(), "").startswith(_NESTED):
            message = f"column {name} is a list or a struct, which cannot be a key"
            yield ColumnProblem("primary_key", name, message, "choose columns with scalar types")
