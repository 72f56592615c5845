"""Runs queries on real Flink in UTC, and writes names, types and values of the results.

A program of its own: ``python oracle.py JOB.json ANSWER.json`` in an environment with ``apache-flink``. The answer has
for each query and for each expression either ``names``, ``types`` and ``rows`` (values as ``as_text`` has them) or
``error``.

A job for batch mode has ``tables`` (each ``columns`` as ``[name, Flink type]`` and ``rows`` as JSON objects) and
``queries``, each a text or an object with ``expressions`` and ``table``. A job for streaming mode has ``transforms``,
each an object with ``tables``, with the event-time column ``time`` and optionally a primary ``key``, and with
``queries`` as ``[alias, text]``. Their answer has the rows that remain after all input.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path
from typing import Any


def as_text(value: Any) -> str:
    """Return a value as text: -0.0 differs from 0.0, NaN equals NaN, times are microseconds in UTC."""
    if isinstance(value, dt.datetime):
        return str((value.replace(tzinfo=None) - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1))
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(as_text, value))}]"
    if isinstance(value, (bytes, bytearray)):
        return repr(bytes(value))
    return repr(value)


def main(job_file: str, answer_file: str) -> None:
    from pyflink.table import EnvironmentSettings

    job, folder = json.loads(Path(job_file).read_text()), Path(job_file).parent
    answers: list[dict[str, Any]] = []
    if "transforms" in job:
        for transform in job["transforms"]:
            environment = _environment(EnvironmentSettings.in_streaming_mode(), transform["tables"], folder)
            *steps, (_, last) = transform["queries"]
            for alias, query in steps:
                environment.execute_sql(f"CREATE TEMPORARY VIEW `{alias}` AS {query}")
            answers.append(_answer(environment, last))
    else:
        environment = _environment(EnvironmentSettings.in_batch_mode(), job["tables"], folder)
        for query in job["queries"]:
            if isinstance(query, str):
                answers.append(_answer(environment, query))
            else:
                answers += _each(environment, query["expressions"], query["table"])
    Path(answer_file).write_text(json.dumps(answers))


def _environment(settings: Any, tables: dict[str, Any], folder: Path) -> Any:
    from pyflink.table import TableEnvironment

    environment = TableEnvironment.create(settings)
    environment.get_config().set("table.local-time-zone", "UTC")
    environment.get_config().set("parallelism.default", "1")
    for name, table in tables.items():
        path = folder / f"{name}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in table["rows"]))
        columns = [f"`{column}` {type_}" for column, type_ in table["columns"]]
        if time := table.get("time"):
            columns.append(f"WATERMARK FOR `{time}` AS `{time}`")
        if key := table.get("key"):
            columns.append(f"PRIMARY KEY ({', '.join(f'`{column}`' for column in key)}) NOT ENFORCED")
        environment.execute_sql(
            f"CREATE TEMPORARY TABLE `{name}` ({', '.join(columns)}) WITH ('connector' = 'filesystem', "
            f"'format' = 'json', 'path' = 'file://{path}', 'json.timestamp-format.standard' = 'ISO-8601')"
        )
    return environment


def _each(environment: Any, expressions: list[str], table: str) -> list[dict[str, Any]]:
    """An answer for each expression. One that stops all of a query is found by halving."""
    columns = ", ".join(f"{text} as c{number}" for number, text in enumerate(expressions))
    answer = _answer(environment, f"select {columns} from `{table}`")
    if "error" not in answer:
        return [
            {"names": [name], "types": [answer["types"][index]], "rows": [[row[index]] for row in answer["rows"]]}
            for index, name in enumerate(answer["names"])
        ]
    if len(expressions) == 1:
        return [answer]
    middle = len(expressions) // 2
    return _each(environment, expressions[:middle], table) + _each(environment, expressions[middle:], table)


def _answer(environment: Any, query: str) -> dict[str, Any]:
    try:
        result = environment.execute_sql(query)
        columns = list(result._j_table_result.getResolvedSchema().getColumns())
        values: list[list[str]] = []
        with result.collect() as rows:
            for row in rows:
                texts = [as_text(value) for value in row]
                if row.get_row_kind().name in ("INSERT", "UPDATE_AFTER"):
                    values.append(texts)
                else:
                    values.remove(texts)
    except Exception as e:  # whatever Flink raises is the answer
        return {"error": str(e)}
    types = [str(column.getDataType().getLogicalType().asSummaryString()) for column in columns]
    return {"names": [str(column.getName()) for column in columns], "types": types, "rows": values}


if __name__ == "__main__":
    main(*sys.argv[1:])
