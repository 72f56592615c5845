"""The graph of datasets, and which column comes from which file."""

import re

import httpx
import pyarrow as pa
import pytest

from airflow_provider_odf.chain import schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.ui.airflow_api import Neighbor, Publication
from airflow_provider_odf.ui.all_lineage_page import AllLineageQuery, all_lineage
from airflow_provider_odf.ui.graph_drawing import draw
from airflow_provider_odf.ui.published_graph import graph_of_publications
from tests.chain.conftest import DID, SYSTEM, TIME, Growing

from .rejecting import reject
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


def test_an_input_that_waits_for_a_decision(open_page, sums, numbers):
    said = "New data of inputs is not published, and waits for a decision: acme/numbers."
    assert said not in shown(open_page("/datasets/acme.sums")).lines
    reject(numbers, ("+A", 1, "one", "x"))
    assert said in shown(open_page("/datasets/acme.sums")).lines


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
    page = shown(open_page("/lineage?q=acme"))
    assert {"acme/numbers", "acme/sums", "file:///x.csv"} <= set(page.lines)
    assert (
        "No dataset matches the search, or there are none that you may read."
        in shown(open_page("/lineage?q=zzz")).lines
    )
    assert shown(open_page("/lineage", role=None), 403).lines[0] == "You may not see this page"


def _published(store, name, inputs=(), derivatives=()):
    return Publication(
        name, f"{store.uri}/{name}", inputs=tuple(Neighbor(i, i) for i in inputs), derivatives=derivatives
    )


def _map(listed, **query):
    page = all_lineage(AllLineageQuery(**query), listed)
    answer = httpx.Response(page.status_code, headers=dict(page.headers), content=page.body)
    return re.findall(r"<title>([^<]*)</title>", answer.text)[1:], shown(answer), answer.text


@pytest.fixture
def crowd(store):
    """Two hundred datasets of which nobody reads, six regions of which one report is made, and the report's summary."""
    alone = [_published(store, f"alone-{n:03}") for n in range(200)]
    regions = tuple(f"region-{n}" for n in range(6))
    return [
        *alone,
        *(_published(store, name, derivatives=("report",)) for name in regions),
        _published(store, "report", regions, ("summary",)),
        _published(store, "summary", ("report",)),
    ]


def test_datasets_that_are_alike_are_one_box(crowd):
    titles, page, text = _map(crowd)
    assert titles == [
        "6 datasets that are alike: show each",
        "Dataset report",
        "Dataset summary",
        "200 datasets that are alike: show each",
    ]
    assert [int(y) for y in re.findall(r'<rect x="14" y="(\d+)"', text)] == [14, 72]
    assert text.count('<path class="edge" ') == 2
    assert "region-0, region-1, region-2, re…" in page.lines
    assert (
        "208 of 208 datasets. A dataset without a link is on another page, or you may not read its DAG." in page.lines
    )
    start = page.lines.index("Reads from")
    assert page.lines[start + 1 : start + 4] == [
        ", ".join(f"region-{n}" for n in range(6)),
        "Datasets",
        "their own sources",
    ]
    assert '<a href="/odf/datasets/region-5/lineage"><bdi>region-5</bdi></a>' in text
    assert '<details><summary>200 datasets</summary><a href="/odf/datasets/alone-000/lineage">' in text
    report = page.lines.index("report", start)
    assert page.lines[report : report + 3] == ["report", "Dataset", "6 datasets"]

    opened, _, text = _map(crowd, open="region-0")
    assert [title for title in opened if "region" in title] == [f"Dataset region-{n}" for n in range(6)]
    assert text.count('<path class="edge" ') == 7
    assert "Put those that are alike in one box again" in text


def test_a_map_of_many_boxes_has_pages_and_keeps_together_what_is_connected(crowd):
    titles, page, text = _map(crowd, open="alone-000", page=3)
    assert titles == ["Dataset alone-197", "Dataset alone-198", "Dataset alone-199"]
    assert 'href="/odf/lineage?levels=' not in text
    assert 'zoom=100&amp;sources=shown&amp;open=alone-000&amp;page=2" rel="prev">Previous</a>' in text
    assert "208 of 208 datasets, page 3 of 3." in " ".join(page.lines)
    first, _, _ = _map(crowd, open="alone-000")
    assert first[0] == "6 datasets that are alike: show each"
    assert len(first) == 100


@pytest.mark.parametrize(
    ("levels", "found"),
    [
        ("1", ["Dataset report", "Dataset summary"]),
        ("", ["6 datasets that are alike: show each", "Dataset report", "Dataset summary"]),
    ],
)
def test_a_search_finds_datasets_and_those_near_them(crowd, levels, found):
    titles, page, text = _map(crowd, q="SUMMARY", levels=levels)
    assert [title for title in titles if "name" not in title and "region-" not in title] == found
    assert re.findall(r'<g class="node (\w+(?: current)?)">\n<title>Dataset (report|summary)', text) == [
        ("dataset", "report"),
        ("dataset current", "summary"),
    ]
    assert f"{2 if levels else 8} of 208 datasets." in " ".join(page.lines)


def test_datasets_that_the_reader_may_not_see_are_names_or_nothing(store, sums):
    """Airflow did not return the DAG of the input, nor another derivative."""
    seen = Publication("acme.sums", sums.uri, inputs=(Neighbor("numbers", "acme.numbers"),), derivatives=("secret",))
    graph = graph_of_publications([seen])
    assert {key: (node.kind, node.columns) for key, node in graph.items()} == {
        "name acme/numbers": ("Dataset", ()),
        "acme.sums": ("Derivative", ("offset", "op", "system_time", "event_time", "value", "ids")),
    }
    drawing = draw(graph, {"acme.sums": "/x"}, {"acme.sums"}, frozenset())
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
    for path in ("/datasets/empty/lineage", "/lineage?q=empty"):
        response = open_page(path)
        assert "push source <script>alert(1)</script>\\u202e\\x01xxx" in str(shown(response).lines).replace(
            "\\\\", "\\"
        )
        assert "push source &lt;script&gt;alert(…</text>" in response.text
        assert len(response.text) < 20_000
