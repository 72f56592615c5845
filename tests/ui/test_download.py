"""Files with the rows of the page of data."""

import io
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.cycle.candidates import save_report
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.protocol import ContractReport
from airflow_provider_odf.ui.data_page import file_name
from tests.chain.conftest import Growing

from .shown import shown

PAGE = "/datasets/acme.numbers/data"
HOSTILE = '\x00<script>"\r\n,\u202e'


@pytest.fixture
def numbers(store):
    columns = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
    merge = model.MergeStrategySnapshot(primary_key=["id"])
    numbers = Growing(store.create(DatasetAlias.parse("acme/numbers")), merge, columns)
    numbers.add(("+A", 1, "one"), ("+A", 2, None), ("+A", 3, "three"))
    numbers.add(("-C", 1, "one"), ("+C", 1, HOSTILE), ("-R", 3, "three"))
    return numbers


@pytest.fixture
def get(open_page, numbers):
    """Return the file of a view, which has safe headers."""

    def download(query, content_type):
        response = open_page(f"{PAGE}/download?{query}")
        assert response.status_code == 200, response.text
        assert response.headers["Content-Type"] == content_type
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Cache-Control"] == "no-store"
        view = next((v for v in ("history", "difference") if v in query), "current")
        name = f"acme.numbers-{view}-{numbers.dataset.head()[:13]}."
        assert response.headers["Content-Disposition"].startswith(f'attachment; filename="{name}')
        return response.content

    return download


def test_csv_of_current_rows(get):
    assert get("", "text/csv; charset=utf-8").decode() == (
        "system_time,event_time,id,value\n"
        '2024-05-02T08:00:00Z,2024-05-02T08:00:00Z,1,"\x00<script>""\r\n,\u202e"\n'
        "2024-05-02T08:00:00Z,2024-05-02T08:00:00Z,2,\n"
    )


def test_ndjson_of_the_history_that_matches_a_search(get):
    lines = get("form=ndjson&view=history&column=id&contains=1&operation=%2BC", "application/x-ndjson").splitlines()
    times = {"system_time": "2024-05-02T08:00:00Z", "event_time": "2024-05-02T08:00:00Z"}
    assert [json.loads(line) for line in lines] == [{"offset": 4, "op": "+C", **times, "id": 1, "value": HOSTILE}]


def test_parquet_of_a_difference(get, numbers):
    before = next(h for h, b in numbers.dataset.walk() if h != numbers.dataset.head())
    content = get(f"form=parquet&view=difference&since={before}", "application/vnd.apache.parquet")
    table = pq.read_table(io.BytesIO(content))
    assert table.schema.names == ["offset", "op", "system_time", "event_time", "id", "value"]
    assert table.select(["op", "id", "value"]).to_pylist() == [
        {"op": 2, "id": 1, "value": "one"},
        {"op": 3, "id": 1, "value": HOSTILE},
        {"op": 1, "id": 3, "value": "three"},
    ]


def test_csv_as_of_a_block(open_page, numbers):
    before = next(h for h, b in numbers.dataset.walk() if h != numbers.dataset.head())
    response = open_page(f"{PAGE}/download?as_of={before}&column=value&contains=THR")
    assert response.headers["Content-Disposition"] == f'attachment; filename="acme.numbers-current-{before[:13]}.csv"'
    assert response.text.splitlines()[1:] == ["2024-05-02T08:00:00Z,2024-05-02T08:00:00Z,3,three"]


def test_links_of_the_page(open_page, numbers):
    page = shown(open_page(f"{PAGE}?view=history&column=id&contains=1&sort=id"))
    assert page.links["Parquet"] == f"/odf{PAGE}/download?view=history&column=id&contains=1&sort=id&form=parquet"
    assert any(line.startswith("Download all of these rows as CSV, Parquet, NdJson") for line in page.lines)


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("form=exe", 422, "The address has parameters that are not valid: form: Input should be 'csv', 'parquet' or"),
        ("column=<b>&contains=x", 400, "dataset acme/numbers has no column '<b>'"),
        ("view=history&operation=x", 400, "'x' is not an operation: +A, -R, -C, +C"),
        ("view=difference&since=%0d%0aX-Evil:1", 400, "since: '\\r\\nX-Evil:1' is neither a date"),
    ],
)
def test_what_cannot_be_downloaded(open_page, numbers, query, status, message):
    response = open_page(f"{PAGE}/download?{query}")
    assert message in shown(response, status).lines[2]
    assert "Content-Disposition" not in response.headers


def test_damage_is_a_page_and_no_file(open_page, numbers):
    for file in Path(numbers.dataset.storage.location("data")).iterdir():
        file.write_bytes(b"damaged")
    response = open_page(f"{PAGE}/download")
    assert shown(response, 500).lines[0] == "The dataset cannot be read"
    assert "Content-Disposition" not in response.headers
    shutil.rmtree(numbers.dataset.location)
    assert open_page(f"{PAGE}/download").status_code in (404, 410)


def test_users_without_the_right_get_nothing(open_page, airflow_server, numbers):
    assert shown(open_page(f"{PAGE}/download", role=None), 403).lines[0] == "You may not see this page"
    assert airflow_server.get(f"/odf{PAGE}/download").status_code == 401


def test_names_of_files_are_safe():
    assert file_name("a/../x\r\n", 'h"; x=\u202e', "f1620", "csv") == "a....x__-h___x__-f1620.csv"
    assert file_name("../x", "current", "f1620", "csv") == "x-current-f1620.csv"


def test_sensitive_values_are_neither_shown_nor_downloaded_nor_found(open_page, numbers):
    head = numbers.dataset.head()
    report = ContractReport("urn:c", "d", "m", (), sensitive_columns=("Value",))
    save_report(numbers.dataset, Candidate("acme/numbers", "base", head, "candidate-x", records=3), report)
    for view in ("current", "history", "difference"):
        page = open_page(f"{PAGE}?view={view}")
        assert "***" in shown(page).lines
        assert "&lt;script" not in page.text
        for form in ("csv", "ndjson", "parquet"):
            content = open_page(f"{PAGE}/download?view={view}&form={form}").content
            assert b"***" in content
            assert b"script" not in content
            assert b"three" not in content
    for query in ("column=value&contains=t", "sort=value", "view=history&column=VALUE&contains=t"):
        for path in (PAGE, f"{PAGE}/download"):
            assert "is sensitive: pages neither show" in shown(open_page(f"{path}?{query}"), 400).lines[2]
