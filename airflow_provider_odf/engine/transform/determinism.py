"""Refuse queries whose result is not a function of the rows of their inputs.

A derivative must be the same whenever and wherever it is computed: otherwise nobody could verify it. Under a collation
such as UTF8_LCASE, texts that differ are equal. Which of them a group, a minimum or the first row of an order shows
depends on the order of the rows. Conditions only compare, so filters and joins may use collations.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_provider_odf.engine.plan_nodes import class_name, function
from airflow_provider_odf.engine.transform.plan_tree import (
    Expression,
    Node,
    attribute,
    is_collated,
    parts,
    references,
    subplans,
)
from airflow_provider_odf.engine.transform.row_keys import Relation
from airflow_provider_odf.run_functions import RUN_FUNCTIONS


@dataclass(frozen=True)
class Fault:
    """Why a query is not deterministic; ``word`` is where it says so, ``fix`` what to write instead."""

    word: str
    message: str
    fix: str


_CHANGING = {kind: name for name, kind in RUN_FUNCTIONS.items() if kind}

_ESTIMATES = {
    "ApproximatePercentile": "approx_percentile", "ApproxTopK": "approx_top_k", "HistogramNumeric": "histogram_numeric",
}  # fmt: skip
"""Aggregates whose estimate depends on the order of the rows -> name in SQL."""

_SKETCH = re.compile(r"(?:Kll|Hll|Theta|Tuple)\w*Agg\w*|KllSketchMerge\w+|ApproxTopK(?:Accumulate|Combine)")
"""Functions whose sketch depends on the order of the rows; some also draw random numbers."""

_BY_ORDER = {
    "First": "first", "Last": "last", "AnyValue": "any_value", "CollectList": "collect_list", "ListAgg": "listagg",
    "Mode": "mode", "CollectSet": "collect_set", **_ESTIMATES,
}  # fmt: skip
"""Aggregates whose value depends on the order of the rows -> name in SQL."""

_OWN_ORDER = {"MaxBy": "max_by", "MinBy": "min_by", "MaxMinByK": "max_by", "ListAgg": "listagg"}
"""Aggregates that take values in the order of another argument -> name in SQL. That of MaxMinByK can be reversed."""

_SPECIAL = re.compile(r"\s*((?:now|today|yesterday|tomorrow)\b|(?:T\d|\d{1,2}:)[\d:.]*)", re.IGNORECASE)
"""Texts that Spark converts to times of the run: words, and times of day, which get the date of the run."""

_PARSERS = ("ParseToDate", "ParseToTimestamp")
"""Classes of functions that cast a text to a time unless they have a format."""

_TIES = "the order of {} has ties: rows with equal values in it can have any order"

_COMPARISONS = (
    "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual", "EqualTo", "EqualNullSafe",
)  # fmt: skip
_BRANCHES = ("LambdaFunction", "NamedLambdaVariable", "If", "CaseWhen", "And", "Or", "Not", "IsNull", "IsNotNull")
"""Classes of expressions in a function that compares two values."""

_CHOOSES = ("Aggregate", "Distinct", "Window", "GlobalLimit", "Offset", "Intersect", "Except", "Deduplicate")
"""Kinds of plan nodes that choose among equal rows."""

_HASHES = ("Md5", "Sha1", "Sha2")
_WITHOUT_TIES = ("Rank", "DenseRank", "PercentRank", "CumeDist")
_WINDOW_NAMES = {
    "RowNumber": "row_number", "First": "first_value", "Last": "last_value", "NthValue": "nth_value", "Lag": "lag",
    "Lead": "lead", "NTile": "ntile",
}  # fmt: skip
"""Window functions whose value depends on the order of ties -> name in SQL."""


def faults(root: Node, relations: dict[Node, Relation]) -> Iterator[Fault]:
    """Yield the faults of a query. ``relations`` has the unique columns of each node of the plan."""
    for node in root.nodes():
        for part in subplans(node.fields):
            if name := _CHANGING.get(class_name(part)) or _special_time(part):
                yield _changing(name)
            yield from _random(part)
    yield from _collations(root)
    for node in root.all_nodes():
        if node.kind == "Aggregate":
            yield from _aggregates(node, relations)
        if node.kind == "Window":
            yield from _windows(node, relations[node.children[0]])
        if node.kind in ("GlobalLimit", "Offset"):
            yield from _limit(node, relations)


def faults_of_constants(nodes: Iterable[Mapping[str, Any]]) -> Iterator[Fault]:
    """Yield the faults of VALUES, from the nodes of a parsed query. Analyzed plans only have what Spark computed."""
    for table in nodes:
        if class_name(table) != "UnresolvedInlineTable":
            continue
        for part in subplans(table):
            name = (function(part) or "").lower()
            if name == "version":
                yield _changing(name)
            elif name == "aes_encrypt" and _draws_vector(part["below"][2:3], part["below"][4:5]):
                yield _RANDOM_VECTOR


def fault_of_text(value: str) -> Fault | None:
    """Return the fault of a text that a query converts to a time, such as ``now`` in ``TIMESTAMP 'now'``."""
    match = _SPECIAL.match(value)
    return _changing(match[1].lower()) if match else None


def fault_of_run(what: str) -> Fault:
    """Return the fault of a query with values of the run, see `spark_internals.values_of_run`."""
    return Fault("", f"the query depends on {what}, which another run may have otherwise", _FROM_DATA)


_FROM_DATA = "take times and values from the data"


def _changing(name: str) -> Fault:
    return Fault(name, f"{name} has another value in each run", _FROM_DATA)


def _special_time(expression: Expression) -> str:
    """Return the word for a time of the run that an expression converts to a time, else nothing."""
    kind = class_name(expression)
    if kind not in _PARSERS and not (kind == "Cast" and str(expression["dataType"]).startswith(("date", "timestamp"))):
        return ""
    below = expression.get("below")
    if kind in _PARSERS and below and len(below) > 1:
        return ""
    match = _SPECIAL.match(str(below[0]["value"])) if below and class_name(below[0]) == "Literal" else None
    return match[1].lower() if match else ""


def _random(expression: Expression) -> Iterator[Fault]:
    """Yield the faults of functions that draw random numbers. Catalyst takes them for deterministic."""
    kind = class_name(expression)
    if kind == "AesEncrypt":
        if _draws_vector(expression["below"][2:3], expression["below"][4:5]):
            yield _RANDOM_VECTOR
    elif _SKETCH.fullmatch(kind):
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower()
        yield Fault(name, f"{name} depends on the order of the rows, which is not defined", "use an exact function")


def _draws_vector(modes: Sequence[Expression], vectors: Sequence[Expression]) -> bool:
    """Whether aes_encrypt may draw an initialization vector: without one, or with one that may be empty."""
    if any(class_name(mode) == "Literal" and str(mode["value"]).upper() == "ECB" for mode in modes):
        return False
    return not any(map(_is_never_empty, vectors))


def _is_never_empty(vector: Expression) -> bool:
    """Whether a text or binary value is a constant text or a hash, or the beginning of one. Plans do not show the
    values of binary constants."""
    kind, below = class_name(vector), vector["below"]
    if kind == "Literal":
        return vector["dataType"] == "string" and vector["value"] not in ("", None)
    if kind in ("Left", "Substring"):
        start, length = ("1", *(part.get("value") for part in below[1:]))[-2:]
        return _is_never_empty(below[0]) and start == "1" and str(length).isdecimal() and length != "0"
    return kind in _HASHES or (kind in ("Cast", "Unhex") and _is_never_empty(below[0]))


_RANDOM_VECTOR = Fault(
    "aes_encrypt",
    "aes_encrypt takes a random initialization vector",
    "give it the mode 'ECB', or as fifth argument a constant or a hash of the row, such as unhex(md5(id))",
)


def _aggregates(node: Node, relations: dict[Node, Relation]) -> Iterator[Fault]:
    groups = _columns(node.expressions("groupingExpressions"))
    for item in node.expressions("aggregateExpressions"):
        yield from _unordered(item, is_sorted=False)
        yield from _with_ties(item, groups, relations[node.children[0]])


def _with_ties(expression: Expression, groups: frozenset[int], below: Relation) -> Iterator[Fault]:
    """Yield the aggregates that take values in an order of their own, in which rows with other values are equal."""
    for part in parts(expression):
        name = _OWN_ORDER.get(class_name(part))
        if name is None or not (by := _own_order(part)):
            continue
        order = _columns(by)
        if references(part["below"][0]) <= order or below.is_ordered_by(groups | order):
            continue
        name = "min_by" if part.get("reverse") else name
        call = "ORDER BY …, …" if name == "listagg" else f"{name}(…, struct(…, …))"
        yield Fault(name, _TIES.format(name), f"add columns to it until no two rows are equal in it: {call}")


def _own_order(aggregate: Expression) -> list[Expression]:
    """Return the expressions by which an aggregate orders its values, in place of a struct its fields; none if it has
    no order."""
    by = [aggregate["below"][1]]
    if class_name(aggregate) == "ListAgg":
        by = [part["below"][0] for part in parts(aggregate) if class_name(part) == "SortOrder"]
    return [m for item in by for m in (item["below"][1::2] if class_name(item) == "CreateNamedStruct" else [item])]


def _unordered(expression: Expression, *, is_sorted: bool) -> Iterator[Fault]:
    kind = class_name(expression)
    has_order = bool(expression.get("orderExpressions") or expression.get("reverseOpt"))
    has_order = has_order or any(class_name(part) == "SortOrder" for part in parts(expression))
    if (name := _BY_ORDER.get(kind)) and not is_sorted and not has_order:
        fix = "use min_by or max_by" if kind in ("First", "Last", "AnyValue") else f"sort it: sort_array({name}(…))"
        if kind in ("Mode", "ListAgg"):
            fix = f"give {name} an order: WITHIN GROUP (ORDER BY …)"
        if kind in _ESTIMATES:
            fix = "use an exact function, such as percentile"
        yield Fault(name, f"{name} depends on the order of the rows, which is not defined", fix)
    is_sort = kind == "SortArray" or (kind == "ArraySort" and _compares_whole_values(expression["below"][1]))
    for part in expression["below"]:
        yield from _unordered(part, is_sorted=is_sort or (is_sorted and kind == "AggregateExpression"))


def _compares_whole_values(comparator: Expression) -> bool:
    """Whether a function that compares two values of an array is certain to tell all values that differ.

    It compares them with each other, not what it computes of them, and can say that the first is less or greater.
    """
    results = set()
    for part in parts(comparator):
        kind = class_name(part)
        if kind in _COMPARISONS:
            if any(class_name(side) != "NamedLambdaVariable" for side in part["below"]):
                return False
        elif kind == "Literal":
            results.add(str(part["value"]))
        elif kind not in _BRANCHES:
            return False
    return {"-1", "1"} <= results


def _windows(node: Node, below: Relation) -> Iterator[Fault]:
    groups = _columns(node.expressions("partitionSpec"))
    for item in node.expressions("windowExpressions"):
        yield from _with_ties(item, groups, below)
    order = groups | _columns([item["below"][0] for item in node.expressions("orderSpec")])
    if below.is_ordered_by(order):
        return
    for item in node.expressions("windowExpressions"):
        for part in parts(item):
            if class_name(part) == "WindowExpression" and (name := _tied(part)):
                yield Fault(name, _TIES.format(name), "add columns to its ORDER BY until no two rows are equal in it")


def _tied(window: Expression) -> str:
    """Return the name of a window function whose value depends on the order of ties, else nothing."""
    function, specification = window["below"]
    kind = class_name(function)
    inner = class_name(function["below"][0]) if kind == "AggregateExpression" and function["below"] else kind
    if inner in _WITHOUT_TIES:
        return ""
    frame = next((p for p in specification["below"] if class_name(p) == "SpecifiedWindowFrame"), None)
    bounds = [class_name(bound) for bound in frame["below"]] if frame is not None else []
    is_whole = bounds == ["UnboundedPreceding$", "UnboundedFollowing$"]
    by_rows = frame is not None and "RowFrame" in str(frame.get("frameType"))
    if inner in _BY_ORDER or inner in _WINDOW_NAMES or (by_rows and not is_whole):
        return ({**_BY_ORDER, **_WINDOW_NAMES}).get(inner, inner.lower())
    return ""


def _limit(node: Node, relations: dict[Node, Relation]) -> Iterator[Fault]:
    below = node.children[0]
    while below.kind in ("LocalLimit", "GlobalLimit", "Offset", "Project", "SubqueryAlias", "View"):
        below = below.children[0]
    word = "limit" if node.kind == "GlobalLimit" else "offset"
    # SORT BY sorts each partition alone.
    if below.kind != "Sort" or not below.fields["global"]:
        yield Fault(word, f"{word.upper()} without ORDER BY takes any rows", "add ORDER BY with a unique order")
        return
    order = _columns([item["below"][0] for item in below.expressions("order")])
    if not relations[below].is_ordered_by(order):
        yield Fault(
            word,
            f"the ORDER BY before {word.upper()} has ties: rows with equal values in it can have any order",
            "add columns to ORDER BY until no two rows are equal in it",
        )


def _columns(expressions: Collection[Expression]) -> frozenset[int]:
    return frozenset(column.id for item in expressions if (column := attribute(item)) is not None)


def _collations(root: Node) -> Iterator[Fault]:
    """Yield the fault of a query that chooses among rows and has columns with a collation."""
    nodes = [*root.all_nodes()]
    if any(node.kind in _CHOOSES for node in nodes) and any(
        class_name(part) == "Collate" or is_collated(part.get("dataType", ""))
        for node in nodes
        if node.kind not in ("Filter", "Join")  # They only compare.
        for part in subplans({**node.fields, "plan": None})
    ):
        yield Fault(
            "collate",
            "under a collation, texts that differ are equal, and which of them the result shows depends on the "
            "order of the rows",
            "group, sort and compare by a function of the text without a collation, such as lower(…)",
        )
