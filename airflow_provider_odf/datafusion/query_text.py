"""The words of a query with their positions, and problems of queries with their place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from airflow_provider_odf.errors import InvalidInput

_WORD = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*|/\*.*?\*/)
  | (?P<text>'(?:[^']|'')*')
  | (?P<quoted>"(?:[^"]|"")*")
  | (?P<name>[^\W\d]\w*)
  | (?P<number>\d[\w.]*)
  | (?P<sign>->>|->|::|<=|>=|<>|!=|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Word:
    """A word of a query.

    ``kind`` is text, quoted, name, number or sign. ``start`` and ``end`` are positions in the query.
    """

    kind: str
    text: str
    start: int
    end: int

    @property
    def name(self) -> str | None:
        """The identifier without quotes; None for other words."""
        if self.kind == "quoted":
            return self.text[1:-1].replace('""', '"')
        return self.text if self.kind == "name" else None

    def is_word(self, *words: str) -> bool:
        """Whether the word is one of these keywords, in upper case, or signs."""
        return self.kind in ("name", "sign") and self.text.upper() in words


def words(query: str) -> Iterator[Word]:
    """Yield the words of a query in order, without white space and comments."""
    for match in _WORD.finditer(query):
        if match.lastgroup and match.lastgroup != "space":
            yield Word(match.lastgroup, match[0], match.start(), match.end())


_MOST_OPERATORS = 1000
_OPERATORS = ("OR", "AND", "+", "-", "*", "/", "%", "||", "&", "|", "^", "#")
_BREAKS = frozenset(
    (",", "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "ON", "WHEN", "THEN", "ELSE", "UNION", "EXCEPT")
)


def check_operators(query: str, what: str) -> None:
    """Refuse an expression of so many operators in a row that DataFusion, which calls itself for each, would end this
    process.

    :raises InvalidInput: there is one.
    """
    counts = [0]
    for word in words(query):
        if word.is_word("("):
            counts.append(0)
        elif word.is_word(")") and len(counts) > 1:
            counts.pop()
        elif word.is_word(*_BREAKS):
            counts[-1] = 0
        elif word.is_word(*_OPERATORS):
            counts[-1] += 1
            if counts[-1] > _MOST_OPERATORS:
                line, column = line_and_column(query, word.start)
                raise InvalidInput(
                    f"{what}, {line}:{column}: an expression has more than {_MOST_OPERATORS:,} operators (use IN, "
                    "concat, or a join with VALUES)"
                )


_IGNORED = {"TABLESAMPLE": (), "FOR": ("UPDATE", "SHARE")}
"""Words of clauses that DataFusion takes and ignores, with those that follow."""


def check_clauses(query: str, what: str) -> None:
    """Refuse a clause that DataFusion takes and ignores.

    :raises InvalidInput: there is one.
    """
    for word, after in pairwise(words(f"{query} ;")):
        following = _IGNORED.get(word.text.upper()) if word.kind == "name" else None
        if following is not None and (not following or after.is_word(*following)):
            line, column = line_and_column(query, word.start)
            clause = f"{word.text} {after.text}" if following else word.text
            raise InvalidInput(f"{what}, {line}:{column}: {clause.upper()} is not supported")


def position_of(query: str, name: str) -> int | None:
    """Return the position of an identifier in a query, or None. ``name`` may be `table.column`."""
    parts = [word.name or word.text for word in words(name) if word.text != "."]
    last = parts[-1] if parts else name
    same = [word for word in words(query) if word.name is not None and word.name.lower() == last.lower()]
    exact = [word for word in same if word.name == last]
    return next((word.start for word in exact or same), None)


def line_and_column(query: str, position: int) -> tuple[int, int]:
    """Return the line and the column of a position in a query, both from 1."""
    before = query[:position]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


class QueryProblem(Exception):
    """A query that is not valid, cannot be planned or has no exact translation.

    ``number`` counts the queries of a transform from 1; 0 means all of them. ``place`` has line and column, 0 if they
    are unknown. ``is_certain`` says whether the query is wrong for any columns of its input.
    """

    def __init__(
        self,
        message: str,
        advice: str = "",
        *,
        number: int = 0,
        place: tuple[int, int] = (0, 0),
        is_certain: bool = False,
    ) -> None:
        super().__init__(message)
        self.message, self.advice, self.is_certain = message, advice, is_certain
        self.number, (self.line, self.column) = number, place

    @classmethod
    def at(
        cls, query: str, position: int, message: str, advice: str = "", *, number: int, is_certain: bool = True
    ) -> QueryProblem:
        """Return the problem of a character in a query."""
        return cls(message, advice, number=number, place=line_and_column(query, position), is_certain=is_certain)

    def __str__(self) -> str:
        place = f", {self.line}:{self.column}" if self.line else ""
        query = f"query {self.number}{place}: " if self.number else ""
        return f"{query}{self.message}" + (f" ({self.advice})" if self.advice else "")


_BARE_DATE = re.compile(r"(?<![\w.])\d{4}-\d{2}-\d{2}(?![\w.])")
_NOT_A_QUERY = re.compile(r"(?:DDL|DML|Statement) not supported: (\w+)|Unsupported SQL statement: (\w+)|^(SHOW) ")
_PLACE = re.compile(r" at Line: (\d+), Column: (\d+)")
_AT_END = re.compile(r"found: EOF\b")
_ADVICE = re.compile(r"\bDid you mean '(.+)'\?")
_HINTS = re.compile(
    r"Column names are case sensitive\..*?configuration\.|Backtrace:.*|\(DataType: \w+\)\."
    r"|This issue was likely caused by a bug.*?issues\.",
    re.DOTALL,
)
_PREFIX = re.compile(
    r"^(?:(?:DataFusion error|Error during planning|Schema error|SQL error|Execution error|Arrow error|Internal error|"
    r"External error|Parser error|Cast error|Optimizer rule '\w+' failed|This feature is not implemented|"
    r"type_coercion|caused by):? ?|\s)+"
)
_PARSER = re.compile(r"^\w+Error\(\"(.*)\"\)$", re.DOTALL)
_NAMES = (
    re.compile(r"No field named ((?:\"[^\"]*\"|[^\s\"])+?)\.?(?:\s|$)"),
    re.compile(r"table (?:function )?'(?:datafusion\.public\.)?(.+?)' not found"),
    re.compile(r"Invalid function '(.+?)'"),
    re.compile(r"Unsupported SQL type (\w+)"),
    re.compile(r"Function '(\w+)'"),
    re.compile(r"Ambiguous reference to (?:unqualified )?field (\S+)"),
    re.compile(r"Operator (\S+) is not"),
    re.compile(r"(?:Error parsing \w+ from|Cannot cast string) ('.*?')"),
)
_CERTAIN = re.compile(r"^SQL error|single SQL statement|Invalid function|Unsupported SQL type|table .*not found")
ONLY_QUERIES = "only queries (SELECT, WITH, VALUES, UNION) are allowed"


def problem(error: BaseException, query: str, number: int) -> QueryProblem:
    """Return an error of DataFusion as a problem of a query."""
    text = str(error)
    if _NOT_A_QUERY.search(_PREFIX.sub("", text)):
        return QueryProblem.at(query, len(query) - len(query.lstrip()), ONLY_QUERIES, number=number)
    message, advice = brief(text), ""
    if suggested := _ADVICE.search(message):
        message = _squeezed(_ADVICE.sub("", message))
        advice = f"did you mean `{suggested[1].removeprefix('input.')}`?"
    is_certain = _CERTAIN.search(text) is not None
    return QueryProblem(message, advice, number=number, place=_place(text, query), is_certain=is_certain)


def check_dates(query: str, what: str) -> None:
    """Refuse a date without quotes, which SQL would compute as a number: 2026-05-01 is 2020.

    :raises InvalidInput: there is one.
    """
    bare = "".join(
        " " * len(m[0]) if m.lastgroup in ("text", "quoted", "space") else m[0] for m in _WORD.finditer(query)
    )
    if found := _BARE_DATE.search(bare):
        line, column = line_and_column(query, found.start())
        raise InvalidInput(f"{what}, {line}:{column}: {found[0]} is a subtraction: a date has quotes: '{found[0]}'")


def advice_on_quotes(query: str, message: str) -> str:
    """Return what is wrong where a name in double quotes is no column: it may be a text."""
    named = _NAMES[0].search(message)
    name = named[1].strip('"') if named is not None else None
    quoted = {word.name for word in words(query) if word.kind == "quoted"}
    return f"is it a text? Texts have single quotes: '{name}'" if name in quoted else ""


def brief(text: str) -> str:
    """Return DataFusion's message on one line, without the parts for its developers."""
    text = _PREFIX.sub("", _HINTS.sub("", text))
    if match := _PARSER.match(text.strip()):
        text = match[1].replace('\\"', '"').replace("\\'", "'")
    text = _PLACE.sub("", text).replace("datafusion.public.", "").replace("Valid fields are", "The columns are")
    text = re.sub(r"failed to match any signature, errors: .*?(?=No function matches)", "has other arguments. ", text)
    text = re.sub(r"\.\. No function matches the given name and argument types '(.+?)'\.", r" (\1).", text)
    return _squeezed(text.replace("\tCandidate functions:", "Possible:"))


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _place(text: str, query: str) -> tuple[int, int]:
    if match := _PLACE.search(text):
        return int(match[1]), int(match[2])
    if _AT_END.search(text):
        return line_and_column(query, len(query.rstrip()))
    for pattern in _NAMES:
        name = named[1] if (named := pattern.search(text)) else ""
        position = query.find(name) if re.fullmatch(r"\W+|'.*'", name) else position_of(query, name) if name else None
        if position is not None and position >= 0:
            return line_and_column(query, position)
    return (1, 1) if query else (0, 0)
