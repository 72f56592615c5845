"""``Document``: a YAML document with the place of every key and value."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

import yaml

from airflow_provider_odf.errors import ManifestInvalid, Place, Problem

TAG = "tag:yaml.org,2002:"
_MAX_NODES = 100_000
MAX_DEPTH = 100
_LARGEST_EXPONENT = 400
INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")


class Document:
    """YAML document. ``value`` is its content as dicts, lists and scalars.

    With ``is_exact``, a number that no float holds as it is written is a Decimal.
    """

    def __init__(self, root: yaml.Node, file: str, is_exact: bool = False) -> None:
        self.file, self._is_exact = file, is_exact
        self._root = root
        self._pairs: dict[int, list[tuple[yaml.Node, yaml.Node]]] = {}

    @cached_property
    def value(self) -> Any:
        """Build the value of a document.

        :raises ManifestInvalid: the document has repeated keys, unknown tags, recursive or exploding aliases; the error
            has all of these problems.
        """
        builder = _Builder(self, self._is_exact)
        value = builder.build(self._root)
        if builder.problems:
            raise ManifestInvalid(builder.problems)
        return value

    def head(self, key: str) -> str | None:
        """Return the text of a scalar at the root without building the document, or None."""
        scalars = (v for k, v in self._root_pairs() if k.value == key and isinstance(v, yaml.ScalarNode))
        return next((v.value for v in scalars), None)

    def has(self, key: str) -> bool:
        """Return whether the root is a mapping with a key."""
        return any(k.value == key for k, _ in self._root_pairs())

    def _root_pairs(self) -> list[tuple[yaml.Node, yaml.Node]]:
        return self.pairs(self._root) if isinstance(self._root, yaml.MappingNode) else []

    def place(self, path: Sequence[str | int] = (), of_key: bool = False, offset: int = 0) -> Place:
        """Return the place of the value (or the key) at the end of a path, or of its last part that exists.

        The place of a mapping or list is that of its key; ``offset`` counts characters in a text of one line."""
        node, key = self._root, None
        for step in path:
            entry = self._step(node, step)
            if entry is None:
                return self._mark(key or node)
            key, node = entry
        is_at_key = key is not None and (of_key or not isinstance(node, yaml.ScalarNode))
        if is_at_key and key is not None:
            return self._mark(key)
        is_quoted = isinstance(node, yaml.ScalarNode) and node.style in ("'", '"')
        return self._mark(node, offset + is_quoted if offset else 0)

    def repaired(self, change: Callable[[Any], None]) -> Document:
        """Return the document with a changed value; all that is left keeps its place."""
        other = Document(self._root, self.file, self._is_exact)
        other.value = copy.deepcopy(self.value)
        change(other.value)
        return other

    def pairs(self, node: yaml.MappingNode) -> list[tuple[yaml.Node, yaml.Node]]:
        """Return keys and values of a mapping; merged ones (``<<``) follow its own."""
        if id(node) not in self._pairs:
            self._pairs[id(node)] = []  # ends recursion through <<
            own = [(k, v) for k, v in node.value if k.tag != f"{TAG}merge"]
            keys = {k.value for k, _ in own if isinstance(k.value, Hashable)}
            for key, value in node.value:
                if key.tag == f"{TAG}merge":
                    merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
                    for source in (m for m in merged if isinstance(m, yaml.MappingNode)):
                        new = [(k, v) for k, v in self.pairs(source) if k.value not in keys]
                        own += new
                        keys |= {k.value for k, _ in new}
            self._pairs[id(node)] = own
        return self._pairs[id(node)]

    def _step(self, node: yaml.Node, step: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
        if isinstance(node, yaml.MappingNode):
            return next(((k, v) for k, v in self.pairs(node) if k.value == step), None)
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            return None, node.value[step]
        return None

    def _mark(self, node: yaml.Node, offset: int = 0) -> Place:
        mark = node.start_mark
        return Place(self.file, mark.line + 1, mark.column + 1 + offset)


class _Builder:
    """Builds the value of a document and collects its problems."""

    def __init__(self, document: Document, is_exact: bool) -> None:
        self.problems: list[Problem] = []
        self._document, self._is_exact = document, is_exact
        self._values: dict[int, tuple[Any, int]] = {}
        self._open: set[int] = set()
        self._constructors: dict[type[yaml.Node], Callable[[Any], tuple[Any, int]]] = {
            yaml.ScalarNode: self._scalar,
            yaml.SequenceNode: self._sequence,
            yaml.MappingNode: self._mapping,
        }

    def build(self, root: yaml.Node) -> Any:
        value, size = self._value(root)
        if size > _MAX_NODES:
            self._problem(
                root, f"aliases expand to {size} values", "write the values without aliases, or split the document"
            )
        return value

    def _value(self, node: yaml.Node) -> tuple[Any, int]:
        """Return the value of a node and the number of values in it; aliases count as often as they occur."""
        if id(node) in self._values:
            return self._values[id(node)]
        if id(node) in self._open:
            self._problem(node, "an alias refers to a value that contains it")
            return None, 1
        if len(self._open) >= MAX_DEPTH:
            self._problem(node, f"nested deeper than {MAX_DEPTH} levels")
            return None, 1
        self._open.add(id(node))
        built = self._values[id(node)] = self._constructors[type(node)](node)
        self._open.discard(id(node))
        return built

    def _mapping(self, node: yaml.MappingNode) -> tuple[Any, int]:
        self._check_keys(node)
        mapping, size = {}, 1
        for key, value in self._document.pairs(node):
            if isinstance(key, yaml.ScalarNode):
                mapping[key.value], inner = self._value(value)
                size += inner
            else:
                self._problem(key, "a key must be a string")
        return mapping, size

    def _check_keys(self, node: yaml.MappingNode) -> None:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == f"{TAG}merge":
                continue
            if key.value in lines:
                self._problem(key, f"`{key.value}` is repeated", f"the first is in line {lines[key.value]}")
            lines.setdefault(key.value, key.start_mark.line + 1)

    def _sequence(self, node: yaml.SequenceNode) -> tuple[Any, int]:
        items = [self._value(item) for item in node.value]
        return [value for value, _ in items], 1 + sum(size for _, size in items)

    def _scalar(self, node: yaml.ScalarNode) -> tuple[Any, int]:
        text, tag = node.value, node.tag.removeprefix(TAG)
        if tag not in _SCALARS:
            self._problem(node, f"unknown tag {node.tag}", "quote the value if it is a string")
            return text, 1
        try:
            value = _SCALARS[tag](text)
            return (_exact(text, value) if self._is_exact and tag == "float" else value), 1
        except ValueError as e:
            self._problem(node, f"not a value of {tag}: {e}")
            return text, 1

    def _problem(self, node: yaml.Node, message: str, fix: str = "") -> None:
        mark = node.start_mark
        self.problems.append(Problem(Place(self._document.file, mark.line + 1, mark.column + 1), message, fix))


def _int(text: str) -> int:
    if not INT.fullmatch(text):
        raise ValueError(f"{text!r} is not an integer")
    return int(text, 0) if text.startswith(("0o", "0x")) else int(text)


def _exact(text: str, value: float) -> float | Decimal:
    """Return a number as it is written: as a float, if the float is that number.

    :raises ValueError: it would have more digits than memory holds, if it became an integer.
    """
    if "n" in text.lower():  # .inf and .nan
        return value
    try:
        number = Decimal(text)
        is_large = bool(number) and abs(number.adjusted()) > _LARGEST_EXPONENT
    except InvalidOperation:  # an exponent that has no place in a Decimal
        is_large = True
    if is_large:
        raise ValueError(f"the exponent is not between {-_LARGEST_EXPONENT} and {_LARGEST_EXPONENT}")
    return value if Decimal(repr(value)) == number else number


_SCALARS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "null": lambda _: None,
    "bool": lambda text: text.lower() == "true",
    "int": _int,
    "float": lambda text: float(text.lower().replace(".inf", "inf").replace(".nan", "nan")),
    "merge": str,
}
