"""What must hold before a time is worth anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from benchmarks.data import COLUMNS, connect


def slices(store: Path, name: str) -> list[Path]:
    """The data files of a dataset, oldest first."""
    dataset = Store.open(store).dataset(name)
    return [path(dataset, s.physical_hash) for s in replay(dataset).slices]


def path(dataset: Dataset, physical_hash: str) -> Path:
    return Path(dataset.storage.location(f"data/{physical_hash}"))


def equal(expected: Path, found: Iterable[Path]) -> int:
    """How many records each of these files has: those of ``expected``, in the order of their offsets.

    :raises AssertionError: one has others.
    """
    columns = ", ".join(("op", "id", *COLUMNS))
    with connect() as db:
        (count,) = db.execute(f"SELECT count(*) FROM '{expected}'").fetchone() or (0,)
        for file in found:
            numbered = f"SELECT row_number() OVER (ORDER BY \"offset\"), {columns} FROM read_parquet('{file}')"
            wanted = f"SELECT row_number() OVER (ORDER BY id, op), {columns} FROM read_parquet('{expected}')"
            for one, other in ((numbered, wanted), (wanted, numbered)):
                (wrong,) = db.execute(f"SELECT count(*) FROM ({one} EXCEPT {other})").fetchone() or (0,)
                assert wrong == 0, f"{file}: {wrong} of {count} records differ"
    return int(count)


def said(outputs: Sequence[str], what: str) -> None:
    """:raises AssertionError: a line of the tool does not have ``what``."""
    wrong = [line for line in outputs if what not in line]
    assert not wrong, f"expected {what!r}: {wrong}"
