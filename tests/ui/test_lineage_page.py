"""The graph of datasets, and which column comes from which file."""

import re

import pyarrow as pa
import pytest

from airflow_provider_odf.chain import schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.ui.airflow_api import Neighbor, Publication
from airflow_provider_odf.ui.lineage_page import _graph, draw
from tests.chain.conftest import DID, SYSTEM, TIME, Growing

from .shown import shown

PAGE = "/datasets/acme.numbers/lineage"
HOSTILE = "<script>\u202ex"


@pytest.fixture
def numbers(store):
    columns = (pa.field("id", pa.int64()), pa.field("value", pa.string()), pa.field(HOSTILE, pa.string()))
    return Growing(store.create(DatasetAlias.parse("acme/numbers")), model.MergeStrategyAppend(), columns)


@pytest.fixture
def sums(store, numbers):
    draft = Draft(store.create(DatasetAlias.parse("acme/sums")))
    query = "SELECT value, count(id) AS ids FROM numbers GROUP BY value"
    events = (
        model.Seed(dataset_id=DID[:-1] + "8", dataset_kind="Derivative"),
        model.SetTransform(
            inputs=(model.TransformInput(dataset_ref=DID, alias="numbers"),),
            transform=model.TransformSql(engine="spark", query=query),
        ),
        schema.set_data_schema(pa.schema([*SYSTEM, pa.field("value", pa.string()), pa.field("ids", pa.int64())])),
    )
    for event in events:
        draft.append(event, TIME)
    draft.dataset.storage.compare_and_set_ref("head", None, draft.state.head)
    return draft.dataset


def test_the_graph_of_a_dataset(open_page, sums):
    response = open_page(PAGE)
    page = shown(response)
    assert re.findall(r"<title>(\w+ [^<]*)</title>", response.text)[1:] == [
        "Source file:///x.csv",
        "Root acme/numbers",
        "Derivative acme/sums",
        "DAG daily_report",
    ]
    assert response.text.count('<path class="edge" ') == 3
    start = page.lines.index("Datasets and sources")
    assert page.lines[start + 4 : start + 16] == [
        *["file:///x.csv", "Source", "nothing"],
        *["acme/numbers", "Root", "file:///x.csv"],
        *["acme/sums", "Derivative", "acme/numbers"],
        *["daily_report", "DAG", "acme/numbers"],
    ]
    assert '<a target="_top" href="/dags/daily_report"><bdi>daily_report</bdi></a>' in response.text
    assert '<a href="/odf/datasets/acme.sums/lineage"><bdi>acme/sums</bdi></a>' in response.text
    row = page.lines[page.lines.index("id") :]
    assert row[:4] == ["id", "file:///x.csv: id (unchanged)", "file:///x.csv: id", "acme/sums: ids"]
    assert "<script>\\u202ex" in page.lines
    assert " style=" not in response.text


def test_a_part_of_the_graph(open_page, sums):
    """How far away others may be, without sources, and in half the size."""
    near = open_page("/datasets/acme.sums/lineage?levels=1&sources=hidden&zoom=50")
    assert re.findall(r"<title>(\w+ [^<]*)</title>", near.text)[1:] == ["Root acme/numbers", "Derivative acme/sums"]
    whole = open_page("/datasets/acme.sums/lineage?sources=hidden")
    sizes = [[int(size) for size in re.search(r'width="(\d+)" height="(\d+)"', t.text).groups()] for t in (near, whole)]
    assert [size // 2 for size in sizes[1]] == sizes[0]
    assert shown(near).lines.count("1 dataset") == 1
    assert "Source" not in re.findall(r"<title>(\w+) ", open_page("/lineage?sources=hidden").text)
    assert "levels: Input should be" in shown(open_page("/datasets/acme.sums/lineage?levels=9"), 422).lines[2]


def test_a_column_is_followed_to_its_file(open_page, sums):
    response = open_page("/datasets/acme.sums/lineage?column=ids")
    page = shown(response)
    # The query groups by value, which thus affects the column, too.
    assert response.text.count('<path class="edge followed" ') == 4
    assert re.findall(r'<text class="column"[^>]*>([^<]*)<', response.text) == ["id", "value", "id", "value", "ids"]
    assert "acme/numbers: value (group)" in page.lines
    row = page.lines[page.lines.index("Affects") :]
    row = row[row.index("ids") :]
    assert row[:4] == ["ids", "acme/numbers: id (aggregated, masked)", "file:///x.csv: id", "none"]
    assert '<a href="/odf/datasets/acme.numbers/lineage?column=id"><bdi>acme/numbers</bdi>' in response.text
    wrong = shown(open_page(f"{PAGE}?column=%3Cscript%3E"), 400)
    assert wrong.lines[2].startswith("dataset acme/numbers has no column '<script>'")
    assert shown(open_page(PAGE, role=None), 403).lines[0] == "You may not see this page"


def test_the_graph_of_all_datasets(open_page, sums):
    page = shown(open_page("/lineage?name=acme"))
    assert {"acme/numbers", "acme/sums", "file:///x.csv"} <= set(page.lines)
    assert (
        "No dataset matches the search, or there are none that you may read."
        in shown(open_page("/lineage?name=zzz")).lines
    )
    assert shown(open_page("/lineage", role=None), 403).lines[0] == "You may not see this page"


def test_datasets_that_the_reader_may_not_see_are_names_or_nothing(store, sums):
    """Airflow did not return the DAG of the input, nor another derivative."""
    seen = Publication("acme.sums", sums.uri, inputs=(Neighbor("numbers", "acme.numbers"),), derivatives=("secret",))
    graph = _graph([seen])
    assert {key: (node.kind, node.columns) for key, node in graph.items()} == {
        "name acme/numbers": ("Dataset", ()),
        "acme.sums": ("Derivative", ("offset", "op", "system_time", "event_time", "value", "ids")),
    }
    drawing = draw(graph, {"acme.sums": "/x"}, "acme.sums", frozenset())
    assert [(box.x, box.y, box.link) for box in drawing.boxes] == [(14, 14, ""), (314, 14, "/x")]


def test_a_dataset_that_does_not_exist_yet(open_page, numbers):
    page = shown(open_page("/datasets/acme.sums/lineage"))
    assert "The columns are known after the first data." in page.lines
    start = page.lines.index("Datasets and sources")
    assert page.lines[start + 10 : start + 13] == ["acme/sums", "Dataset", "acme/numbers"]


def test_hostile_names_of_sources_are_text(open_page, store):
    draft = Draft(store.create(DatasetAlias.parse("empty")))
    draft.append(model.Seed(dataset_id=DID, dataset_kind="Root"), TIME)
    name = "<script>alert(1)</script>\u202e\x01" + "x" * 1_000_000
    source = model.AddPushSource(source_name=name, read=model.ReadStepCsv(), merge=model.MergeStrategyAppend())
    draft.append(source, TIME)
    draft.dataset.storage.compare_and_set_ref("head", None, draft.state.head)
    for path in ("/datasets/empty/lineage", "/lineage?name=empty"):
        response = open_page(path)
        assert "push source <script>alert(1)</script>\\u202e\\x01xxx" in str(shown(response).lines).replace(
            "\\\\", "\\"
        )
        assert "push source &lt;script&gt;alert(…</text>" in response.text
        assert len(response.text) < 20_000
