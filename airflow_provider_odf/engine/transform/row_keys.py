"""Keys by which the result of a query can be computed in parts.

A key is a value that each result row shares with the input rows that it is made of: the columns of a GROUP BY or
PARTITION BY, or both sides of an equality between joined tables. If input rows with some values of a key change, only
result rows with these values can change, and they follow from input rows with these values.

The analysis goes up the plan and keeps what is certain for each node. A node or an expression that it does not know has
no keys: the result is then computed as a whole. Expressions that can be keys are deterministic functions of columns
that Spark prints and reads alike. Casts and arithmetic give null where the query would fail: the query may have
filtered out such rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_odf.engine.plan_nodes import class_name
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import text
from airflow_provider_odf.engine.transform.plan_tree import (
    Expression,
    Node,
    attribute,
    computed,
    is_collated,
    join_kind,
    references,
)


@dataclass(frozen=True)
class Key:
    """A key of a relation: the columns that show its value, and its SQL over the columns of each leaf that has it.

    Result rows with a value depend on those rows of such a leaf that have the same value.
    """

    columns: frozenset[int]
    leaves: Mapping[Node, str]


@dataclass(frozen=True)
class Relation:
    """What is known of the rows of a plan node.

    ``unique`` are sets of columns in which no two rows are equal. ``stable`` are columns whose values come from input
    rows unchanged, not from aggregates, windows or the optional side of a join.
    """

    node: Node
    keys: tuple[Key, ...] = ()
    unique: frozenset[frozenset[int]] = frozenset()
    stable: frozenset[int] = frozenset()

    def is_ordered_by(self, columns: frozenset[int]) -> bool:
        """Whether rows that are equal in these columns are equal in all."""
        return any(key <= columns for key in self.unique) or {a.id for a in self.node.output} <= columns


@dataclass(frozen=True)
class Part:
    """A key by which a part of the result is computed.

    ``columns`` are the result's columns that show it. ``inputs`` has SQL of the same values over the columns of each
    input, by number, None where the rows of an input do not have a value. ``changed`` are the inputs whose changes this
    key finds, each with the SQL of its values; an input that the query reads twice can be there twice.
    """

    columns: tuple[str, ...]
    inputs: Mapping[int, tuple[str | None, ...]]
    changed: tuple[tuple[int, tuple[str, ...]], ...]


def analyze(root: Node, primary_keys: Mapping[int, Sequence[str]]) -> dict[Node, Relation]:
    """Return what is known of each node, also in subqueries. ``primary_keys`` are the unique columns of inputs."""
    known: dict[Node, Relation] = {}
    for node in reversed(list(root.all_nodes())):
        rule, below = _RULES.get(node.kind), [known[child] for child in node.children]
        relation = rule(node, below) if rule else Relation(node)
        known[node] = _shown(_leaf(node, primary_keys) if node.kind == "Input" else relation)
    return known


def _shown(relation: Relation) -> Relation:
    """Return the relation with only what its columns show."""
    shown = frozenset(a.id for a in relation.node.output)
    keys = tuple(replace(key, columns=key.columns & shown) for key in relation.keys if key.columns & shown)
    unique = frozenset(key for key in relation.unique if key <= shown)
    return Relation(relation.node, keys, unique, relation.stable & shown)


def _leaf(node: Node, primary_keys: Mapping[int, Sequence[str]]) -> Relation:
    assert node.input is not None  # noqa: S101 - a leaf has its number
    ids = {a.name.lower(): a.id for a in node.output}
    # Offset, operation and system time of a row that comes back differ from those of the row before.
    data = node.output[3:]
    keys = tuple(Key(frozenset((a.id,)), {node: quoted(a.name)}) for a in data if _is_comparable(a.type))
    primary = [name.lower() for name in primary_keys.get(node.input, ())]
    unique = [frozenset((ids[name],)) for name in (node.output[0].name.lower(),)]
    if primary and all(name in ids for name in primary):
        unique.append(frozenset(ids[name] for name in primary))
    return Relation(node, keys, frozenset(unique), frozenset(a.id for a in data))


def _project(node: Node, below: list[Relation]) -> Relation:
    (child,) = below
    keys, stable = list(child.keys), set(child.stable)
    renamed: dict[int, list[int]] = {}
    for item in node.expressions("projectList"):
        if class_name(item) != "Alias":
            continue
        new, value = item["exprId"]["id"], item["below"][0]
        if (plain := attribute(value)) is not None and class_name(value) == "AttributeReference":
            renamed.setdefault(plain.id, []).append(new)
            keys = [replace(key, columns=key.columns | {new}) if plain.id in key.columns else key for key in keys]
        elif leaves := _derived(value, child.keys):
            keys.append(Key(frozenset((new,)), leaves))
        if references(value) <= child.stable and references(value):
            stable.add(new)
    unique = {frozenset(renamed.get(c, [c])[0] for c in key) for key in child.unique}
    return Relation(node, tuple(keys), frozenset(unique) | child.unique, frozenset(stable))


def _derived(value: Expression, keys: Iterable[Key]) -> dict[Node, str]:
    """Return the SQL of an expression over the columns of each leaf that has all it reads."""
    read = references(value)
    if not read:
        return {}
    by_column: dict[int, dict[Node, str]] = {}
    for key in keys:
        for column in key.columns & read:
            for leaf, sql in key.leaves.items():
                by_column.setdefault(column, {}).setdefault(leaf, sql)
    if set(by_column) != read:
        return {}
    leaves = set.intersection(*(set(own) for own in by_column.values()))
    texts = {leaf: _key_sql(value, {column: by_column[column][leaf] for column in read}) for leaf in leaves}
    return {leaf: sql for leaf, sql in texts.items() if sql is not None}


def _aggregate(node: Node, below: list[Relation]) -> Relation:
    leaves = {_text(group): _leaves_of(group, below[0]) for group in node.expressions("groupingExpressions")}
    shown: dict[str, set[int]] = {text: set() for text in leaves}
    for item in node.expressions("aggregateExpressions"):
        if (column := attribute(item)) is not None and (text := _text(computed(item))) in shown:
            shown[text].add(column.id)
    keys = [Key(frozenset(shown[text]), own) for text, own in leaves.items() if own and shown[text]]
    # Without groups, there is one row.
    unique = [frozenset(min(ids) for ids in shown.values())] if all(shown.values()) else []
    stable = frozenset(i for ids in shown.values() for i in ids)
    return Relation(node, tuple(keys), frozenset(unique), stable)


def _text(expression: Expression) -> str:
    """Return a text that is equal for equal expressions over the same columns."""
    own = {k: v for k, v in expression.items() if k not in ("below", "metadata", "qualifier", "nullable", "origin")}
    return f"{own}({', '.join(_text(part) for part in expression['below'])})"


def _window(node: Node, below: list[Relation]) -> Relation:
    by = {column.id for item in node.expressions("partitionSpec") if (column := attribute(item)) is not None}
    return replace(below[0], node=node, keys=tuple(key for key in below[0].keys if key.columns & by))


def _join(node: Node, below: list[Relation]) -> Relation:
    left, right = below
    kind = join_kind(node.fields)
    equal = list(_equalities(node, left, right))
    both = [
        Key(
            (_columns_of(a, left) if kind != "RightOuter" else frozenset())
            | (_columns_of(b, right) if kind in ("Inner", "RightOuter") else frozenset()),
            {**first, **second},
        )
        for a, b in equal
        if (first := _leaves_of(a, left)) and (second := _leaves_of(b, right))
    ]
    if kind not in _SHOWN_SIDES:
        return Relation(node)
    sides = [(left, right)[side] for side in _SHOWN_SIDES[kind]]
    keys = _merged((*both, *(key for side in sides for key in side.keys)))
    ids = [{column.id for pair in equal if (column := attribute(pair[side]))} for side in (0, 1)]
    # Whether a row of the other side meets at most one of the left and of the right.
    is_one = [any(key <= compared for key in side.unique) for side, compared in zip(below, ids, strict=True)]
    unique = left.unique if kind in ("LeftSemi", "LeftAnti") else _unique(kind, left, right, is_one)
    stable = sides[0].stable
    if len(sides) > 1:
        # Of a side that has one row for each row of the other, only those are that the other side has too.
        shared = right.stable & ids[1] if is_one[1] else right.stable
        stable = (left.stable & ids[0] if is_one[0] and not is_one[1] else left.stable) | shared
    return Relation(node, keys, unique, stable)


_SHOWN_SIDES: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("Inner", "Cross"), (0, 1)), **dict.fromkeys(("LeftOuter", "LeftSemi", "LeftAnti"), (0,)),
    "RightOuter": (1,),
}  # fmt: skip
"""Kind of a join -> the sides whose columns are not optional in the result."""


def _unique(kind: str, left: Relation, right: Relation, is_one: Sequence[bool]) -> frozenset[frozenset[int]]:
    """Return the unique columns of a join: those of one side if it meets at most one row of the other."""
    keys = {a | b for a in left.unique for b in right.unique} if kind in ("Inner", "Cross") else set()
    keys |= set(left.unique) if is_one[1] and kind != "RightOuter" else set()
    keys |= set(right.unique) if is_one[0] and kind != "LeftOuter" else set()
    return frozenset(keys)


def _merged(keys: Iterable[Key]) -> tuple[Key, ...]:
    """Return the keys, joining those that show the same column: a column has one value."""
    merged: list[Key] = []
    for key in keys:
        same = [other for other in merged if other.columns & key.columns]
        for other in same:
            merged.remove(other)
            leaves = dict(other.leaves)
            for leaf, sql in key.leaves.items():
                leaves.setdefault(leaf, sql)
            key = Key(other.columns | key.columns, leaves)
        merged.append(key)
    return tuple(merged)


def _equalities(node: Node, left: Relation, right: Relation) -> Iterator[tuple[Expression, Expression]]:
    """Yield the expressions of the left and of the right side that a join compares by equality."""
    ids = [{a.id for a in side.node.output} for side in (left, right)]
    for condition in node.expressions("condition"):
        for part in _conjuncts(condition):
            if class_name(part) not in ("EqualTo", "EqualNullSafe"):
                continue
            a, b = part["below"]
            sides = [(a, b), (b, a)]
            yield from ((x, y) for x, y in sides if _reads_only(x, ids[0]) and _reads_only(y, ids[1]))


def _reads_only(expression: Expression, columns: set[int]) -> bool:
    return bool(references(expression)) and references(expression) <= columns


def _conjuncts(condition: Expression) -> list[Expression]:
    is_and = class_name(condition) == "And"
    return [part for inner in condition["below"] for part in _conjuncts(inner)] if is_and else [condition]


def _columns_of(expression: Expression, side: Relation) -> frozenset[int]:
    """Return the columns of a side that are equal to an expression."""
    if class_name(expression) != "AttributeReference":
        return frozenset()
    id_ = expression["exprId"]["id"]
    return frozenset((id_,)).union(*(key.columns for key in side.keys if id_ in key.columns))


def _leaves_of(expression: Expression, side: Relation) -> dict[Node, str]:
    if class_name(expression) == "AttributeReference":
        id_ = expression["exprId"]["id"]
        return {leaf: sql for key in side.keys if id_ in key.columns for leaf, sql in key.leaves.items()}
    return _derived(expression, side.keys)


def _set_operation(node: Node, below: list[Relation]) -> Relation:
    keys, stable = list[Key](), set[int]()
    for position, column in enumerate(node.output):
        own = [(child, child.node.output[position].id) for child in below]
        leaves = {
            leaf: sql
            for child, id_ in own
            for key in child.keys
            if id_ in key.columns
            for leaf, sql in key.leaves.items()
        }
        if leaves:
            keys.append(Key(frozenset((column.id,)), leaves))
        if all(id_ in child.stable for child, id_ in own):
            stable.add(column.id)
    is_set = node.kind != "Union" and not node.fields.get("isAll")
    unique = frozenset((frozenset(a.id for a in node.output),)) if is_set else frozenset()
    return Relation(node, tuple(keys), unique, frozenset(stable))


_RULES: Mapping[str, Callable[[Node, list[Relation]], Relation]] = {
    "Project": _project,
    **dict.fromkeys(("Filter", "Sort", "SubqueryAlias", "View"), lambda node, below: replace(below[0], node=node)),
    "Generate": lambda node, below: replace(below[0], node=node, unique=frozenset()),
    "Aggregate": _aggregate,
    "Distinct": lambda node, below: replace(
        below[0], node=node, unique=below[0].unique | {frozenset(a.id for a in node.output)}
    ),
    "Window": _window,
    "Join": _join,
    **dict.fromkeys(("Union", "Intersect", "Except"), _set_operation),
}
"""Kind of a plan node -> its rule."""


_FUNCTIONS = {
    "Upper": "upper", "Lower": "lower", "Year": "year", "Quarter": "quarter", "Month": "month", "DayOfMonth": "day",
    "WeekOfYear": "weekofyear", "Hour": "hour", "Minute": "minute", "Second": "second", "Length": "length",
    "Coalesce": "coalesce", "Concat": "concat", "Substring": "substring", "TruncTimestamp": "date_trunc", "TruncDate":
    "trunc", "Floor": "floor", "Ceil": "ceil", "DateAdd": "date_add", "DateSub": "date_sub",
}  # fmt: skip
"""Class of an expression -> the function with the same arguments. None of them can fail, as abs can by an overflow."""

_ARITHMETIC = {"Add": "try_add", "Subtract": "try_subtract", "Multiply": "try_multiply"}
_EXACT = ("long", "integer", "short", "byte")
_LITERALS = (*_EXACT, "string", "boolean", "date", "timestamp", "timestamp_ntz")
_NO_KEY = ("float", "double", "variant", "map", "struct", "array", "interval")


def _key_sql(expression: Expression, columns: Mapping[int, str]) -> str | None:
    """Return an expression in SQL, with the SQL of the columns that it reads, or None if it cannot be a key."""
    kind = class_name(expression)
    if kind == "AttributeReference":
        if not _is_comparable(expression["dataType"]):
            return None
        return columns.get(expression["exprId"]["id"])
    if kind == "Literal":
        return _literal(expression)
    below = [_key_sql(part, columns) for part in expression["below"]]
    if not all(below):
        return None
    inner = [part for part in below if part is not None]
    if kind == "Cast" and _is_comparable(to := expression["dataType"]) and not to.startswith("timestamp"):
        return f"TRY_CAST({inner[0]} AS {to})"  # A time from text has microseconds, which the result does not keep.
    if kind in _ARITHMETIC:
        return f"{_ARITHMETIC[kind]}({', '.join(inner)})"
    return f"{_FUNCTIONS[kind]}({', '.join(inner)})" if kind in _FUNCTIONS else None


def _literal(expression: Expression) -> str | None:
    kind, value = expression["dataType"], expression["value"]
    if kind not in _LITERALS or value is None:
        return None
    return text(value) if kind == "string" else f"CAST({text(str(value))} AS {kind})"


def _is_comparable(kind: Any) -> bool:
    return isinstance(kind, str) and not kind.startswith(_NO_KEY) and not is_collated(kind)
