"""Objects in JSON text that comes in blocks: on lines, or in an array of a document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from airflow_provider_odf.engine.read.json_text import TOO_DEEP, JsonText, NoJson, Number, decode, space
from airflow_provider_odf.engine.read.problem import Malformed, excerpt

_ONE_DOCUMENT = ": each line must contain complete objects; read a document of several lines with kind Json"

Records: TypeAlias = Iterator[tuple[int, dict[str, Any]]]
"""Objects with their record number or line."""


def on_lines(blocks: Iterable[str], first_line: int) -> Records:
    """Yield the objects of newline-delimited JSON with their lines. A line may have several objects.

    :raises Malformed: the text is not JSON, or a value is not an object.
    """
    for line, content in enumerate(_lines(blocks), first_line):
        at = space(content, 0)
        while at < len(content):
            try:
                value, at = decode(content, at)
            except NoJson as e:
                hint = _ONE_DOCUMENT if e.at >= len(content.rstrip()) else ""
                raise Malformed(e.reason + hint, line) from None
            if not isinstance(value, dict):
                hint = ": read an array with kind Json" if isinstance(value, list) else ""
                raise Malformed(f"{brief(value)} is not a JSON object{hint}", line)
            yield line, value
            at = space(content, at)


def _lines(blocks: Iterable[str]) -> Iterator[str]:
    begun = list[str]()
    for block in blocks:
        first, *more = block.split("\n")
        begun.append(first)
        if more:
            yield "".join(begun)
            yield from more[:-1]
            begun = more[-1:]
    yield "".join(begun)


def in_array(blocks: Iterable[str], path: Sequence[str]) -> Records:
    """Yield the objects of the array at ``path`` in a document, numbered from 1.

    :raises Malformed: the text is not JSON, the path has no array, or a value in the array is not an object.
    """
    document = JsonText(blocks)
    if not document.peek():
        raise Malformed("the file is blank, but Json must contain `[]`: check whether the source wrote the whole file")
    yield from _descend(document, path, ())
    if document.peek():
        raise document.malformed("unexpected text after the end of the JSON document")


def _descend(document: JsonText, path: Sequence[str], above: tuple[str, ...]) -> Records:
    """Read the next value and yield the records in it."""
    where = f"at {'.'.join(above)}" if above else "at the root"
    opening = document.peek()
    if not path and opening == "[":
        yield from _elements(document)
        return
    if not path:
        kind = _kind(document)
        are_lines = opening == "{" and not above and document.peek() == "{"
        advice = "read lines of objects with kind NdJson" if are_lines else "set `subPath` to where the array is"
        raise Malformed(f"{where} there is {kind}, not an array: {advice}")
    if opening != "{":
        raise Malformed(f"{where} there is {_kind(document)}, but `subPath` continues with {'.'.join(path)}")
    keys = dict[str, None]()
    for _ in document.members():
        key = document.key()
        if key == path[0]:
            if key in keys:
                raise document.malformed(f"duplicate key {key} {where}")
            yield from _descend(document, path[1:], (*above, key))
        else:
            document.skip()
        keys[key] = None
    if path[0] not in keys:
        raise Malformed(f"`subPath` has the key {path[0]}, but {where} there {_listed(keys)}")


def _listed(keys: Iterable[str]) -> str:
    return f"are only {', '.join(keys)}" if keys else "are no keys"


def _elements(document: JsonText) -> Records:
    for number, value in document.elements():
        if not isinstance(value, dict):
            raise Malformed(f"{brief(value)} is not a JSON object", record=number)
        yield number, value


def _kind(document: JsonText) -> str:
    """Read the next value and return its kind in words."""
    opening = document.peek()
    if opening == "[":
        return "an array"
    if opening != "{":
        return f"the value {brief(document.value())}"
    keys = list[str]()
    for _ in document.members():
        keys.append(document.key())
        document.skip()
    return f"an object with the keys {', '.join(keys) or '(none)'}"


def brief(value: Any) -> str:
    """Return a value as messages quote it."""
    try:
        return excerpt(compact(value))
    except Malformed as e:
        return f"({e})"


def compact(value: Any) -> str:
    """Return a value as JSON text, with numbers as in the source.

    :raises Malformed: it is nested too deeply.
    """
    try:
        return _compact(value)
    except RecursionError:
        raise Malformed(TOO_DEEP) from None


def _compact(value: Any) -> str:
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{_compact(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
