"""Problems of raw data, as texts with the place and the reason."""

from __future__ import annotations

from collections.abc import Collection

from airflow_provider_odf.wording import listed

_LONGEST = 200


def excerpt(text: str) -> str:
    """Return a part of the data as messages quote it, cut if it is long."""
    return repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "…")


def ignored_columns(label: str, names: Collection[str]) -> tuple[str, ...]:
    """Return a notice on columns that the schema does not have, nothing if there are none."""
    return (f"{label}: ignored columns that are not in the schema: {listed(tuple(names))}",) if names else ()


class Malformed(Exception):
    """The data do not match their format. ``line`` and ``record`` count from 1; 0 means unknown."""

    def __init__(self, reason: str, line: int = 0, record: int = 0) -> None:
        places = [f"{unit} {number}" for unit, number in (("line", line), ("record", record)) if number]
        super().__init__(f"{', '.join(places)}: {reason}" if places else reason)
        self.reason, self.line = reason, line
