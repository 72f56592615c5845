"""The engine computing the next records of a derivative, warm: the cost of a transform without the start of a JVM.

``inputs`` has the slices of each input by alias; a slice is its path, first and last offset. ``own`` are the slices of
the derivative. Each of the ``steps`` has the number of slices of each input that it reads, and the first offset that is
new there; only the last one is timed. New slices are written to ``target``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from airflow_provider_odf.engine import session
from airflow_provider_odf.engine.transform import arrow_transform, transform
from airflow_provider_odf.protocol import (
    DatasetVocabulary,
    HistorySlice,
    MergeStrategy,
    OffsetInterval,
    SqlQueryStep,
    Transform,
    TransformRequest,
    TransformRequestInput,
)
from airflow_provider_odf.records import schema as schemas
from benchmarks.measure import Clock


def main(
    query: str,
    inputs: dict[str, dict[str, Any]],
    own: list[list[Any]],
    steps: list[dict[str, list[int]]],
    target: str,
    heap: str = "1g",
    is_repeated: bool = False,
    by_arrow: bool = False,
) -> None:
    """Times are without the session's start. ``is_repeated`` steps do not build on each other. Of those ``by_arrow``,
    Spark only computes the first one."""
    spark = session.create("benchmark", "local[*]", {"spark.driver.memory": heap})
    answer: dict[str, Any] = {}
    arrow_query: str | None = None
    for step in steps:
        seen = {
            alias: {"slices": about["slices"][: step[alias][0]], "new_from": step[alias][1], "key": about["key"]}
            for alias, about in inputs.items()
        }
        request = _request(query, seen, own, target)
        clock = Clock()
        if by_arrow and arrow_query is not None:
            success = arrow_transform.execute(replace(request, arrow_query=arrow_query), lambda _: None)
        else:
            with session.of_request(spark) as own_session:
                success = transform.execute(own_session, request, lambda _: None)
        answer = clock.answer()
        answer["evaluation"] = success.evaluation.kind if success.evaluation is not None else "by Arrow"
        arrow_query = success.evaluation.arrow_query if success.evaluation is not None else arrow_query
        if success.slice is not None:
            interval = success.slice.offset_interval
            answer["slice"] = [success.slice.path, interval.start, interval.end]
            own = own if is_repeated else [*own, answer["slice"]]
    spark.stop()
    print(json.dumps(answer | {"own": own}))


def _request(query: str, inputs: dict[str, dict[str, Any]], own: list[list[Any]], target: str) -> TransformRequest:
    return TransformRequest(
        dataset_id="did:odf:benchmark",
        dataset_alias="benchmark",
        system_time="2024-06-01T00:00:00Z",
        vocab=DatasetVocabulary(),
        transform=Transform("spark", (SqlQueryStep(query),)),
        query_inputs=tuple(_input(alias, **about) for alias, about in inputs.items()),
        next_offset=own[-1][2] + 1 if own else 0,
        new_checkpoint_path="",
        new_data_path=target,
        history=tuple(map(_slice, own)),
        schema=_schema(own[0][0]) if own else None,
    )


def _input(alias: str, slices: list[list[Any]], new_from: int, key: list[str] | None = None) -> TransformRequestInput:
    new = [s for s in slices if s[1] >= new_from]
    return TransformRequestInput(
        dataset_id=f"did:odf:{alias}",
        dataset_alias=alias,
        query_alias=alias,
        vocab=DatasetVocabulary(),
        data_paths=tuple(s[0] for s in new),
        schema_file="",
        explicit_watermarks=(),
        offset_interval=OffsetInterval(new_from, new[-1][2]) if new else None,
        merge=MergeStrategy("Snapshot", tuple(key)) if key else MergeStrategy("Append"),
        history=tuple(map(_slice, slices)),
        schema=_schema(slices[0][0]),
    )


def _slice(of: list[Any]) -> HistorySlice:
    return HistorySlice(of[0], OffsetInterval(of[1], of[2]))


def _schema(path: str) -> str:
    schema = pq.read_schema(Path(path)).remove_metadata()
    for index in range(4):
        schema = schema.set(index, schema.field(index).with_nullable(False))
    return schemas.encode(schema)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
