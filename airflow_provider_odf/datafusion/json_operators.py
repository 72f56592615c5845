"""Rewrite ``->``, ``->>`` and JSON functions in a query to calls of the functions in a session.

Only unambiguous expressions are rewritten; all others are errors with their place. ``->`` and ``json_get`` return any
type and need a cast, as in the reference after its optimizer. JSON operators next to other operators need parentheses,
since DataFusion binds ``->>`` more loosely than ``=``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NoReturn

from airflow_provider_odf.datafusion.json_functions import FUNCTIONS, PREFIX
from airflow_provider_odf.datafusion.query_text import QueryProblem, Word, words

_ARROWS = ("->", "->>")
_PAIRS = {")": "(", "]": "["}
_BEFORE = ("SELECT", "DISTINCT", "WHERE", "HAVING", "ON", "BY", "AND", "OR", "WHEN", "THEN", "ELSE", "(", "[", ",")
_AFTER = (
    *("AS", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "AND", "OR", "WHEN", "THEN", "ELSE", "END"),
    *("ASC", "DESC", "NULLS", ")", "]", ",", ";"),
)
_OPERATORS = (
    "IS", "IN", "LIKE", "ILIKE", "SIMILAR", "BETWEEN", "NOT", "AT", "DIV", "XOR", "COLLATE", "ESCAPE", "OVER",
)  # fmt: skip
_BY_TYPE = {
    **dict.fromkeys(("BOOL", "BOOLEAN"), "json_get_bool"),
    **dict.fromkeys(("DOUBLE", "FLOAT", "REAL"), "json_get_float"),
    **dict.fromkeys(("INT", "INTEGER", "BIGINT"), "json_get_int"),
    **dict.fromkeys(("VARCHAR", "TEXT", "STRING"), "json_get_str"),
}
_CAST = "cast it, as in `CAST(j -> 'key' AS BIGINT)`, or write `j ->> 'key'` for its text"


def as_functions(query: str, number: int) -> str:
    """Return the query with its JSON operators and functions rewritten to calls of the functions in a session.

    :raises QueryProblem: an operator or function has no exact equivalent, or the query calls an internal function.
    """
    _refuse_internal(query, number)
    while True:
        tokens = list(words(query))
        # Backwards, so that earlier positions stay valid.
        last = next((i for i in reversed(range(len(tokens))) if _is_json(tokens, i)), None)
        if last is None:
            return query
        query = _Call(query, tokens, number).written(last)


def _refuse_internal(query: str, number: int) -> None:
    """Check that the query calls no internal function, because the paths in such calls are not checked.

    :raises QueryProblem: the query calls one.
    """
    for word in words(query):
        name = (word.name or "").lower()
        if name.startswith(PREFIX) and name.removeprefix(PREFIX) in FUNCTIONS:
            message, advice = f"{name} is an internal name", f"call {name.removeprefix(PREFIX)}"
            raise QueryProblem.at(query, word.start, message, advice, number=number)


def _is_json(tokens: Sequence[Word], index: int) -> bool:
    word, after = tokens[index], tokens[index + 1 : index + 2]
    is_call = bool(after) and after[0].text == "(" and (word.text in FUNCTIONS or word.text == "json_get")
    return (word.kind == "sign" and word.text in _ARROWS) or (word.kind == "name" and is_call)


def _partners(tokens: Sequence[Word]) -> dict[int, int]:
    """Return the place of the other bracket of each bracket that has one."""
    partners, opened = dict[int, int](), list[int]()
    for index, word in enumerate(tokens):
        if word.text in _PAIRS.values():
            opened.append(index)
        elif opened and _PAIRS.get(word.text) == tokens[opened[-1]].text:
            partners[index] = opened.pop()
            partners[partners[index]] = index
    return partners


class _Call:
    """An operator, a chain of operators, or a call in a query."""

    def __init__(self, query: str, tokens: Sequence[Word], number: int) -> None:
        self._query, self._words, self._number = query, tokens, number
        self._partners = _partners(tokens)

    def written(self, index: int) -> str:
        """Return the query with the call at a word rewritten."""
        word = self._words[index]
        if word.text in _ARROWS:
            return self._operators(index)
        closing = self._partners.get(index + 1)
        if closing is None:
            self._refuse(index + 1, "the parenthesis is not closed", "")
        arguments = self._arguments(index + 2, closing)
        if not arguments or any(len(path) != 1 for path in arguments[1:]):
            message = f"the path after {word.text} must consist of literals"
            self._refuse(index, message, "write keys as strings, positions as numbers")
        path = [self._step(one[0]) for one in arguments[1:]]
        text = self._between(arguments[0][0], arguments[0][-1])
        name = None if word.text == "json_get" else word.text
        return self._replaced(index, closing, text, path, name)

    def _operators(self, index: int) -> str:
        operator, begin = self._words[index], index
        path: list[str | int] = []
        while True:
            path.insert(0, self._step(self._at(begin + 1), begin))
            is_chain = begin >= 3 and self._words[begin - 2].text in _ARROWS and self._is_step(self._words[begin - 1])
            if not is_chain:
                break
            begin -= 2
        first = self._operand(begin - 1, index)
        before, after = self._at(first - 1), self._at(index + 2)
        stands_alone = (before is None or before.is_word(*_BEFORE)) and (after is None or after.is_word(*_AFTER))
        is_named = after is not None and after.kind in ("name", "quoted") and not after.is_word(*_OPERATORS)
        if not (stands_alone or ((before is None or before.is_word(*_BEFORE)) and is_named)):
            message = f"{operator.text} next to another operator is ambiguous"
            self._refuse(index, message, "put parentheses around it")
        text = self._between(self._words[first], self._words[begin - 1])
        name = "json_as_text" if operator.text == "->>" else None
        return self._replaced(first, index + 1, text, path, name)

    def _replaced(self, first: int, last: int, text: str, path: list[str | int], name: str | None) -> str:
        if name is None:
            first, last, name = self._cast(first, last)
        steps = json.dumps(path, ensure_ascii=False).replace("'", "''")
        begin, end = self._words[first].start, self._words[last].end
        return f"{self._query[:begin]}{PREFIX}{name}({text}, '{steps}'){self._query[end:]}"

    def _cast(self, first: int, last: int) -> tuple[int, int, str]:
        """Return the first and the last word of the cast around a value, and the JSON function for its type.

        Casts are `CAST(… AS type)`, `(…)::type` or `f(…)::type`.
        """
        while self._is("(", first - 1) and self._is(")", last + 1) and not self._is_call(first - 1):
            first, last = first - 1, last + 1
        if self._is("::", last + 1):
            end = last + 2
        elif self._is("AS", last + 1) and self._is("(", first - 1) and self._is("CAST", first - 2):
            first, end = first - 2, last + 2
        else:
            self._refuse(first, "the type of a JSON value is not known", _CAST)
        kind = self._at(end)
        name = _BY_TYPE.get(kind.text.upper()) if kind else None
        closes = self._words[first].text.upper() != "CAST" or self._is(")", end + 1)
        if name is None or not closes or (self._is("(", end + 1)):
            self._refuse(first, "a JSON value cannot be cast to this type", f"choose one of {', '.join(_BY_TYPE)}")
        return first, end + (self._words[first].text.upper() == "CAST"), name

    def _operand(self, index: int, operator: int) -> int:
        """Return the first word of the operand before an operator: a column, a literal, a call, or parentheses."""
        word = self._at(index)
        if word is None:
            self._refuse(operator, "the operator has no left operand", "")
        if word.text in (")", "]"):
            opening = self._partners.get(index)
            if opening is None:
                self._refuse(operator, f"`{word.text}` without `{_PAIRS[word.text]}`", "")
            if word.text == "]":
                return self._operand(opening - 1, operator)
            return opening - 1 if self._is_call(opening) else opening
        if word.kind == "sign" or word.kind == "number":
            self._refuse(operator, f"{word.text} cannot be the left operand", "put parentheses around it")
        while index >= 2 and self._words[index - 1].text == "." and self._words[index - 2].name is not None:
            index -= 2
        return index

    def _arguments(self, first: int, closing: int) -> list[list[Word]]:
        arguments: list[list[Word]] = [[]]
        depth = 0
        for word in self._words[first:closing]:
            depth += (word.text in _PAIRS.values()) - (word.text in _PAIRS)
            if word.text == "," and not depth:
                arguments.append([])
            else:
                arguments[-1].append(word)
        return arguments if all(arguments) else []

    def _step(self, word: Word | None, at: int | None = None) -> str | int:
        if word is None or not self._is_step(word):
            index = at if at is not None else next((i for i, w in enumerate(self._words) if w is word), 0)
            self._refuse(index, "the key must be a literal", "write a string for a key, a number for a position")
        return word.text[1:-1].replace("''", "'") if word.kind == "text" else int(word.text)

    def _is_step(self, word: Word) -> bool:
        return word.kind == "text" or (word.kind == "number" and word.text.isdigit())

    def _is_call(self, opening: int) -> bool:
        before = self._at(opening - 1)
        return (
            before is not None and before.name is not None and not before.is_word(*_BEFORE, "IN", "AS", "NOT", "FROM")
        )

    def _is(self, text: str, index: int) -> bool:
        word = self._at(index)
        return word is not None and word.kind in ("name", "sign") and word.text.upper() == text

    def _at(self, index: int) -> Word | None:
        return self._words[index] if 0 <= index < len(self._words) else None

    def _between(self, first: Word, last: Word) -> str:
        return self._query[first.start : last.end]

    def _refuse(self, index: int, message: str, advice: str) -> NoReturn:
        raise QueryProblem.at(self._query, self._words[index].start, message, advice, number=self._number)
