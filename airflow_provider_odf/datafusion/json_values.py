"""Values in a JSON text at a path, as the JSON functions of the reference implementation find them.

The text is read only up to the value, so that the rest may be malformed. A missing value raises ValueError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, TypeAlias

Step: TypeAlias = str | int

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_NUMBER = re.compile(r"-?\d")


def find(text: str, path: Sequence[Step]) -> int:
    """Return the position of the value at a path of keys and indexes. Of a repeated key, the first counts.

    :raises ValueError: there is no such value.
    """
    at = _past_space(text, 0)
    for step in path:
        values = (at for key, at in _members(text, at) if key == step)
        if isinstance(step, int):
            values = (at for number, at in enumerate(_items(text, at)) if number == step)
        at = next(values, len(text))
    if at >= len(text):
        raise ValueError("no such value")
    return at


def raw(text: str, at: int) -> str:
    """Return a value as written in the text."""
    return text[at : _decoded(text, at)[1]]


def string(text: str, at: int) -> str:
    return str(_of_type(_decoded(text, at)[0], str))


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
    return [raw(text, item) for item in _items(text, at)]


def keys(text: str, at: int) -> list[str]:
    return [key for key, _ in _members(text, at)]


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


def _members(text: str, at: int) -> Iterator[tuple[str, int]]:
    at = _past(text, at, "{")
    if text[at : at + 1] == "}":
        return
    while True:
        key, at = scanstring(text, _past(text, at, '"', spaces=False), True)
        at = _past(text, _past_space(text, at), ":")
        yield key, at
        at = _past_space(text, _decoded(text, at)[1])
        if text[at : at + 1] == "}":
            return
        at = _past(text, at, ",")


def _items(text: str, at: int) -> Iterator[int]:
    at = _past(text, at, "[")
    if text[at : at + 1] == "]":
        return
    while True:
        yield at
        at = _past_space(text, _decoded(text, at)[1])
        if text[at : at + 1] == "]":
            return
        at = _past(text, at, ",")


def _past(text: str, at: int, sign: str, *, spaces: bool = True) -> int:
    if text[at : at + 1] != sign:
        raise ValueError(f"no {sign}")
    return _past_space(text, at + 1) if spaces else at + 1


def _past_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
