"""JSON functions that the reference implementation adds to DataFusion, under internal names.

The package ``datafusion`` lacks them, and functions in Python have a fixed number of arguments. Therefore
``json_operators`` rewrites a call such as ``json_get_str(j, 'a', 0)`` to ``odf_json_get_str(j, '["a", 0]')``.

A text is read only up to the value at a path, so that the rest may be malformed. A missing value raises ValueError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from datafusion import SessionContext

Step: TypeAlias = str | int

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_NUMBER = re.compile(r"-?\d")
PREFIX = "odf_"


def value_at(text: str, path: Sequence[Step]) -> int:
    """Return the position of the value at a path of keys and indexes. Of a repeated key, the first counts.

    :raises ValueError: there is no such value.
    """
    at = _past_space(text, 0)
    for step in path:
        opening = "[" if isinstance(step, int) else "{"
        at = next((at for own, at in _values(text, at, opening) if own == step), len(text))
    if at >= len(text):
        raise ValueError("no such value")
    return at


def raw(text: str, at: int) -> str:
    """Return a value as written in the text."""
    return text[at : _decoded(text, at)[1]]


def integer(text: str, at: int) -> int:
    value = int(_of_type(_decoded(text, at)[0], int))
    if not -(2**63) <= value < 2**63:
        raise ValueError("beyond 64 bits")
    return value


def floating(text: str, at: int) -> float:
    if not _NUMBER.match(text, at):
        raise ValueError("no number")
    return float(_decoded(text, at)[0])


def boolean(text: str, at: int) -> bool:
    value = _decoded(text, at)[0]
    return {"true": True, "false": False}[value] if value in ("true", "false") else bool(_of_type(value, bool))


def as_text(text: str, at: int) -> str | None:
    value = _decoded(text, at)[0]
    return value if value is None or isinstance(value, str) else raw(text, at)


def array(text: str, at: int) -> list[str]:
    return [raw(text, item) for _, item in _values(text, at, "[")]


def keys(text: str, at: int) -> list[Step]:
    return [key for key, _ in _values(text, at, "{")]


def length(text: str, at: int) -> int:
    return len(array(text, at) if text[at] == "[" else keys(text, at))


def _of_type(value: Any, type_: type) -> Any:
    if type(value) is not type_:
        raise ValueError(f"no {type_.__name__}")
    return value


def _decoded(text: str, at: int) -> tuple[Any, int]:
    if text[at : at + 1] in ("N", "I") or text.startswith("-I", at):
        raise ValueError("NaN and Infinity are not valid JSON")
    return _DECODER.raw_decode(text, at)


def _values(text: str, at: int, opening: str) -> Iterator[tuple[Step, int]]:
    """Yield the key or index and the position of each value in an object or an array."""
    closing = {"{": "}", "[": "]"}[opening]
    at = _past(text, at, opening)
    if text[at : at + 1] == closing:
        return
    for number in count():
        step: Step = number
        if opening == "{":
            step, at = scanstring(text, _past(text, at, '"', spaces=False), True)
            at = _past(text, _past_space(text, at), ":")
        yield step, at
        at = _past_space(text, _decoded(text, at)[1])
        if text[at : at + 1] == closing:
            return
        at = _past(text, at, ",")


def _past(text: str, at: int, sign: str, *, spaces: bool = True) -> int:
    if text[at : at + 1] != sign:
        raise ValueError(f"no {sign}")
    return _past_space(text, at + 1) if spaces else at + 1


def _past_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


FUNCTIONS: Mapping[str, tuple[Callable[[str, int], Any], pa.DataType]] = {
    "json_as_text": (as_text, pa.string()),
    "json_contains": (lambda text, at: True, pa.bool_()),
    "json_get_array": (array, pa.list_(pa.string())),
    "json_get_bool": (boolean, pa.bool_()),
    "json_get_float": (floating, pa.float64()),
    "json_get_int": (integer, pa.int64()),
    "json_get_json": (raw, pa.string()),
    "json_get_str": (lambda text, at: _of_type(_decoded(text, at)[0], str), pa.string()),
    **dict.fromkeys(("json_keys", "json_object_keys"), (keys, pa.list_(pa.string()))),
    **dict.fromkeys(("json_len", "json_length"), (length, pa.uint64())),
}
"""Function name in the reference -> function (JSON string, position of a value in it) and its result type."""


def register(context: SessionContext) -> None:
    """Register the functions in a session."""
    from datafusion import udf

    for name, (read, type_) in FUNCTIONS.items():
        otherwise = False if name == "json_contains" else None
        function = udf(_over_rows(read, type_, otherwise), [pa.string()] * 2, type_, "immutable", PREFIX + name)
        context.register_udf(function)


def _over_rows(
    read: Callable[[str, int], Any], type_: pa.DataType, otherwise: bool | None
) -> Callable[[pa.Array, pa.Array], pa.Array]:
    def value(text: str | None, path: list[Step]) -> Any:
        if text is None:
            return otherwise
        try:
            return read(text, value_at(text, path))
        except (ValueError, RecursionError):
            return otherwise

    def call(texts: pa.Array, paths: pa.Array) -> pa.Array:
        path = json.loads(paths[0].as_py()) if len(paths) else []
        return pa.array([value(text, path) for text in texts.to_pylist()], type_)

    return call
