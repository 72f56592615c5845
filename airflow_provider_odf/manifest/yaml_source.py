"""Conversion of YAML text to documents, and of values to YAML text.

Scalars are those of YAML 1.2: ``yes``, ``NO`` and ``2024-05-02`` are texts. Keys are texts, unique in their mapping;
``<<`` merges. Aliases may not be recursive, nor expand to a document that is out of all proportion.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import yaml

from airflow_provider_odf.errors import ManifestInvalid, Place, Problem
from airflow_provider_odf.manifest.document import INT, MAX_DEPTH, TAG, Document

_LONG, _MANY, _DENSE = 1_000_000, 1000, re.compile(r"[-?][ \t]+[-?]")
"""A text below these limits cannot nest dangerously deep."""

_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_RESOLVERS: Sequence[tuple[str, re.Pattern[str], list[str]]] = (
    ("bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    ("null", re.compile(r"(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("int", re.compile(rf"(?:{INT.pattern})$"), list("-+0123456789")),
    ("float", re.compile(rf"(?:{_FLOAT.pattern})$"), list("-+.0123456789")),
    ("merge", re.compile(r"<<$"), ["<"]),
)
_FIXES = {
    "mapping values are not allowed": "quote a string that contains `: `, and check the indentation",
    "cannot start any token": "indent with spaces, and quote a string that starts with @, ` or %",
    "could not find expected ':'": "a key needs `: ` after it; check the indentation",
    "did not find expected key": "check the indentation, and quotes inside quotes",
    "did not find expected '-' indicator": "items of one list start in the same column",
    "did not find expected ',' or": "a `[` or `{` is not closed",
    "found unexpected end of stream": "a quote is not closed",
    "found undefined alias": "an alias `*name` needs an anchor `&name` before it; quote a string that starts with *",
}


_PLAIN_WORD = re.compile(r"\.|-{0,2}(?:\.{0,2}/)?[A-Za-z_/][\w./=+-]*")
_OTHER_TYPES = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")
"""Texts that YAML reads as another type."""

_OF_A_SHELL = frozenset("();<>|&")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    yaml_implicit_resolvers: ClassVar[dict[str, list[Any]]] = {}


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Quotes texts that YAML 1.1 or 1.2 would read as another type."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: Any, text: str) -> yaml.ScalarNode:
    is_block = "\n" in text and not re.search(r"[ \t]\n|[^\S\n ]|^\s", text)
    node: yaml.ScalarNode = dumper.represent_scalar(f"{TAG}str", text, style="|" if is_block else None)
    return node


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(Decimal, lambda dumper, number: dumper.represent_scalar(f"{TAG}float", str(number)))
for _name, _pattern, _first in _RESOLVERS:
    _Loader.add_implicit_resolver(TAG + _name, _pattern, _first)
    _Dumper.add_implicit_resolver(TAG + _name, _pattern, _first)


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
        raise ManifestInvalid([_not_utf8(path, data, data.index(0), "the file has NUL bytes and may be UTF-16")])
    return text


def _not_utf8(path: Path, data: bytes, position: int, reason: str) -> Problem:
    line_start = data.rfind(b"\n", 0, position) + 1
    column = len(data[line_start:position].decode("utf-8", "replace")) + 1
    place = Place(str(path), data.count(b"\n", 0, position) + 1, column)
    return Problem(place, f"not UTF-8: {reason}", "save it as UTF-8")


def scan(text: str, file: str, is_exact: bool = False) -> tuple[list[Document], list[Problem]]:
    """Return the documents of a text up to its first syntax error, and that error. No value is built yet.

    ``is_exact`` is that of `Document`.
    """
    documents: list[Document] = []
    try:
        documents.extend(Document(root, file, is_exact) for root in _compose(text))
    except yaml.YAMLError as e:
        return documents, [_problem(e, text, file)]
    return documents, []


def parse(text: str, file: str, is_exact: bool = False) -> list[Document]:
    """Return the documents of a text. ``is_exact`` is that of `Document`.

    :raises ManifestInvalid: a syntax error, or documents that cannot be built.
    """
    documents, problems = scan(text, file, is_exact)
    for document in documents:
        try:
            _ = document.value
        except ManifestInvalid as e:
            problems = [*problems, *e.problems]
    if problems:
        raise ManifestInvalid(sorted(problems))
    return documents


def dump_yaml(value: Any) -> str:
    """Return a value as YAML in block style; keys keep their order, texts of several lines are literal blocks."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


def command_list(line: str) -> str:
    """Return a command line, which no shell reads, as a YAML list with one item per word; a command that needs a shell
    becomes an argument of one.

    >>> command_list("jq -c ."), command_list("tail -n +2 | sort")
    ('[jq, -c, .]', '[sh, -c, "tail -n +2 | sort"]')
    """
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        words = list(lexer)
    except ValueError:  # a quote is not closed
        words = line.split()
    if any(_OF_A_SHELL.issuperset(word) for word in words if word):
        words = ["sh", "-c", line]
    return f"[{', '.join(_command_items(words))}]"


def _command_items(words: Iterable[str]) -> Iterable[str]:
    for word in words:
        is_plain = _PLAIN_WORD.fullmatch(word) and word.lower() not in _OTHER_TYPES
        yield word if is_plain else json.dumps(word, ensure_ascii=False)


def _compose(text: str) -> Iterator[yaml.Node]:
    if len(text) > _LONG or sum(map(text.count, "[{")) > _MANY or len(_DENSE.findall(text)) > _MANY:
        _check_depth(text)
    loader = _Loader(text)
    try:
        while loader.check_node():
            yield loader.get_node()
    finally:
        loader.dispose()


_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"


def _check_depth(text: str) -> None:
    """Raise an error for deep nesting: the C library composes by recursion, and would crash the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            mark: Any = event.start_mark
            raise yaml.MarkedYAMLError(problem=_TOO_DEEP, problem_mark=mark)


def _problem(error: yaml.YAMLError, text: str, file: str) -> Problem:
    if not isinstance(error, yaml.MarkedYAMLError):
        return _bad_character(error, text, file)
    mark = error.problem_mark or error.context_mark
    message = " ".join(filter(None, (error.problem, error.context if error.problem is None else None)))
    if "maximum nesting depth" in message:  # the C library's own limit, from PyYAML 6.0.4 on
        message = _TOO_DEEP
    fix = next((fix for start, fix in _FIXES.items() if start in message), "")
    place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
    return Problem(place, f"not YAML: {message}", fix)


def _bad_character(error: yaml.YAMLError, text: str, file: str) -> Problem:
    """Return the problem of a character that YAML does not allow. The reader reports its position in bytes, so it is
    searched here."""
    match = re.search("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    if match is None:
        return Problem(Place(file), f"not YAML: {error}")
    lines = text[: match.start()].split("\n")
    place = Place(file, len(lines), len(lines[-1]) + 1)
    return Problem(
        place, f"not YAML: the character {match[0]!r} is not allowed", "write it as an escape in double quotes"
    )
