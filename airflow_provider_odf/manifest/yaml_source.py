"""YAML with the place of every key and value; the only module that imports yaml.

Scalars are those of YAML 1.2: ``yes`` and ``NO`` are texts, ``2024-05-02`` is a text. Keys are texts, unique in their
mapping; ``<<`` merges. Aliases may not be recursive nor expand to a document that is out of all proportion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import yaml

from airflow_provider_odf.errors import ManifestInvalid, Place, Problem

_TAG = "tag:yaml.org,2002:"
_MAX_NODES = 100_000
_MAX_DEPTH = 100
_LONG, _MANY, _DENSE = 1_000_000, 1000, re.compile(r"[-?][ \t]+[-?]")
"""What a text must have to nest dangerously deep."""

_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_RESOLVERS: Sequence[tuple[str, re.Pattern[str], list[str]]] = (
    ("bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    ("null", re.compile(r"(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("int", re.compile(rf"(?:{_INT.pattern})$"), list("-+0123456789")),
    ("float", re.compile(rf"(?:{_FLOAT.pattern})$"), list("-+.0123456789")),
    ("merge", re.compile(r"<<$"), ["<"]),
)
_FIXES = {
    "mapping values are not allowed": "quote a text that contains `: `, and check the indentation",
    "cannot start any token": "indent with spaces, and quote a text that starts with @, ` or %",
    "could not find expected ':'": "a key needs `: ` after it; check the indentation",
    "did not find expected key": "check the indentation, and quotes inside quotes",
    "did not find expected '-' indicator": "items of one list start in the same column",
    "did not find expected ',' or": "a `[` or `{` is not closed",
    "found unexpected end of stream": "a quote is not closed",
    "found undefined alias": "an alias `*name` needs an anchor `&name` before it; quote a text that starts with *",
}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    yaml_implicit_resolvers: ClassVar[dict[str, list[Any]]] = {}


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Quotes what either version of YAML would take for something else than a text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: Any, text: str) -> yaml.ScalarNode:
    is_block = "\n" in text and not re.search(r"[ \t]\n|[^\S\n ]|^\s", text)
    node: yaml.ScalarNode = dumper.represent_scalar(f"{_TAG}str", text, style="|" if is_block else None)
    return node


_Dumper.add_representer(str, _represent_text)
for _name, _pattern, _first in _RESOLVERS:
    _Loader.add_implicit_resolver(_TAG + _name, _pattern, _first)
    _Dumper.add_implicit_resolver(_TAG + _name, _pattern, _first)


class Document:
    """One YAML document. ``value`` is what it says as dicts, lists and scalars."""

    def __init__(self, root: yaml.Node, file: str) -> None:
        self.file = file
        self._root = root
        self._pairs: dict[int, list[tuple[yaml.Node, yaml.Node]]] = {}
        self._built: Any = None
        self._is_built = False

    @property
    def value(self) -> Any:
        """:raises ManifestInvalid: repeated keys, unknown tags, recursive or exploding aliases: all of them."""
        if not self._is_built:
            builder = _Builder(self)
            self._built = builder.build(self._root)
            if builder.problems:
                raise ManifestInvalid(builder.problems)
            self._is_built = True
        return self._built

    def head(self, key: str) -> str | None:
        """The text of a scalar at the root, without building the document; None where there is none."""
        scalars = (v for k, v in self._root_pairs() if k.value == key and isinstance(v, yaml.ScalarNode))
        return next((v.value for v in scalars), None)

    def has(self, key: str) -> bool:
        """Whether the root is a mapping with this key."""
        return any(k.value == key for k, _ in self._root_pairs())

    def _root_pairs(self) -> list[tuple[yaml.Node, yaml.Node]]:
        return self.pairs(self._root) if isinstance(self._root, yaml.MappingNode) else []

    def place(self, path: Sequence[str | int] = (), of_key: bool = False, offset: int = 0) -> Place:
        """Where the value (or the key) at the end of a path stands; ``offset`` is a character in a text of one line.

        A mapping or list stands where its key stands; a path that leads nowhere gives the last thing on it."""
        node, key = self._root, None
        for step in path:
            found = self._step(node, step)
            if found is None:
                return self._mark(key or node)
            key, node = found
        is_at_key = key is not None and (of_key or not isinstance(node, yaml.ScalarNode))
        if is_at_key and key is not None:
            return self._mark(key)
        is_quoted = isinstance(node, yaml.ScalarNode) and node.style in ("'", '"')
        return self._mark(node, offset + is_quoted if offset else 0)

    def pairs(self, node: yaml.MappingNode) -> list[tuple[yaml.Node, yaml.Node]]:
        """Keys and values of a mapping; merged ones (``<<``) after its own."""
        if id(node) not in self._pairs:
            self._pairs[id(node)] = []  # ends recursion through <<
            own = [(k, v) for k, v in node.value if k.tag != f"{_TAG}merge"]
            keys = {k.value for k, _ in own if isinstance(k.value, Hashable)}
            for key, value in node.value:
                if key.tag == f"{_TAG}merge":
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
    """Builds the value of a document and collects what is wrong with it."""

    def __init__(self, document: Document) -> None:
        self.problems: list[Problem] = []
        self._document = document
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
            self._problem(root, f"aliases expand to {size} values", "write it out or split the document")
        return value

    def _value(self, node: yaml.Node) -> tuple[Any, int]:
        """The value of a node and the number of values in it, aliases counted as often as they stand."""
        if id(node) in self._values:
            return self._values[id(node)]
        if id(node) in self._open:
            self._problem(node, "an alias refers to what it is a part of")
            return None, 1
        if len(self._open) >= _MAX_DEPTH:
            self._problem(node, f"nested deeper than {_MAX_DEPTH} levels")
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
                self._problem(key, "a key must be a text")
        return mapping, size

    def _check_keys(self, node: yaml.MappingNode) -> None:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == f"{_TAG}merge":
                continue
            if key.value in lines:
                self._problem(key, f"`{key.value}` is given twice", f"the first is in line {lines[key.value]}")
            lines.setdefault(key.value, key.start_mark.line + 1)

    def _sequence(self, node: yaml.SequenceNode) -> tuple[Any, int]:
        items = [self._value(item) for item in node.value]
        return [value for value, _ in items], 1 + sum(size for _, size in items)

    def _scalar(self, node: yaml.ScalarNode) -> tuple[Any, int]:
        text, tag = node.value, node.tag.removeprefix(_TAG)
        if tag not in _SCALARS:
            self._problem(node, f"unknown tag {node.tag}", "quote the text")
            return text, 1
        try:
            return _SCALARS[tag](text), 1
        except ValueError as e:
            self._problem(node, f"not a value of {tag}: {e}")
            return text, 1

    def _problem(self, node: yaml.Node, message: str, fix: str = "") -> None:
        mark = node.start_mark
        self.problems.append(Problem(Place(self._document.file, mark.line + 1, mark.column + 1), message, fix))


def _int(text: str) -> int:
    if not _INT.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text, 0) if text.startswith(("0o", "0x")) else int(text)


def _float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


_SCALARS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "null": lambda _: None,
    "bool": lambda text: text.lower() == "true",
    "int": _int,
    "float": _float,
    "merge": str,
}


def read_text(path: Path) -> str:
    """Return the text of a YAML file, without a byte order mark.

    :raises ManifestInvalid: the file cannot be read or is not UTF-8.
    """
    try:
        data = path.read_bytes()
    except OSError as e:
        raise ManifestInvalid([Problem(Place(str(path)), f"cannot be read: {e.strerror or e}")]) from e
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise ManifestInvalid([_not_utf8(path, data, e.start, e.reason)]) from e
    if "\0" in text:  # what UTF-16 without a byte order mark looks like
        raise ManifestInvalid([_not_utf8(path, data, data.index(0), "the file has NUL bytes, as UTF-16 has")])
    return text


def _not_utf8(path: Path, data: bytes, position: int, reason: str) -> Problem:
    line_start = data.rfind(b"\n", 0, position) + 1
    column = len(data[line_start:position].decode("utf-8", "replace")) + 1
    place = Place(str(path), data.count(b"\n", 0, position) + 1, column)
    return Problem(place, f"not UTF-8: {reason}", "save it as UTF-8")


def scan(text: str, file: str) -> tuple[list[Document], list[Problem]]:
    """The documents of a text up to its first syntax error, and that error. Nothing is built yet."""
    documents: list[Document] = []
    try:
        documents.extend(Document(root, file) for root in _compose(text))
    except yaml.YAMLError as e:
        return documents, [_problem(e, text, file)]
    return documents, []


def parse(text: str, file: str) -> list[Document]:
    """The documents of a text.

    :raises ManifestInvalid: a syntax error, or documents that cannot be built.
    """
    documents, problems = scan(text, file)
    for document in documents:
        try:
            _ = document.value
        except ManifestInvalid as e:
            problems = [*problems, *e.problems]
    if problems:
        raise ManifestInvalid(sorted(problems))
    return documents


def dump_yaml(value: Any) -> str:
    """Block style, keys in the order given, texts of several lines as literal blocks."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


def _compose(text: str) -> Iterator[yaml.Node]:
    if len(text) > _LONG or sum(map(text.count, "[{")) > _MANY or len(_DENSE.findall(text)) > _MANY:
        _check_depth(text)
    loader = _Loader(text)
    try:
        while loader.check_node():
            yield loader.get_node()
    finally:
        loader.dispose()


def _check_depth(text: str) -> None:
    """The C library composes by recursion and would crash the process on a text made to nest very deep."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            mark: Any = event.start_mark
            raise yaml.MarkedYAMLError(problem=f"nested deeper than {_MAX_DEPTH} levels", problem_mark=mark)


def _problem(error: yaml.YAMLError, text: str, file: str) -> Problem:
    if not isinstance(error, yaml.MarkedYAMLError):
        return _bad_character(error, text, file)
    mark = error.problem_mark or error.context_mark
    message = " ".join(filter(None, (error.problem, error.context if error.problem is None else None)))
    fix = next((fix for start, fix in _FIXES.items() if start in message), "")
    place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
    return Problem(place, f"not YAML: {message}", fix)


def _bad_character(error: yaml.YAMLError, text: str, file: str) -> Problem:
    """A character that YAML does not allow: the position that the reader gives is in bytes, so it is looked up here."""
    match = re.search("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    if match is None:
        return Problem(Place(file), f"not YAML: {error}")
    lines = text[: match.start()].split("\n")
    place = Place(file, len(lines), len(lines[-1]) + 1)
    return Problem(
        place, f"not YAML: the character {match[0]!r} is not allowed", "write it as an escape in double quotes"
    )
