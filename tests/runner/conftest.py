"""A request that needs little, and its parts."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from openlineage.client.event_v2 import RunEvent
from openlineage.client.serde import Serde

from airflow_provider_odf.hooks.applications import ApplicationLineage
from airflow_provider_odf.lineage.applications import Parents, RunName
from airflow_provider_odf.protocol import Column, RawQueryRequest, ReadStep, SqlQueryStep, Transform
from tests.lineage_schemas import schema_errors

MakeRequest = Callable[..., RawQueryRequest]


@pytest.fixture
def raw_query(tmp_path: Path) -> MakeRequest:
    """Makes the request that reads ``a,b / 1,x / 2,y`` and runs a query on it."""
    source = tmp_path / "source.csv"
    source.write_text("a,b\n1,x\n2,y\n")

    def make(query: str = "SELECT a + 1 AS a, upper(b) AS b FROM input", name: str = "out") -> RawQueryRequest:
        return RawQueryRequest(
            input_data_paths=(str(source),),
            output_data_path=str(tmp_path / name),
            transform=Transform("spark", (SqlQueryStep(query),)),
            read=ReadStep("Csv", (Column("a", "BIGINT"), Column("b", "STRING")), header=True),
            label="https://example.com/source.csv",
            dataset_alias="readings",
        )

    return make


class Applications(ApplicationLineage):
    """Keeps the events."""

    def __init__(self) -> None:
        dag = RunName("airflow", "readings", "01941f29-7c00-7087-8906-40e512c257bc")
        task = RunName("airflow", "readings.poll", "01941f29-7c00-7087-8906-40e512c257bd")
        self.events: list[dict[str, Any]] = []
        super().__init__(Parents(task, dag), lambda: None, self._keep)

    def engine(self) -> tuple[str, str]:
        """The engine that the task's run names, and its version."""
        facet = json.loads(Serde.to_json(self.task_facets["odf_engine"]))
        assert schema_errors({"schemaURL": facet["_schemaURL"], **facet}) == []
        assert facet["openlineageAdapterVersion"] == version("airflow-provider-odf")
        return facet["name"], facet["version"]

    def _keep(self, event: RunEvent) -> None:
        self.events.append(json.loads(Serde.to_json(event)))


@pytest.fixture
def applications() -> Applications:
    return Applications()
