"""Columns through sources, roots and two derivatives."""

import pyarrow as pa
import pytest

from airflow_provider_odf.chain import schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.lineage.column_graph import (
    ColumnOrigin,
    GraphNode,
    Member,
    depths,
    downstream,
    graph_of,
    related,
    upstream,
)
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias

TIME = Instant.parse("2024-05-02T08:00:00Z")
SYSTEM = (
    pa.field("offset", pa.int64(), nullable=False),
    pa.field("op", pa.int32(), nullable=False),
    pa.field("system_time", pa.timestamp("ms", "UTC"), nullable=False),
    pa.field("event_time", pa.timestamp("ms", "UTC")),
)


@pytest.fixture
def build(tmp_path):
    """Return the state of a new dataset of some events and columns."""
    store = Store.open(tmp_path / "store")

    def make(number, *events, columns):
        draft = Draft(store.create(DatasetAlias.parse(f"d{number}")))
        kind = "Derivative" if isinstance(events[0], model.SetTransform) else "Root"
        fields = [pa.field(name, pa.string()) for name in columns]
        draft.append(model.Seed(dataset_id=f"did:odf:fed01{number:064}", dataset_kind=kind), TIME)
        for event in (*events, schema.set_data_schema(pa.schema([*SYSTEM, *fields]))):
            draft.append(event, TIME)
        return draft.state

    return make


def source(url, preprocess=None):
    sql = model.TransformSql(engine="spark", query=preprocess) if preprocess else None
    read = model.ReadStepCsv(ddl_schema=("id BIGINT", "amount STRING"))
    return model.SetPollingSource(
        fetch=model.FetchStepUrl(url=url), read=read, preprocess=sql, merge=model.MergeStrategyAppend()
    )


def transform(query, **inputs):
    return model.SetTransform(
        inputs=tuple(model.TransformInput(dataset_ref=ref, alias=alias) for alias, ref in inputs.items()),
        transform=model.TransformSql(engine="spark", query=query),
    )


@pytest.fixture
def graph(build):
    orders = build(
        1, source("file:///o.csv", "select id, cast(amount as double) price from input"), columns=["id", "price"]
    )
    sums = build(
        2, transform("select id, sum(price) total from o group by id", o=orders.dataset_id), columns=["id", "total"]
    )
    hidden = "did:odf:fed01" + "9" * 64
    query = "select total * h.rate as euros, s.id from s join h on s.id = h.id"
    euros = build(3, transform(query, s=sums.dataset_id, h=hidden), columns=["euros", "id"])
    named = {hidden: "acme/rates"}
    return graph_of(
        {
            "orders": Member("acme/orders", orders),
            "sums": Member("acme/sums", sums),
            "euros": Member("acme/euros", euros, named.__getitem__),
            "late": Member("late", None, inputs=("sums", "elsewhere")),
        }
    )


def test_nodes(graph):
    assert {key: (node.label, node.kind, node.inputs) for key, node in graph.items()} == {
        "orders source 0": ("file:///o.csv", "Source", ()),
        "orders": ("acme/orders", "Root", ("orders source 0",)),
        "sums": ("acme/sums", "Derivative", ("orders",)),
        "name acme/rates": ("acme/rates", "Dataset", ()),
        "euros": ("acme/euros", "Derivative", ("sums", "name acme/rates")),
        "name elsewhere": ("elsewhere", "Dataset", ()),
        "late": ("late", "Dataset", ("sums", "name elsewhere")),
    }
    assert graph["orders source 0"].columns == ("id", "amount")
    assert depths(graph) == {
        "orders source 0": 0,
        "orders": 1,
        "sums": 2,
        "name acme/rates": 0,
        "euros": 3,
        "name elsewhere": 0,
        "late": 3,
    }


def test_origins_of_columns(graph):
    assert graph["orders"].origins == {
        "id": (ColumnOrigin("orders source 0", "id", "IDENTITY"),),
        "price": (ColumnOrigin("orders source 0", "amount", "TRANSFORMATION"),),
    }
    assert graph["orders"].rows == ()
    assert graph["sums"].rows == (ColumnOrigin("orders", "id", "GROUP_BY"),)
    assert graph["sums"].origins == {
        "id": (ColumnOrigin("orders", "id", "IDENTITY"),),
        "total": (ColumnOrigin("orders", "price", "AGGREGATION"),),
    }
    # Nothing is known of columns of a dataset that the reader may not see.
    assert graph["euros"].origins == {
        "euros": (ColumnOrigin("sums", "total", "TRANSFORMATION"),),
        "id": (ColumnOrigin("sums", "id", "IDENTITY"),),
    }
    assert graph["euros"].rows == (ColumnOrigin("sums", "id", "JOIN"),)


def test_which_column_comes_from_which_file(graph):
    assert upstream(graph, "euros", "euros", is_direct=True) == {
        ("euros", "euros"),
        ("sums", "total"),
        ("orders", "price"),
        ("orders source 0", "amount"),
    }
    # Groups and joins by a column decide about all columns.
    assert upstream(graph, "euros", "euros") == {
        *{("euros", "euros"), ("sums", "total"), ("orders", "price"), ("orders source 0", "amount")},
        *{("sums", "id"), ("orders", "id"), ("orders source 0", "id")},
    }
    assert downstream(graph, "orders", "price") == {("orders", "price"), ("sums", "total"), ("euros", "euros")}
    assert downstream(graph, "orders", "id") == {
        *{("orders", "id"), ("sums", "id"), ("sums", "total"), ("euros", "id"), ("euros", "euros")},
    }


def test_a_dataset_with_what_is_above_and_below(graph):
    assert set(related(graph, "orders")) == {"orders source 0", "orders", "sums", "euros", "late"}
    assert set(related(graph, "late")) == {"late", "name elsewhere", "sums", "orders", "orders source 0"}


def test_a_circle_ends():
    graph = {"a": GraphNode("a", "a", "Dataset", inputs=("b",)), "b": GraphNode("b", "b", "Dataset", inputs=("a",))}
    assert set(depths(graph)) == {"a", "b"}
    assert set(related(graph, "a")) == {"a", "b"}
