"""Where in a query something is refused, and how that is told."""

from __future__ import annotations

from sqlglot import exp


class Refused(Exception):
    """No exact translation; becomes ``QueryRefused`` once the query's text and number are known."""

    def __init__(self, node: exp.Expr | None, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.node, self.message, self.advice = node, message, advice


class QueryRefused(Exception):
    """A ``Refused`` with the number of its query, from 1, and its line and column there; 0 is the whole of it."""

    def __init__(
        self, message: str, advice: str = "", *, number: int = 0, line: int = 0, column: int = 0, on_alias: bool = False
    ) -> None:
        super().__init__(message)
        self.message, self.advice = message, advice
        self.number, self.line, self.column, self.on_alias = number, line, column, on_alias

    def __str__(self) -> str:
        query = f" query {self.number}" if self.number else ""
        place = f", {self.line}:{self.column}" if self.line else ""
        return f"{query}{place}: {self.message}" + (f" ({self.advice})" if self.advice else "")


def position(sql: str, node: exp.Expr | None) -> tuple[int, int]:
    """Line and column at which ``node`` begins; the nearest part or whole that has a place stands in for it."""
    while node is not None:
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        if starts:
            before = sql[: min(starts)]
            return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        node = node.parent
    return 1, 1
