"""Dates and times as text: which texts source engines and Spark read alike."""

from __future__ import annotations

import re

from sqlglot import exp

from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import Typed, call, cast, switch
from airflow_provider_odf.dialect.types import DATE, Type, timestamp

DATE_PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIME_PATTERN = r"[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?"
ZONE_PATTERN = r"(Z|[+-][0-9]{2}:[0-9]{2})?"
_TIMESTAMP_PATTERN = rf"^{DATE_PATTERN}({TIME_PATTERN}{ZONE_PATTERN})?$"
_DATE_ONLY = rf"^{DATE_PATTERN}$"
_DATE_OF_TIME = rf"^{DATE_PATTERN}({TIME_PATTERN}Z?)?$"


def date_literal(node: exp.Expr, text: str) -> Typed:
    """A literal such as ``'2024-05-02'`` as a DATE."""
    if not re.fullmatch(_DATE_ONLY, text):
        raise Refused(node, f"'{text}' is not a date", "write it as YYYY-MM-DD")
    return Typed(cast(exp.Literal.string(text), DATE), DATE)


def timestamp_literal(node: exp.Expr, text: str) -> Typed:
    """A literal such as ``'2024-05-02 08:00:00'`` as a TIMESTAMP; without a zone it is UTC."""
    if not re.fullmatch(_TIMESTAMP_PATTERN, text):
        raise Refused(node, f"'{text}' is not a time", "write it as YYYY-MM-DD hh:mm:ss, with Z or +hh:mm for a zone")
    return Typed(cast(exp.Literal.string(text), timestamp()), timestamp("ns"))


def parsed(value: exp.Expr, type_: Type) -> exp.Expr:
    """Text as a DATE or TIMESTAMP. Text that only Spark would read (``2024``, ``T08:00``) stops the query."""
    pattern = _DATE_OF_TIME if type_ == DATE else _TIMESTAMP_PATTERN
    return checked(value, pattern, cast(value, type_), type_)


def checked(value: exp.Expr, pattern: str, read: exp.Expr, type_: Type) -> exp.Expr:
    """``read``, which is of ``type_``, where the text is null or matches a pattern; other text stops the query."""
    is_good = exp.RegexpLike(this=value.copy(), expression=exp.Literal.string(pattern))
    is_absent = exp.Is(this=value.copy(), expression=exp.Null())
    failure = cast(call("raise_error", call("concat", f"cannot read as {type_.ddl}: ", value.copy())), type_)
    return switch([(exp.Or(this=is_good, expression=is_absent), read)], failure)
