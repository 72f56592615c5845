"""Runs queries on real Flink, in batch mode and UTC, and writes names, types and values of the results.

A program of its own: ``python oracle.py JOB.json ANSWER.json`` in an environment with ``apache-flink``. The job has
``tables`` (each ``columns`` as ``[name, Flink type]`` and ``rows`` as JSON objects) and ``queries``, each a text or an
object with ``expressions`` and ``table``. The answer has for each query and for each expression either ``names``,
``types`` and ``rows`` (values as ``as_text`` has them) or ``error``.
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
    from pyflink.table import EnvironmentSettings, TableEnvironment

    job = json.loads(Path(job_file).read_text())
    environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    environment.get_config().set("table.local-time-zone", "UTC")
    environment.get_config().set("parallelism.default", "1")
    for name, table in job["tables"].items():
        path = Path(job_file).with_name(f"{name}.json")
        path.write_text("".join(json.dumps(row) + "\n" for row in table["rows"]))
        columns = ", ".join(f"`{column}` {type_}" for column, type_ in table["columns"])
        environment.execute_sql(
            f"CREATE TEMPORARY TABLE `{name}` ({columns}) WITH ('connector' = 'filesystem', 'format' = 'json', "
            f"'path' = 'file://{path}', 'json.timestamp-format.standard' = 'ISO-8601')"
        )
    answers = []
    for query in job["queries"]:
        if isinstance(query, str):
            answers.append(_answer(environment, query))
        else:
            answers += _each(environment, query["expressions"], query["table"])
    Path(answer_file).write_text(json.dumps(answers))


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
        with result.collect() as rows:
            values = [[as_text(value) for value in row] for row in rows]
    except Exception as e:  # whatever Flink raises is the answer
        return {"error": str(e)}
    types = [str(column.getDataType().getLogicalType().asSummaryString()) for column in columns]
    return {"names": [str(column.getName()) for column in columns], "types": types, "rows": values}


if __name__ == "__main__":
    main(*sys.argv[1:])
