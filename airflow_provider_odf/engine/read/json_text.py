"""A JSON document as a stream, in memory bounded by its largest value in use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from airflow_provider_odf.engine.read.problem import Malformed, excerpt


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
