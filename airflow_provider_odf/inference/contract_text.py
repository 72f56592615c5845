"""A data contract as YAML, guessed from samples: types, keys, ranges and lists of values, each with where it comes
from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.contract.binding import model_of
from airflow_provider_odf.inference.sample import is_full
from airflow_provider_odf.inference.yaml_lines import scalar
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow_provider_odf.inference.manifest_text import Inferred

_TYPES = {
    "BIGINT": "long",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "DECIMAL": "decimal",
    "DOUBLE": "double",
    "STRING": "string",
    "TIMESTAMP": "timestamp",
}
_NUMBERS = ("BIGINT", "DECIMAL", "DOUBLE")
_MOST_VALUES = 12
"""Values of a list."""
_REPEATED = 4
"""How often a value of a list occurs on average, at least."""


def contract(inferred: Inferred) -> str:
    """Return the contract of a dataset, which its samples fulfil."""
    return "\n".join(_lines(inferred)) + "\n"


def _lines(inferred: Inferred) -> Iterator[str]:
    rows = counted(sum(len(sample.rows) for sample in inferred.samples), "row")
    yield f"# Guessed by `odf new --contract` from {rows}: new data may well differ. Check each clause, remove what is"
    yield "# too strict, and add what you know."
    yield from ("dataContractSpecification: 1.2.1", f"id: {scalar(f'urn:datacontract:{inferred.name}')}", "info:")
    yield from (f"  title: {scalar(inferred.name)}", "  version: 0.1.0", "models:")
    yield from (f"  {scalar(model_of(inferred.name))}:", "    type: table", "    fields:")
    for name in inferred.types:
        yield f"      {scalar(name)}:"
        yield from (f"        {line}" for line in _field(inferred, name))


def _field(inferred: Inferred, name: str) -> Iterator[str]:
    sql, of_text = inferred.types[name].sql.partition("(")[0], inferred.samples[0].kind != "Parquet"
    # A Parquet file has types of its own, such as INT, and the samples have values only.
    kind = [f"type: {_TYPES[sql]}"] if of_text else []
    clauses = [*kind, *_clauses(inferred, name, sql)]
    yield from clauses or ["description: no clause is guessed"]


def _clauses(inferred: Inferred, name: str, sql: str) -> Iterator[str]:
    key, values = inferred.merge.key, _values(inferred, name)
    if is_full(inferred.samples, name):
        yield "required: true  # never null in the sample"
    if key == (name,):
        yield from ("unique: true", "primaryKey: true  # the key of the manifest")
    elif sql in _NUMBERS and values:
        numbers = [Decimal(str(value)) for value in values]
        yield from (f"minimum: {min(numbers):f}  # the least of the sample", f"maximum: {max(numbers):f}")
    elif sql == "STRING" and name not in key and (known := _known(values)):
        yield f"enum: [{', '.join(map(scalar, known))}]  # all values of the sample"


def _values(inferred: Inferred, name: str) -> list[Any]:
    samples = (sample for sample in inferred.samples if name in sample.columns)
    return [value for sample in samples for value in sample.values(name) if value is not None]


def _known(values: Sequence[Any]) -> list[str]:
    """Return the values of a column that has few, none of one that has many."""
    if not all(isinstance(value, str) for value in values):
        return []
    known = sorted(set(values))
    return known if 1 < len(known) <= _MOST_VALUES and len(known) * _REPEATED <= len(values) else []
