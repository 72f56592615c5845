"""The folder to which a contract test writes failing rows: one folder of Parquet files for each model."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.protocol import FAILED_CLAUSES


def remove_earlier(folder: Path, models: Iterable[str]) -> None:
    """Remove the failing rows of earlier tests: a test that passes would leave them as if they were its own.

    :raises InvalidInput: the folder is a file, or it has other data in the place of failing rows. Nothing is removed.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"--failed-rows {folder} is not a folder: choose a folder")
    earlier = [path for path in (folder / model for model in models) if path.exists()]
    for path in earlier:
        if not path.is_dir() or not all(map(_has_failing_rows, path.iterdir())):
            message = f"--failed-rows {folder}: {path} has other data than failing rows: choose another folder"
            raise InvalidInput(message)
    for path in earlier:
        shutil.rmtree(path)


def _has_failing_rows(file: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.suffix == ".crc" or file.name == "_SUCCESS":
        return True
    try:
        return FAILED_CLAUSES in pq.read_schema(file).names
    except (OSError, pa.ArrowException):
        return False
