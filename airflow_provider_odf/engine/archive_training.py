"""Small merges of the common kinds, which load the classes for the class-data archive.

``python -m airflow_provider_odf.engine.archive_training JAVA`` creates the archive of a Java.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from airflow_provider_odf.engine import archive, jvm, session
from airflow_provider_odf.engine.request import answer
from airflow_provider_odf.protocol import (
    Column,
    DatasetVocabulary,
    HistorySlice,
    MergeInput,
    MergeRequest,
    MergeStrategy,
    MergeSuccess,
    ReadStep,
    Response,
    SqlQueryStep,
    Transform,
)

_COLUMNS = (
    Column("id", "BIGINT"),
    Column("name", "STRING"),
    Column("day", "DATE"),
    Column("at", "TIMESTAMP"),
    Column("price", "DECIMAL(12,2)"),
    Column("ratio", "DOUBLE"),
    Column("is_on", "BOOLEAN"),
)
_CSV = "id,name,day,at,price,ratio,is_on\n1,{},2024-01-01,2024-01-01T00:00:00Z,1.50,0.5,true\n"
_JSON = '{{"id": 1, "name": "{}", "day": "2024-01-01", "at": 0, "price": 1.5, "ratio": 1, "is_on": true}}\n'


def load_classes(options: Sequence[str], directory: Path) -> None:
    """Run the merges in a JVM with these options and stop it. It writes an archive when it stops."""
    spark, process = session.start_local("odf-class-archive", extra=options)
    run(spark, directory)
    jvm.stop(process)


def run(spark: SparkSession, directory: Path) -> None:
    """Merge a CSV and a JSON source, twice each, in ``directory``."""
    for kind, text, strategy in (("Csv", _CSV, "Snapshot"), ("NdJson", _JSON, "Ledger")):
        place = directory / kind
        place.mkdir()
        first = _merge(spark, place, ReadStep(kind, _COLUMNS, header=True), strategy, text.format("a"), None)
        _merge(spark, place, ReadStep(kind, _COLUMNS, header=True), strategy, text.format("b"), first)


def _merge(
    spark: SparkSession, place: Path, step: ReadStep, strategy: str, text: str, last: Response | None
) -> Response:
    source = place / "source"
    source.write_text(text)
    done = last.new_slices if isinstance(last, MergeSuccess) else ()
    request = MergeRequest(
        dataset_id="",
        dataset_alias="rehearsal",
        system_time="2024-01-01T00:00:00Z",
        vocab=DatasetVocabulary(),
        read=step,
        preprocess=Transform("spark", (SqlQueryStep("SELECT * FROM input WHERE id > 0"),)),
        merge=MergeStrategy(strategy, ("id",)),
        inputs=(MergeInput((str(source),), "2024-01-01T00:00:00Z"),),
        next_offset=sum(s.offset_interval.count for s in done),
        new_data_path=str(place),
        history=tuple(HistorySlice(s.path, s.offset_interval) for s in done),
        schema=last.schema if isinstance(last, MergeSuccess) else None,
    )
    return answer(spark, request, lambda message: None)


if __name__ == "__main__":
    os.nice(19)
    archive.make(sys.argv[1], load_classes)
