"""Why raw data cannot be read: texts that say where and what."""

from __future__ import annotations

_LONGEST = 200


def shown(text: str) -> str:
    """A piece of the data as messages quote it, cut when it is long."""
    return repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "…")


class Malformed(Exception):
    """The data are not of their format. ``line`` and ``record`` count from 1, 0 where they mean nothing."""

    def __init__(self, reason: str, line: int = 0, record: int = 0) -> None:
        places = [f"{unit} {number}" for unit, number in (("line", line), ("record", record)) if number]
        super().__init__(f"{', '.join(places)}: {reason}" if places else reason)
        self.reason, self.line = reason, line
