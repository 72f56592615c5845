import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.ui import catalog_page
from airflow_provider_odf.ui.chain_cache import pages_folder
from tests.chain.conftest import Growing

from .conftest import HOME
from .shown import shown


@pytest.fixture
def numbers(store):
    columns = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
    numbers = Growing(store.create(DatasetAlias.parse("acme/numbers")), model.MergeStrategyAppend(), columns)
    numbers.append(model.SetLicense(short_name="CC0", name="Public domain", website_url="https://example.org"))
    numbers.add(("+A", 1, "one"), ("+A", 2, "two"))
    return numbers


def names(page):
    return [name for name in ("acme/numbers", "empty") if name in page.lines]


def test_the_catalog(open_page, numbers):
    page = shown(open_page("/datasets"))
    start = page.lines.index("acme/numbers")
    row = page.lines[start : start + 8]
    assert row[:2] == ["acme/numbers", "stale"]
    assert row[2].startswith("2024-05-02 08:00:00 UTC")
    assert row[4:] == ["2", "none", "the DAG is paused", "Root"]
    assert page.links["acme/numbers"] == "/odf/datasets/acme.numbers"
    start = page.lines.index("empty")
    assert page.lines[start + 1 : start + 3] == ["no data", "No run has created the dataset yet."]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("name=ACME/num", ["acme/numbers"]),
        ("name=zzz", []),
        ("keyword=numbers", ["acme/numbers", "empty"]),
        ("keyword=letters", []),
        ("owner=odf", ["acme/numbers", "empty"]),
        ("owner=nobody", []),
        ("column=VALU&keyword=numbers", ["acme/numbers"]),
        ("column=price&keyword=numbers", []),
        ("license=cc0&keyword=numbers", ["acme/numbers"]),
        ("license=mit&keyword=numbers", []),
        ("kind=Root&keyword=numbers", ["acme/numbers"]),
        ("kind=Derivative&keyword=numbers", []),
        ("health=stale&keyword=numbers", ["acme/numbers"]),
        ("health=no%20data&keyword=numbers", ["empty"]),
        ("health=fresh&keyword=numbers", []),
    ],
)
def test_search(open_page, numbers, query, expected):
    page = shown(open_page(f"/datasets?{query}"))
    assert names(page) == expected
    assert ("No dataset matches the search." in page.lines) == (not expected)


def test_a_page_at_a_time(open_page, numbers, monkeypatch):
    monkeypatch.setattr(catalog_page, "SIZE", 1)
    # Other tests have DAGs in the same Airflow.
    first = shown(open_page("/datasets?keyword=numbers"))
    assert names(first) == ["acme/numbers"]
    assert names(shown(open_page(first.links["Next"].removeprefix("/odf")))) == ["empty"]
    beyond = shown(open_page("/datasets?keyword=numbers&page=99"))
    assert "There is no page 99. First page" in beyond.lines
    assert names(shown(open_page(beyond.links["First page"].removeprefix("/odf")))) == ["acme/numbers"]
    wrong = (
        "The address has parameters that are not valid: page: Input should be a valid integer, unable to parse string"
    )
    assert shown(open_page("/datasets?page=x"), 422).lines[2] == f"{wrong} as an integer"


@pytest.mark.parametrize("filters", ["keyword=numbers", "keyword=numbers&column=value"])
def test_the_index_follows_the_heads(open_page, numbers, filters):
    def row():
        page = shown(open_page(f"/datasets?{filters}"))
        start = page.lines.index("acme/numbers")
        return page.lines[start + 4 : start + 6]

    assert row() == ["2", "none"]
    file = HOME / "pages-store" / ".work" / ".pages" / "catalog"
    kept = file.read_bytes()
    # No chain is read while the head stays where it is.
    shutil.rmtree(HOME / "pages-store" / ".work" / ".pages" / pages_folder(numbers.dataset, Path()).name)
    block = Path(numbers.dataset.storage.location(f"blocks/{numbers.dataset.head()}"))
    content = block.read_bytes()
    block.write_bytes(b"damaged")
    assert row() == ["2", "none"]
    block.write_bytes(content)
    numbers.add(("+A", 3, "three"))
    assert row() == ["3", "none"]
    assert file.read_bytes() != kept
    file.write_bytes(kept[:-9] + b"999999999")
    assert row() == ["3", "none"]


def test_before_the_first_run_there_is_no_store(open_page, store):
    shutil.rmtree(store.location)
    page = shown(open_page("/datasets?name=empty"))
    start = page.lines.index("empty")
    assert page.lines[start + 1 : start + 3] == ["no data", "No run has created the dataset yet."]
    assert "no data The dataset does not exist yet." in shown(open_page("/datasets/empty")).lines
    Path(store.location, ".work").mkdir(0o750, parents=True)


def test_a_manifest_that_is_not_valid(open_page, store):
    problem = "…/broken.yaml:9:"
    page = shown(open_page("/datasets?name=broken"))
    start = page.lines.index("broken")
    assert page.lines[start + 1] == "unreadable"
    assert problem in page.lines[start + 2]
    for path in ("", "/data", "/runs/manual__1"):
        page = shown(open_page(f"/datasets/broken{path}"), 409)
        assert page.lines[0] == "The manifest is not valid"
        assert problem in page.lines[2]
        assert page.lines[3] == "Correct the file. The documentation of the DAG has all problems."


def test_damage_of_one_dataset_hides_no_other(open_page, numbers):
    Path(numbers.dataset.storage.location(f"blocks/{numbers.dataset.head()}")).write_bytes(b"damaged")
    page = shown(open_page("/datasets"))
    assert page.lines[page.lines.index("acme/numbers") + 1] == "unreadable"
    assert "empty" in page.lines
    assert "unreadable" in page.lines[: page.lines.index("Search")]
    damaged = shown(open_page("/datasets?health=unreadable&keyword=numbers"))
    assert names(damaged) == ["acme/numbers"]


def test_users_without_the_right_see_nothing(open_page, airflow_server, numbers):
    assert "acme/numbers" not in str(shown(open_page("/datasets", role=None), 403).lines)
    assert airflow_server.get("/odf/datasets").status_code == 401
