"""Reading of literal texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import Column, ReadStep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_provider_odf.engine.read import Read

LABEL = "https://example.com/data"


def column(ddl: str) -> Column:
    """``a BIGINT NOT NULL`` as a column."""
    name, _, kind = ddl.partition(" ")
    return Column(name, kind.removesuffix(" NOT NULL"), not kind.endswith(" NOT NULL"))


@pytest.fixture
def read(spark: SparkSession, tmp_path: Path) -> Callable[..., Read]:
    """Reads a text (or bytes) as a file: ``read("Csv", "a\\n1\\n", ["a INT"], header=True)``."""
    from airflow_provider_odf.engine.read import read

    def of(kind: str, content: str | bytes, columns: list[str] | None = None, **options: Any) -> Read:
        file = tmp_path / "file"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        declared = None if columns is None else tuple(map(column, columns))
        return read(spark.newSession(), ReadStep(kind, declared, **options), [str(file)], LABEL)

    return of


@pytest.fixture
def rows(read: Callable[..., Read]) -> Callable[..., list[tuple[Any, ...]]]:
    """The rows that a text gives, as tuples."""

    def of(*args: Any, **options: Any) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in read(*args, **options).frame.collect()]

    return of


@pytest.fixture
def refusal_of(read: Callable[..., Read]) -> Callable[..., str]:
    """The message with which a text is refused, by reading itself or when rows are counted."""
    from airflow_provider_odf.engine.spark_errors import refusal

    def of(*args: Any, **options: Any) -> str:
        try:
            read(*args, **options).frame.count()
        except InvalidQuery as e:
            return str(e)
        except Exception as e:
            refused = refusal(e)
            if refused is None:
                raise
            return str(refused)
        raise AssertionError("it was read")

    return of
