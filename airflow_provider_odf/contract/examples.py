"""Check that the examples of a contract satisfy their own fields."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import chain
from typing import Any

import regex

from airflow_provider_odf.clauses import CHARACTER_TYPES, INTEGER_TYPES, KINDS, NUMERIC_TYPES
from airflow_provider_odf.contract import ecma_patterns
from airflow_provider_odf.contract.load import ContractFile
from airflow_provider_odf.contract.model import Field, Model
from airflow_provider_odf.engine.contract.formats import FORMATS
from airflow_provider_odf.errors import Problem
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.protocol import Check
from airflow_provider_odf.wording import counted

_TIMEOUT = 1.0


def of_fields(file: ContractFile, checks: Iterable[Check]) -> Iterator[Problem]:
    """Yield the examples of fields that do not satisfy them. ``checks`` are those of all models."""
    return chain.from_iterable(examples.of_fields() for examples in _of_models(file, checks))


def of_models(file: ContractFile, checks: Iterable[Check]) -> Iterator[Problem]:
    """Yield the values in examples of models that do not satisfy their fields, once for each field and clause.

    ``checks`` are those of all models.
    """
    return chain.from_iterable(examples.of_model() for examples in _of_models(file, checks))


def _of_models(file: ContractFile, checks: Iterable[Check]) -> Iterator[_Examples]:
    by_model: dict[str, dict[str, list[Check]]] = {}
    for check in checks:
        if check.field and not check.outcome:
            by_model.setdefault(check.model, {}).setdefault(check.field, []).append(check)
    for model in file.contract.models:
        yield _Examples(file, model, by_model.get(model.name, {}))


@dataclass(frozen=True)
class _Examples:
    """The examples of a model. ``checks`` are those of its fields, by path."""

    file: ContractFile
    model: Model
    checks: Mapping[str, Sequence[Check]]

    def of_fields(self) -> Iterator[Problem]:
        for field in self.model.fields:
            yield from self._of_field(field, field.name)

    def of_model(self) -> Iterator[Problem]:
        clause = self.model.clause("examples")
        for index, example in enumerate(clause.value if clause and isinstance(clause.value, list) else ()):
            place = self.file.place_of(clause.path if clause else "", index)
            rows = [{str(name).lower(): value for name, value in row.items()} for row in _rows(example)]
            for field in self.model.fields:
                failures: dict[str, list[str]] = {}
                for row in rows:
                    for text, reason in self._failures(field, field.name, row.get(field.name.lower())):
                        failures.setdefault(reason, []).append(text)
                for reason, texts in failures.items():
                    yield Problem(place, f"{counted(len(texts), 'example row')}, such as {texts[0]}: {reason}")

    def _of_field(self, field: Field, path: str) -> Iterator[Problem]:
        for clause in (clause for clause in field.clauses if clause.name in ("example", "examples")):
            is_list = clause.name == "examples" and isinstance(clause.value, list)
            for index, value in enumerate(clause.value if is_list else [clause.value]):
                # An example of a definition has the place of the definition.
                place = self.file.place_of(clause.path, index)
                place = place if self.file.place_of(clause.path) == clause.place else clause.place
                for text, reason in self._failures(field, path, value):
                    yield Problem(place, f"example {text}: {reason}")
        for end, child in field.children:
            yield from self._of_field(child, path + end)

    def _failures(self, field: Field, path: str, value: Any) -> Iterator[tuple[str, str]]:
        """Yield a value that does not satisfy a field or the fields inside it, and the clause that it breaks."""
        checks = self.checks.get(path, ())
        if value is None:
            yield from (("null", check.description) for check in checks if check.kind == "required")
            return
        try:
            typed = _typed(value, field.type)
        except (ValueError, InvalidOperation, TypeError):
            yield repr(value), f"{path} is of type {field.type}"
            return
        for check in checks:
            if not _holds(typed, check):
                yield repr(value), check.description
        for end, child in field.children:
            for inner in _inside(typed, end, child.name):
                yield from self._failures(child, path + end, inner)


def _rows(example: Any) -> list[Mapping[str, Any]]:
    """Return the rows of an example of a model: CSV with a header, one row or a list of them."""
    if isinstance(example, str):
        rows = csv.DictReader(io.StringIO(example.strip()), skipinitialspace=True)
        return [{name: value or None for name, value in row.items() if name} for row in rows]
    return [row for row in (example if isinstance(example, list) else [example]) if isinstance(row, dict)]


def _inside(value: Any, end: str, name: str) -> Iterator[Any]:
    if isinstance(value, dict):
        if end.startswith("."):
            yield value.get(name)
        elif end in ("{key}", "{value}"):
            yield from value.keys() if end == "{key}" else value.values()
    elif isinstance(value, list) and end == "[]":
        yield from value


def _typed(value: Any, kind: str | None) -> Any:
    """Return a value in the type of its field.

    :raises ValueError: it has no such value. So do TypeError and InvalidOperation.
    """
    if kind in CHARACTER_TYPES and isinstance(value, dict | list):
        raise ValueError(value)
    if kind in CHARACTER_TYPES:
        return str(value)
    convert = _CONVERSIONS.get(kind or "")
    return convert(value) if convert else value


def _number(value: Any) -> Decimal:
    if isinstance(value, bool):
        raise ValueError(value)
    return Decimal(str(value))


def _integer(value: Any, bits: int) -> Decimal:
    number = _number(value)
    if number != number.to_integral_value() or not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(value)
    return number


def _boolean(value: Any) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise ValueError(value)
    return str(value).lower() == "true"


def _instance(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(value)
    return value


def _time(value: Any) -> Any:
    text = str(value).strip().replace(" ", "T", 1)
    with suppress(ValueError):
        return Instant.parse(text)
    return dt.datetime.fromisoformat(text)


_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(NUMERIC_TYPES - INTEGER_TYPES, _number),
    **dict.fromkeys(("int", "integer"), partial(_integer, bits=32)),
    **dict.fromkeys(("long", "bigint"), partial(_integer, bits=64)),
    **dict.fromkeys(("timestamp", "timestamp_tz", "timestamp_ntz"), _time),
    **dict.fromkeys(("object", "record", "struct", "map"), partial(_instance, kind=dict)),
    "boolean": _boolean,
    "date": lambda value: dt.date.fromisoformat(str(value)),
    "time": lambda value: dt.time.fromisoformat(str(value)),
    "array": partial(_instance, kind=list),
    "bytes": partial(_instance, kind=str),
}


def _holds(value: Any, check: Check) -> bool:
    """Whether a value satisfies a clause, as far as a single example can."""
    kind = KINDS.get(check.kind)
    if kind is None or (measure := MEASURES.get(kind.measure)) is None:
        return True
    measured = measure(value, check)
    if not kind.operator:
        return bool(measured)
    limit = check.arguments["limit"]
    return measured is None or isinstance(limit, str) or kind.comparison.holds(measured, Decimal(str(limit)))


def _matches(value: Any, pattern: str) -> bool:
    try:
        return regex.search(pattern.replace(r"\z", r"\Z"), str(value), timeout=_TIMEOUT) is not None
    except (regex.error, TimeoutError):
        return True  # the test of data reports such a pattern


def _is_among(value: Any, check: Check) -> bool:
    values = check.arguments["values"]
    if isinstance(value, Decimal):
        with suppress(InvalidOperation):
            return value in [Decimal(text) for text in values]
    return (str(value).lower() if isinstance(value, bool) else str(value)) in values


def _places(number: Decimal) -> int:
    return max(0, -int(number.normalize().as_tuple().exponent))


def _of_number(measure: Callable[[Decimal], Any]) -> Callable[[Any, Check], Any]:
    return lambda value, check: measure(value) if isinstance(value, Decimal) else None


def _size(value: Any, check: Check) -> int | None:
    return len(value) if isinstance(value, list | str) else None


MEASURES: Mapping[str, Callable[[Any, Check], Any]] = {
    "text": _is_among,
    "match": lambda value, check: _matches(value, ecma_patterns.to_python(str(check.arguments["pattern"]))),
    "format": lambda value, check: _matches(value, FORMATS.get(str(check.arguments["format"]), "")),
    "length": _size,
    "items": _size,
    "value": _of_number(lambda number: number),
    "digits": _of_number(lambda number: max(0, number.adjusted() + 1 if number else 0) + _places(number)),
    "decimal places": _of_number(_places),
    "remainder": lambda value, check: (
        not isinstance(value, Decimal) or value % Decimal(str(check.arguments["limit"])) == 0
    ),
}
"""Measure of the table of clauses -> what it is of a value, None if it is nothing, or whether the value is valid.

Measures of several rows are not in the table.
"""
