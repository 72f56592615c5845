"""JSON text as values: a stream of them on lines, or an array somewhere in a document."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, TypeAlias

from airflow_provider_odf.engine.read.problem import Malformed, shown

_SPACE = re.compile(r"[ \t\r\n]*")


class Number(str):
    """A number as it is written: nothing is lost before its type is known."""

    __slots__ = ()


Found: TypeAlias = Generator[tuple[int, dict[str, Any]], None, int]

_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number, strict=False)


def on_lines(text: str, first_line: int = 1) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of newline-delimited JSON, each with its line; more than one on a line are all read.

    :raises Malformed: text that is no JSON, or a value that is no object.
    """
    for line, content in enumerate(text.split("\n"), first_line):
        at = _skip(content, 0)
        while at < len(content):
            value, at = _decode(content, at, line)
            if not isinstance(value, dict):
                raise Malformed(f"{shown(compact(value))} is no JSON object", line)
            yield line, value
            at = _skip(content, at)


def in_array(text: str, path: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of the array at ``path`` in a document, numbered from 1. A document without text has none.

    :raises Malformed: text that is no JSON, no array at the path, or a value in it that is no object.
    """
    at = _skip(text, 0)
    if at == len(text):
        return
    at = yield from _descend(text, at, path, ())
    if (at := _skip(text, at)) < len(text):
        raise Malformed(f"after the end of the JSON document: {shown(text[at : at + 40])}", _line(text, at))


def _descend(text: str, at: int, path: Sequence[str], above: tuple[str, ...]) -> Found:
    """Yields the records below here; returns where the value ends."""
    where = f"at {'.'.join(above)}" if above else "at the root"
    if not path:
        if text[at : at + 1] != "[":
            value, _ = _decode(text, at, _line(text, at))
            raise Malformed(f"{where} there is {_kind(value)}, not an array: set `subPath` to where the array is")
        return (yield from _elements(text, at))
    if text[at : at + 1] != "{":
        value, _ = _decode(text, at, _line(text, at))
        raise Malformed(f"{where} there is {_kind(value)}, and `subPath` goes on to {'.'.join(path)}")
    keys, at = list[str](), _skip(text, at + 1)
    is_found = False
    while text[at : at + 1] != "}":
        key, at = _key(text, at)
        keys.append(key)
        if key == path[0] and not is_found:
            at = yield from _descend(text, at, path[1:], (*above, key))
            is_found = True
        else:
            _, at = _decode(text, at, 0)
        at = _next(text, at, "}")
    if not is_found:
        raise Malformed(f"`subPath` names {path[0]}, and {where} there are only {', '.join(keys) or 'no keys'}")
    return at + 1


def _elements(text: str, at: int) -> Found:
    number, at = 0, _skip(text, at + 1)
    while text[at : at + 1] != "]":
        value, at = _decode(text, at, 0)
        number += 1
        if not isinstance(value, dict):
            raise Malformed(f"record {number}: {shown(compact(value))} is no JSON object")
        yield number, value
        at = _next(text, at, "]")
    return at + 1


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise Malformed("no JSON: a key in quotes must come here", _line(text, at))
    key, at = scanstring(text, at + 1, False)
    at = _skip(text, at)
    if text[at : at + 1] != ":":
        raise Malformed("no JSON: a colon must come here", _line(text, at))
    return key, _skip(text, at + 1)


def _next(text: str, at: int, closing: str) -> int:
    """Where the next member begins, or the closing bracket is."""
    at = _skip(text, at)
    if text[at : at + 1] == ",":
        at = _skip(text, at + 1)
        if text[at : at + 1] != closing:
            return at
    elif text[at : at + 1] == closing:
        return at
    raise Malformed(f"no JSON: a comma or {closing} must come here", _line(text, at))


def _decode(text: str, at: int, line: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as e:
        raise Malformed(f"no JSON: {e.msg} at {shown(text[e.pos : e.pos + 40])}", line or e.lineno) from None


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with the keys {', '.join(value) or '(none)'}"
    return "an array" if isinstance(value, list) else f"the value {shown(compact(value))}"


def compact(value: Any) -> str:
    """A value as JSON text, numbers as they were written."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{compact(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
