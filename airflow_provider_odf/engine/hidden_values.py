"""Messages of the engine without values of data, for datasets with sensitive columns.

A message keeps its place, the kind of its error, and the type that a value does not have. A value stays if the message
is about one column of a file that is not sensitive. Messages that Spark and DataFusion make of values never stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from airflow_provider_odf.protocol import (
    Contract,
    MergeRequest,
    RawQueryRequest,
    Request,
    TransformRequest,
    VerifyRequest,
)

MASK = "***"
HIDDEN = "the message is hidden, because it may show sensitive values"

_QUERY = re.compile(
    r"(?:(?:preprocess|transform)(?:, )?)?(?:query \d+(?: \([^)]*\))?)?(?:, line \d+)?(?:, column \d+)?: "
)
"""The place of an error of a query."""
_KIND = re.compile(r"(?:[A-Za-z]+ )*[Ee]rror(?=:)|\[[A-Z][A-Z_.]*\]")
"""Kinds of errors: ``Cast error``, ``[DIVIDE_BY_ZERO]``."""
_WITHOUT_DATA = re.compile(
    r"\[(AMBIGUOUS|DATATYPE_MISMATCH|MISSING_AGGREGATION|PARSE_|TABLE_OR_VIEW|UNRESOLVED_|WRONG_NUM)"
)
"""Kinds of errors that Spark finds in the query alone."""
_FIELD = re.compile(
    r"(?:(?:line|record|row|feature) \d+)(?:, (?:line|record|row) \d+)?(?:, column (?P<column>[^:'\"]+))?: "
)
"""The place of a value in a file."""
_VALUE = re.compile(r"['\"(]|(?<!\d)(?<!instead of )\d+(?!\d| fields| rows?)")
"""Where a value may begin: a quote, the values of a row, or a number that counts no rows or fields."""
_TYPE = re.compile(r"(?<=['\"]) is not an? [A-Z][A-Za-z0-9_(), <>]*$")


def sensitive_of(request: Request) -> Collection[str]:
    """Return the sensitive columns of the dataset that a request reads or makes."""
    if isinstance(request, MergeRequest | RawQueryRequest | TransformRequest):
        return request.sensitive_columns
    return () if isinstance(request, VerifyRequest) else sensitive_columns(request.contract)


def sensitive_columns(contract: Contract) -> Collection[str]:
    """Return columns that are sensitive in a contract, or in a dataset that it refers to."""
    own = [check.field or "*" for check in contract.checks if check.is_sensitive]
    return [*own, *contract.sensitive_columns, *(name for r in contract.related for name in r.sensitive_columns)]


def without_values(message: str, request: Request, *, is_of_spark: bool = False) -> str:
    """Return the message of an error without values that may be sensitive.

    :param is_of_spark: Spark raised it, for a query or for a value that a reader refuses.
    """
    sensitive = {re.split(r"[.\[{]", name)[0].lower() for name in sensitive_of(request)}
    if not sensitive:
        return message
    label = next((text for text in _labels(request) if text and message.startswith(f"{text}: ")), "")
    place = f"{label}: " if label else ""
    rest = message[len(place) :]
    if (query := _QUERY.match(rest)) and query[0] != ": ":
        if _WITHOUT_DATA.match(rest, query.end()):
            return message
        kind = _KIND.match(rest, query.end())
        return f"{place}{query[0]}{kind[0] + ': ' if kind else ''}{HIDDEN}"
    field = _FIELD.match(rest)
    if is_of_spark and not label:  # readers begin with the label
        kind = _KIND.match(rest)
        return f"{kind[0] if kind else 'error'}: {HIDDEN}"
    is_own = getattr(request, "preprocess", None) is None and getattr(request, "transform", None) is None
    if field and field["column"] and is_own and not _is_among(field["column"], sensitive):
        return message
    start = field.end() if field else 0
    value = _VALUE.search(rest, start)
    if value is None:
        return message
    kind_of_value = _TYPE.search(rest)
    return f"{place}{rest[: value.start()]}{MASK}{kind_of_value[0] if kind_of_value else ''}"


def _is_among(path: str, sensitive: Collection[str]) -> bool:
    return "*" in sensitive or re.split(r"[.\[{]", path)[0].lower() in sensitive


def _labels(request: Request) -> Collection[str]:
    if isinstance(request, MergeRequest):
        return sorted((new.label for new in request.inputs), key=len, reverse=True)
    return (request.label,) if isinstance(request, RawQueryRequest) else ()
