"""DECIMAL beside DOUBLE, which DataFusion makes DECIMAL: exact where the DOUBLE is a literal, else refused.

A DOUBLE becomes DECIMAL(30,15), or of more places where the DECIMAL has more: the double times a power of ten, rounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlglot import exp

from airflow_provider_odf.dialect import types
from airflow_provider_odf.dialect.typed import Typed, cast
from airflow_provider_odf.dialect.types import MAX_PRECISION, NULL, Type, decimal

_OF_DOUBLE = decimal(30, 15)
_MOST_PLACES = 22
"""A DOUBLE holds powers of ten exactly up to this one."""


def common(left: Type, right: Type) -> Type | None:
    """None for DECIMAL and DOUBLE, unless ``beside`` or ``among`` have made one of the other before."""
    return None if {left.name, right.name} == {"DECIMAL", "DOUBLE"} else types.common(left, right)


def beside(value: Typed, other: Type) -> Typed:
    """A literal DOUBLE that is compared with a DECIMAL is one itself, of no more digits than it has."""
    if value.double is None or other.name != "DECIMAL":
        return value
    scale = max(other.scale, _OF_DOUBLE.scale)
    wholes = max(other.precision - other.scale, _OF_DOUBLE.precision - _OF_DOUBLE.scale)
    return _literal(value.double, scale, min(wholes, MAX_PRECISION - scale)) or value


def among(values: Sequence[Typed]) -> list[Typed]:
    """The values of a CASE or COALESCE: literal DOUBLEs among DECIMALs are of the type of all of them."""
    decimals = [v.type for v in values if v.type.name == "DECIMAL"]
    others = [v for v in values if v.type.name != "DECIMAL" and v.type != NULL]
    if not decimals or any(v.double is None for v in others):
        return list(values)
    shared: Type | None = _OF_DOUBLE
    for type_ in decimals:
        shared = shared and types.common(shared, type_)
    return [_of_type(v, shared) if v.double is not None and shared else v for v in values]


def _of_type(value: Typed, type_: Type) -> Typed:
    assert value.double is not None  # noqa: S101 - by among
    literal = _literal(value.double, type_.scale, type_.precision - type_.scale)
    return Typed(cast(literal.sql, type_), type_) if literal else value


def _literal(value: float, scale: int, wholes: int) -> Typed | None:
    """The DECIMAL that DataFusion makes of a DOUBLE, None where it would stop or where that is not known exactly."""
    if scale > _MOST_PLACES or not math.isfinite(scaled := abs(value) * 10.0**scale):
        return None
    ticks = math.floor(scaled)
    ticks += scaled - ticks >= 0.5
    digits = str(ticks).zfill(scale + 1)
    whole, places = digits[:-scale].lstrip("0"), digits[-scale:].rstrip("0")
    if len(whole) > wholes:
        return None
    number: exp.Expr = exp.Literal.number(f"{whole or '0'}{'.' if places else ''}{places}BD")
    is_negative = ticks and value < 0
    type_ = decimal(max(len(whole) + len(places), 1), len(places))
    return Typed(exp.Neg(this=number) if is_negative else number, type_)
