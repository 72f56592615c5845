"""A JSON document as a stream, in memory bounded by its largest value in use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from airflow_provider_odf.engine.read.source import Malformed, excerpt


class Number(str):
    """A number as written in the text. It loses no digits before its type is known."""

    __slots__ = ()


LONGEST = 256 << 20
"""Maximum number of characters of a value. A longer one is treated as an unclosed quote or bracket."""


class _RepeatedKey(ValueError):
    """An object has a key twice, and one of its values would be lost."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKey(next(key for key in keys if keys.count(key) > 1))
    return values


_DECODER = json.JSONDecoder(
    parse_int=Number, parse_float=Number, parse_constant=Number, strict=False, object_pairs_hook=_object
)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SPACE = re.compile(r"[ \t\r\n]*")
_IN_NUMBER = re.compile(r"[-+.eE\d]*")
TOO_DEEP = "values are nested too deeply"
_CLOSING = {"[": "]", "{": "}"}
_LONGEST_TOKEN = len("-Infinity")


class NoJson(Malformed):
    """The text is not valid JSON, or not storable, at the index ``at``.

    ``is_open`` marks a string without an end that begins there.
    """

    def __init__(self, reason: str, text: str, at: int, *, is_open: bool = False) -> None:
        super().__init__(reason + _place(text, at))
        self.at, self.is_open = at, is_open


def decode(text: str, at: int) -> tuple[Any, int]:
    """Return the value at an index, with numbers as ``Number``, and the index of its end.

    :raises NoJson: there is no value, or it has a repeated key or half of a surrogate pair.
    """
    try:
        value, end = _DECODER.raw_decode(text, at)
        half = _half_of_a_character(value) if _SURROGATE.search(text, at, end) else ""
    except json.JSONDecodeError as e:
        is_open = e.msg.startswith("Unterminated string")
        raise NoJson(f"invalid JSON: {e.msg.removesuffix(' at')}", text, e.pos, is_open=is_open) from None
    except _RepeatedKey as e:
        raise NoJson(f"duplicate key {excerpt(str(e))} in the object", text, at) from None
    except RecursionError:
        raise NoJson(TOO_DEEP, text, at) from None
    if half:
        raise NoJson(f"a string has {half}, an unpaired surrogate,", text, at)
    return value, end


def _half_of_a_character(value: Any) -> str:
    """Return the escape of an unpaired surrogate, or an empty text."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as e:
        return f"\\u{ord(e.object[e.start]):04x}"
    return ""


def space(text: str, at: int) -> int:
    """Return the index of the next character that is not white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _place(text: str, at: int) -> str:
    rest = text[at : at + 40]
    return f" at {excerpt(rest)}" if rest else " at the end of the text"


class JsonText:
    """Values of a document in order, and a window on its text from the next value on.

    The methods raise ``Malformed`` with the line if the text is not valid JSON.
    """

    def __init__(self, blocks: Iterable[str]) -> None:
        self._blocks = iter(blocks)
        self._text, self._at, self._line = "", 0, 1

    @property
    def line(self) -> int:
        """Line of the next value."""
        return self._line + self._text.count("\n", 0, self._at)

    def peek(self) -> str:
        """Return the next character that is not white space, or an empty text at the end."""
        while True:
            self._at = space(self._text, self._at)
            if self._at < len(self._text) or not self._read_more():
                return self._text[self._at : self._at + 1]

    def value(self) -> Any:
        """Read the next value, with numbers as ``Number``."""
        self.peek()
        while True:
            try:
                value, end = decode(self._text, self._at)
            except NoJson as e:
                if self._may_be_cut(e) and self._read_more():
                    continue
                raise self._error(e) from None
            if isinstance(value, Number) and _IN_NUMBER.fullmatch(self._text, end) and self._read_more():
                continue
            self._at = end
            return value

    def skip(self) -> None:
        """Skip the next value. Only the window is kept in memory."""
        opening = self.peek()
        if opening not in _CLOSING:
            self.value()
            return
        try:
            _, self._at = decode(self._text, self._at)
        except NoJson:
            try:
                self._skip_members(is_object=opening == "{")
            except RecursionError:
                raise self.malformed(TOO_DEEP) from None

    def _skip_members(self, *, is_object: bool) -> None:
        for _ in self.members():
            if is_object:
                self.key()
            self.skip()

    def members(self) -> Iterator[None]:
        """Yield before each element of the next array, or before each key of the next object.

        The caller reads the element, or the key and its value, before the next step.
        """
        closing = _CLOSING[self.peek()]
        self._at += 1
        if self.peek() == closing:
            self._at += 1
            return
        while True:
            yield
            after = self.peek()
            if after not in (",", closing):
                raise self.malformed(f"invalid JSON: expected a comma or {closing}")
            self._at += 1
            if after == closing:
                return
            if self.peek() == closing:
                raise self.malformed(f"invalid JSON: {closing} after a comma")

    def elements(self) -> Iterator[tuple[int, Any]]:
        """Yield the values of the next array with their numbers, from 1."""
        for number, _ in enumerate(self.members(), 1):
            try:
                value = self.value()
            except Malformed as e:
                raise Malformed(e.reason, e.line, number) from None
            yield number, value

    def key(self) -> str:
        """Read the next key, up to its value."""
        if self.peek() != '"':
            raise self.malformed("invalid JSON: expected a key in quotes")
        key = str(self.value())
        if self.peek() != ":":
            raise self.malformed("invalid JSON: expected a colon")
        self._at += 1
        return key

    def malformed(self, reason: str) -> Malformed:
        """Return an error at the current place. It quotes the text there."""
        self.peek()
        return Malformed(reason + _place(self._text, self._at), self.line)

    def _may_be_cut(self, error: NoJson) -> bool:
        """Whether more text could resolve the error."""
        return error.is_open or error.at + _LONGEST_TOKEN >= len(self._text)

    def _error(self, error: NoJson) -> Malformed:
        return Malformed(error.reason, self._line + self._text.count("\n", 0, error.at))

    def _read_more(self) -> bool:
        """Extend the window and drop the text before it. Return False at the end of the text.

        The size of the window doubles, so that a long value is parsed only a few times.
        """
        rest, new = self._text[self._at :], list[str]()
        if len(rest) > LONGEST:
            reason = f"invalid JSON: a value of more than {LONGEST >> 20} Mi characters starts here"
            raise Malformed(f"{reason}: check for an unclosed quote or bracket", self.line)
        for block in self._blocks:
            new.append(block)
            if sum(map(len, new)) > len(rest):
                break
        self._line, self._text, self._at = self.line, "".join([rest, *new]), 0
        return any(new)


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
