"""DuckDB computing the change records of a Snapshot merge, numbered and written in order. The limit of the machine.

``history`` is the dataset's slices; of more than one the state is the last record of each key that is no retraction.
"""

from __future__ import annotations

import json
import sys

from benchmarks.data import COLUMNS, connect
from benchmarks.measure import Clock

_STATE = """SELECT * FROM read_parquet({files})
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY "offset" DESC) = 1 AND op IN (0, 3)"""


def main(history: list[str], new: str, target: str) -> None:
    state = f"read_parquet({history})" if len(history) == 1 else f"({_STATE.format(files=history)})"
    differs = " OR ".join(f"n.{c} IS DISTINCT FROM o.{c}" for c in COLUMNS)
    columns = ", ".join(f"CASE WHEN op IN (0, 3) THEN n.{c} ELSE o.{c} END AS {c}" for c in ("id", *COLUMNS))
    query = f"""
        SELECT row_number() OVER (ORDER BY id, op) - 1 AS "offset", * FROM (
            SELECT op, {columns} FROM (
                SELECT n, o, unnest(CASE WHEN o.id IS NULL THEN [0] WHEN n.id IS NULL THEN [1] ELSE [2, 3] END) AS op
                FROM read_parquet('{new}') n FULL JOIN {state} o ON n.id = o.id
                WHERE n.id IS NULL OR o.id IS NULL OR {differs}))
        ORDER BY "offset" """
    clock = Clock()
    with connect() as db:
        db.execute(f"COPY ({query}) TO '{target}' (FORMAT parquet, COMPRESSION snappy)")
    print(json.dumps(clock.answer()))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
