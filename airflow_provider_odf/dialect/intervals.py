"""Literal intervals: ``INTERVAL '1' DAY``, ``INTERVAL '1 day 2 hours'``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Translation
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import Typed, call
from airflow_provider_odf.dialect.types import INTERVAL

_SECONDS = {"week": 604800, "day": 86400, "hour": 3600, "minute": 60, "second": 1}
_PART = re.compile(r"([+-]?\d+)\s*([A-Za-z]+)\s*")
_DAY = 86_400
_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Interval:
    """Months, days and seconds are kept apart: their lengths differ."""

    months: int = 0
    days: int = 0
    seconds: int = 0

    @property
    def sql(self) -> exp.Expr:
        minutes, seconds = divmod(self.seconds, 60)
        return call("make_interval", 0, self.months, 0, self.days, 0, minutes, seconds)

    @property
    def fixed_seconds(self) -> int | None:
        """The length if it is the same at any time (in UTC), else None."""
        return None if self.months else self.days * _DAY + self.seconds


def parse(node: exp.Expr) -> Interval:
    """The interval that a literal stands for.

    :raises Refused: for fractions and for units that are not listed."""
    unit = node.args.get("unit")
    value = node.this
    if not isinstance(node, exp.Interval) or not isinstance(value, exp.Literal):
        raise Refused(node, "an interval must be a literal, as INTERVAL '1 day'")
    if unit is not None and not isinstance(unit, exp.Var):
        raise Refused(node, "intervals of the form A TO B are not translated", "write INTERVAL '1 day 2 hours'")
    text = f"{value.name} {unit.name if unit is not None else ''}".strip()
    if not re.fullmatch(rf"(?:{_PART.pattern})+", text):
        raise Refused(
            node, f"INTERVAL '{text}' is not translated", "write whole numbers with units, as '1 day 2 hours'"
        )
    return _total(node, [(int(number), name.lower().removesuffix("s")) for number, name in _PART.findall(text)])


def _total(node: exp.Expr, parts: list[tuple[int, str]]) -> Interval:
    months = sum(number * {"month": 1, "year": 12}.get(unit, 0) for number, unit in parts)
    days = sum(number * {"day": 1, "week": 7}.get(unit, 0) for number, unit in parts)
    seconds = sum(number * {"hour": 3600, "minute": 60, "second": 1}.get(unit, 0) for number, unit in parts)
    for _, unit in parts:
        if unit not in (*_SECONDS, "month", "year"):
            raise Refused(node, f"the unit {unit} of the interval is not translated")
    if max(map(abs, (months, days, seconds))) > _LARGEST:
        raise Refused(node, "the interval is too long", f"at most {_LARGEST} months, days and seconds each")
    return Interval(months, days, seconds)


def interval(t: Translation, node: exp.Expr) -> Typed:
    return Typed(parse(node).sql, INTERVAL)
