"""How the engine evaluates the query of a derivative, kept as ``info/evaluation.json`` for plans and documentation.

The file is written when a query is analyzed for a run. It counts only for the query that it was written for.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.seal import open_json, sealed_json

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.manifest import model

_FILE = "info/evaluation.json"


def keep(dataset: Dataset, sql: model.TransformSql, evaluation: protocol.Evaluation) -> None:
    """Store the evaluation of a query, in place of an earlier one."""
    content = {"query": _digest(sql), **protocol.to_json(evaluation)}
    if open_json(dataset.storage.get(_FILE)) != content:
        dataset.storage.put(_FILE, sealed_json(content))


def recorded(dataset: Dataset, sql: model.TransformSql) -> protocol.Evaluation | None:
    """Return the evaluation of a query, or None if it is not known yet."""
    content = open_json(dataset.storage.get(_FILE))
    if content is None or content.pop("query", None) != _digest(sql):
        return None
    return protocol.from_json(protocol.Evaluation, content)


def _digest(sql: model.TransformSql) -> str:
    text = json.dumps([sql.engine, *([step.alias, step.query] for step in sql.steps)])
    return hashlib.sha256(text.encode()).hexdigest()
