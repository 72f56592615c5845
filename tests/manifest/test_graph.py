from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.graph import Graph
from airflow_provider_odf.manifest.manifest import Manifest
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId
from airflow_provider_odf.manifest.yaml_source import parse

DID = "did:odf:fed01" + "0f" * 32


def dataset(name: str, *inputs: str) -> Manifest:
    transform = model.TransformSql(engine="spark", query="select 1")
    event = model.SetTransform(inputs=tuple(model.TransformInput(dataset_ref=i) for i in inputs), transform=transform)
    snapshot = model.DatasetSnapshot(
        name=name, kind="Derivative" if inputs else "Root", metadata=(event,) if inputs else ()
    )
    return Manifest(snapshot, Path("m.yaml"), parse("{}", "m.yaml")[0])


def test_inputs() -> None:
    graph = Graph.of([dataset("a", "acme/b", DID), dataset("c")])
    assert graph.inputs("A") == (DatasetAlias("acme", "b"), DatasetId.parse(DID))
    assert graph.inputs(DatasetAlias(None, "c")) == ()
    with pytest.raises(KeyError):
        graph.inputs("nothing")


def test_cycles_are_found() -> None:
    graph = Graph.of(
        [
            dataset("a", "b"),
            dataset("b", "a"),
            dataset("s", "s"),
            dataset("x"),
            dataset("y", "x", "a"),
            dataset("z", "y"),
        ]
    )
    assert sorted(sorted(map(str, cycle)) for cycle in graph.cycles()) == [["a", "b"], ["s"]]


def test_a_long_chain_of_datasets_is_no_cycle() -> None:
    chain = [dataset(f"d{i}", f"d{i + 1}") for i in range(3000)] + [dataset("d3000", "elsewhere", DID)]
    assert Graph.of(chain).cycles() == []
    loop = [*chain[:-1], dataset("d3000", "d0")]
    assert [len(cycle) for cycle in Graph.of(loop).cycles()] == [3001]
