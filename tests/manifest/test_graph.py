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


def order(*manifests: Manifest) -> list[str]:
    return [m.snapshot.name for m in Graph.of(manifests).order()]


def test_inputs_come_before_what_reads_them() -> None:
    assert order(dataset("d", "c", "a"), dataset("c", "B"), dataset("a"), dataset("b")) == ["a", "b", "c", "d"]


def test_otherwise_the_order_given_is_kept() -> None:
    assert order(dataset("z"), dataset("x"), dataset("y", "x"), dataset("a", "z")) == ["z", "x", "y", "a"]


def test_inputs() -> None:
    graph = Graph.of([dataset("a", "acme/b", DID), dataset("c")])
    assert graph.inputs("A") == (DatasetAlias("acme", "b"), DatasetId.parse(DID))
    assert graph.inputs(DatasetAlias(None, "c")) == ()
    with pytest.raises(KeyError):
        graph.inputs("nothing")


def test_inputs_that_are_not_in_the_graph_do_not_matter_to_the_order() -> None:
    assert order(dataset("a", "elsewhere", DID)) == ["a"]


def test_cycles_are_found_and_left_out_of_the_order() -> None:
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
    assert [m.snapshot.name for m in graph.order()] == ["x", "y", "z"]


def test_a_long_chain_of_datasets() -> None:
    chain = [dataset(f"d{i}", f"d{i + 1}") for i in range(3000)] + [dataset("d3000")]
    assert order(*chain) == [f"d{i}" for i in range(3000, -1, -1)]
