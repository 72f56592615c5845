"""Where in a query something is refused, and how that is told."""

from __future__ import annotations

from sqlglot import exp


class Refused(Exception):
    """No exact translation; becomes ``errors.InvalidInput`` once the query's text and number are known."""

    def __init__(self, node: exp.Expr | None, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.node, self.message, self.advice = node, message, advice

    def told(self, sql: str) -> str:
        """The line and column inside ``sql`` (counting from 1), what is wrong there, and what to do about it."""
        line, column = position(sql, self.node)
        return f"{line}:{column}: {self.message}" + (f" ({self.advice})" if self.advice else "")


def position(sql: str, node: exp.Expr | None) -> tuple[int, int]:
    """Line and column at which ``node`` begins; the nearest part or whole that has a place stands in for it."""
    while node is not None:
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        if starts:
            before = sql[: min(starts)]
            return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        node = node.parent
    return 1, 1
