"""DataFusion's functions of arrays and structs."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule, Translation
from airflow_provider_odf.dialect.expressions import unified
from airflow_provider_odf.dialect.parameters import array as array_argument
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import Typed, as_int, call, cast, number, switch
from airflow_provider_odf.dialect.types import BIGINT, BOOLEAN, NULL, STRING, Type, array


def make_array(c: Call) -> Typed:
    return _array(c.translation, c.node, list(c.arguments))


def array_node(t: Translation, node: exp.Expr) -> Typed:
    return _array(t, node, list(t.expressions(node.expressions)))


def _array(t: Translation, node: exp.Expr, members: list[Typed]) -> Typed:
    values, type_ = unified(t, node, members)
    if type_ == NULL or not type_.is_known:
        raise Refused(node, "an array needs members of a known type")
    return Typed(call("array", *values), array(type_))


def _element(c: Call) -> Type:
    array_argument(c, 0)
    return c.argument(0).type.element or NULL


def _member(c: Call, index: int) -> exp.Expr:
    """A value of the array's own type that is never null, since engines look for null in different ways."""
    value = c.argument(index)
    is_literal = isinstance(value.sql, (exp.Literal, exp.Boolean, exp.Neg))
    if value.type != _element(c) or not is_literal:
        raise c.refusal(f"argument {index + 1} must be a literal of the array's type, {_element(c)}")
    return value.sql


def length(c: Call) -> Typed:
    c.expect(1)
    return Typed(cast(call("array_size", array_argument(c, 0)), BIGINT), BIGINT)


def element(c: Call) -> Typed:
    c.expect(2)
    return _at(c.node, c.argument(0), c.argument(1))


def bracket(t: Translation, node: exp.Expr) -> Typed:
    """``a[1]`` of an array, ``s['field']`` of a struct."""
    if len(node.expressions) != 1:
        raise Refused(node, "slices are not translated", "use array_slice")
    value, index = t.expression(node.this), t.expression(node.expressions[0])
    return _field(node, value, index.text) if index.text is not None else _at(node, value, index)


def _at(node: exp.Expr, value: Typed, index: Typed) -> Typed:
    if value.type.name != "ARRAY" or value.type.element is None or not index.type.is_integer:
        raise Refused(node, f"a member of {value.type} by {index.type} is not translated")
    if index.integer == 0:
        return Typed(cast(exp.Null(), value.type.element), value.type.element)
    if index.integer is None:
        raise Refused(node, "the index must be a literal whole number")
    return Typed(call("try_element_at", value.sql, as_int(index)), value.type.element)


def get_field(c: Call) -> Typed:
    c.expect(2)
    return _field(c.node, c.argument(0), c.text(1))


def _field(node: exp.Expr, value: Typed, name: str) -> Typed:
    type_ = next((t for known, t in value.type.fields if known.lower() == name.lower()), None)
    if type_ is None:
        raise Refused(node, f"{value.type} has no field {name}")
    return Typed(exp.Dot(this=value.sql, expression=exp.to_identifier(name, quoted=True)), type_)


def has(c: Call) -> Typed:
    """False where the array has nulls but not the value; Spark's gives null."""
    c.expect(2)
    values = array_argument(c, 0)
    found = call("coalesce", call("array_contains", values, _member(c, 1)), exp.false())
    return Typed(switch([(exp.Is(this=values.copy(), expression=exp.Null()), exp.Null())], found), BOOLEAN)


def position(c: Call) -> Typed:
    c.expect(2)
    return Typed(call("nullif", call("array_position", array_argument(c, 0), _member(c, 1)), number(0)), BIGINT)


def to_string(c: Call) -> Typed:
    c.expect(2)
    if _element(c) != STRING:
        raise c.refusal(f"is translated for arrays of strings, not {c.argument(0).type}")
    values = array_argument(c, 0)
    is_null = exp.Is(this=values.copy(), expression=exp.Null())
    return Typed(switch([(is_null, exp.Null())], call("concat_ws", c.text(1), values)), STRING)


def added(name: str, array_index: int) -> FunctionRule:
    """A value before or after an array; to no array it makes one."""

    def rule(c: Call) -> Typed:
        c.expect(2)
        values = array_argument(c, array_index)
        type_, value = c.argument(array_index).type, c.argument(1 - array_index)
        if value.type != type_.element:
            raise c.refusal(f"the value must be {type_.element}, not {value.type}", "cast it")
        empty = cast(call("array"), type_)
        return Typed(call(name, call("coalesce", values, empty), value.sql), type_)

    return rule


def of_array(name: str, result: Callable[[Type], Type], kinds: tuple[str, ...] = ()) -> FunctionRule:
    """A function of one array; ``kinds`` limits its members' types."""

    def rule(c: Call) -> Typed:
        c.expect(1)
        values = array_argument(c, 0)
        if kinds and _element(c).name not in kinds:
            raise c.refusal(f"is not translated for {c.argument(0).type}")
        return Typed(call(name, values), result(c.argument(0).type))

    return rule


def slice_(c: Call) -> Typed:
    c.expect(3)
    begin, end = c.argument(1).integer, c.argument(2).integer
    if begin is None or end is None or begin < 1 or end < begin:
        raise c.refusal("needs literal positions from 1 on, the first not after the last")
    return Typed(call("slice", array_argument(c, 0), begin, end - begin + 1), c.argument(0).type)


def named_struct(c: Call) -> Typed:
    names = [c.text(i) for i in range(0, len(c.arguments), 2)]
    values = c.arguments[1::2]
    if len(names) != len(values) or not all(v.type.is_known for v in values):
        raise c.refusal("needs pairs of a name and a value of known type")
    return _struct(names, values)


def struct(c: Call) -> Typed:
    """Unnamed fields are c0, c1, … as in DataFusion; Spark would call them col1, col2, …."""
    if not c.arguments or not all(v.type.is_known for v in c.arguments):
        raise c.refusal("needs values of known type")
    return _struct([f"c{i}" for i in range(len(c.arguments))], c.arguments)


def _struct(names: list[str], values: tuple[Typed, ...]) -> Typed:
    pairs: list[exp.Expr | str | int] = [part for name, v in zip(names, values, strict=True) for part in (name, v.sql)]
    fields = tuple((name, v.type) for name, v in zip(names, values, strict=True))
    return Typed(call("named_struct", *pairs), Type("STRUCT", fields=fields))


def _same(type_: Type) -> Type:
    return type_


def _of_element(type_: Type) -> Type:
    return type_.element or NULL


_SIMPLE = ("TINYINT", "SMALLINT", "INT", "BIGINT", "STRING", "DATE", "TIMESTAMP", "DECIMAL")

_BY_NAME: dict[str, FunctionRule] = {
    "append": added("array_append", 0),
    "contains": has,
    "distinct": of_array("array_distinct", _same, _SIMPLE),
    "element": element,
    "extract": element,
    "has": has,
    "indexof": position,
    "join": to_string,
    "length": length,
    "max": of_array("array_max", _of_element, _SIMPLE),
    "position": position,
    "prepend": added("array_prepend", 1),
    "push_back": added("array_append", 0),
    "push_front": added("array_prepend", 1),
    "reverse": of_array("reverse", _same),
    "slice": slice_,
    "sort": of_array("sort_array", _same, _SIMPLE),
    "to_string": to_string,
}

SCALARS: dict[str, FunctionRule] = {
    **{f"{prefix}_{name}": rule for name, rule in _BY_NAME.items() for prefix in ("array", "list")},
    "array_min": of_array("array_min", _of_element, _SIMPLE),
    "cardinality": length,
    "get_field": get_field,
    "make_array": make_array,
    "make_list": make_array,
    "named_struct": named_struct,
    "row": struct,
    "struct": struct,
}

NODES: dict[type[exp.Expr], NodeRule] = {exp.Array: array_node, exp.Bracket: bracket}
