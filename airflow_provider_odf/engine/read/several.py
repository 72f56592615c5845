"""Many small inputs read at once, where they can be told apart again afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from pyspark.sql import SparkSession

from airflow_provider_odf.engine.read import raw, source
from airflow_provider_odf.engine.read.csv import open_csv
from airflow_provider_odf.engine.read.json import open_json, open_ndjson
from airflow_provider_odf.engine.read.opened import Opened, ReadApart, read_apart
from airflow_provider_odf.protocol import ReadStep

Opener: TypeAlias = Callable[[ReadStep, str, str], Opened]

OPENERS: dict[str, Opener] = {"Csv": open_csv, "Json": open_json, "NdJson": open_ndjson}


def read_several(spark: SparkSession, step: ReadStep, inputs: Sequence[tuple[Sequence[str], str]]) -> ReadApart | None:
    """The rows of inputs, each given by its paths and its label, in one frame; None where they are better read one by
    one: they have several files, other columns, no text, or types that only their rows tell.

    :raises InvalidQuery: as ``read`` does.
    """
    opener = OPENERS.get(step.kind)
    if opener is None or (step.columns is None and step.infer_schema):
        return None
    if any(len(paths) != 1 or source.unreadable(paths[0], step) for paths, _ in inputs):
        return None
    opened = [opener(step, paths[0], label) for paths, label in inputs]
    first = opened[0]
    is_same = all(o.columns == first.columns and raw.schema(o.parser) == raw.schema(first.parser) for o in opened)
    return read_apart(spark, opened) if is_same and first.columns else None
