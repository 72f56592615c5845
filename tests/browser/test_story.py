"""Somebody who has only a browser: is it fresh, what was kept out, what does its release change in a derivative?"""

import re
import time
from itertools import pairwise

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PATHS = (
    "/datasets",
    "/datasets/bike-stations",
    "/datasets/bike-stations/data",
    "/datasets/bike-stations/data?view=history",
    "/datasets/bike-stations/blocks",
    "/datasets/bike-stations/publications",
    "/datasets/coffee-prices",
    "/datasets/coffee-prices/contract",
    "/datasets/coffee-prices/rejected",
    "/datasets/bike-stations/trends",
    "/datasets/bike-stations/verification",
    "/datasets/prices-by-origin/lineage",
    "/lineage",
    "/datasets/no-such-dataset",
)


def cells(row):
    row.wait_for()
    return [re.sub(r" UTC .*", " UTC", text) for text in row.locator("th, td").all_inner_texts()]


def heading(frame):
    return " ".join(frame.get_by_role("heading", level=1).inner_text().split())


def row(frame, name):
    return frame.get_by_role("row").filter(has=frame.get_by_role("rowheader", name=name, exact=True))


def test_a_fresh_dataset(logged_in, picture):
    with logged_in("viewer") as page:
        page.goto("/")
        page.get_by_role("button", name="Browse").click()
        page.get_by_role("menuitem", name="Datasets").click()
        frame = page.frame_locator("iframe")
        bikes = row(frame, "bike-stations")
        assert cells(bikes)[:2] == ["bike-stations", "stale"]
        assert cells(bikes)[3:6] == ["2026-05-08 00:00:00 UTC", "8", "passed"]
        assert cells(row(frame, "coffee-prices"))[:2] == ["coffee-prices", "rejected"]
        assert cells(row(frame, "prices-by-origin"))[:2] == ["prices-by-origin", "fresh"]
        picture(page, "catalog")
        frame.get_by_role("link", name="bike-stations").click()
        frame.get_by_role("heading", name="bike-stations").wait_for()
        assert heading(frame) == "bike-stations stale"
        text = frame.locator("main").inner_text()
        assert "The newest data is of 2026-05-08T00:00:00Z, " in text
        assert "data/bike-stations/*.ndjson" in text
        picture(page, "overview")
        frame.get_by_role("link", name="Data", exact=True).click()
        frame.get_by_role("link", name="Show the history").click()
        frame.get_by_role("heading", name="History").wait_for()
        history = frame.get_by_role("row").filter(has_text="Old Mill")
        assert [cells(found)[1] for found in history.all()] == ["-R", "+A"], history.all_inner_texts()
        picture(page, "data")
        frame.get_by_role("link", name="Blocks").click()
        frame.get_by_role("columnheader", name="Block").wait_for()
        assert "AddData" in frame.get_by_role("row").nth(1).inner_text()
        frame.get_by_role("row").nth(1).get_by_role("link").first.click()
        frame.locator("pre").wait_for()
        assert "kind: AddData" in frame.locator("pre").inner_text()


def test_the_tab_of_a_dag(logged_in):
    with logged_in("viewer") as page:
        page.goto("/dags/coffee-prices")
        page.get_by_role("link", name="Dataset", exact=True).click()
        assert heading(page.frame_locator("iframe")) == "coffee-prices rejected"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(logged_in, axe, scheme):
    with logged_in("viewer", scheme) as page:
        for path in PATHS:
            page.goto(f"/odf{path}")
            assert axe(page) == {}, path
            levels = [int(tag[1]) for tag in page.locator("h1, h2, h3").evaluate_all("all => all.map(h => h.tagName)")]
            assert levels[0] == 1, path
            assert all(after - before <= 1 for before, after in pairwise(levels)), path


def test_the_keyboard_reaches_every_link(logged_in):
    with logged_in("viewer") as page:
        page.goto("/odf/datasets/bike-stations")
        links = page.get_by_role("link").all_inner_texts()
        reached = []
        for _ in range(len(links) * 2):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.tagName == 'A' && document.activeElement.innerText"))
        assert [text for text in reached if text][: len(links)] == links
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"


def test_a_rejected_candidate_and_its_release(logged_in, picture, axe):
    with logged_in("admin") as page:
        page.goto("/odf/datasets/coffee-prices")
        assert "New data was not published: 1 candidate waiting for a decision." in page.locator("main").inner_text()
        candidate = page.get_by_role("region", name="Not published").get_by_role("row").nth(1)
        assert "origin is one of Brazil, Colombia, Ethiopia, Kenya, Peru: 1 row" in candidate.inner_text()
        picture(page, "rejected")
        link = candidate.get_by_role("link").first
        block_hash = link.get_attribute("href").rpartition("/")[2]
        link.click()
        page.get_by_role("heading", name="Failing rows").wait_for()
        assert "It failed its contract and was not published." in page.locator("main").inner_text()
        assert "C105" in page.get_by_role("region", name="Table of failing rows").inner_text()
        assert axe(page) == {}
        picture(page, "candidate")
        page.get_by_role("button", name="Publish anyway").click()
        page.get_by_role("heading", name="Decisions").wait_for()
        assert page.url.endswith(f"/odf/datasets/coffee-prices/rejected/{block_hash}")
        assert "admin" in page.get_by_role("row").filter(has_text="Publish anyway").inner_text()
        # The event of the release starts the DAG of the derivative, which corrects the rows that changed.
        until_shown(page, "/odf/datasets/prices-by-origin/data?view=history", "Chile")
        page.goto("/odf/datasets/coffee-prices")
        assert heading(page) == "coffee-prices exception"
        page.get_by_role("link", name="All datasets").click()
        page.get_by_role("link", name="prices-by-origin").click()
        assert heading(page) == "prices-by-origin fresh"
        page.get_by_role("link", name="Data", exact=True).click()
        page.get_by_role("link", name="Show the history").click()
        history = [cells(found) for found in page.locator("tbody tr").all()][:-4]
        assert sorted((found[1], *found[4:]) for found in history) == [
            ("+A", "Chile", "1", "23.10", "23.10"),
            ("+C", "Brazil", "1", "18.90", "18.90"),
            ("+C", "Ethiopia", "1", "-24.00", "-24.00"),
            ("-C", "Brazil", "1", "18.50", "18.50"),
            ("-C", "Ethiopia", "1", "24.00", "24.00"),
            ("-R", "Kenya", "1", "26.40", "26.40"),
        ]
        picture(page, "corrections")
        (event,) = page.request.get("/api/v2/assets/events?source_dag_id=coffee-prices").json()["asset_events"]
        page.goto(f"/dags/coffee-prices/runs/{event['source_run_id']}")
        page.get_by_role("link", name="Dataset", exact=True).click()
        frame = page.frame_locator("iframe")
        frame.locator("pre").wait_for()
        assert "kind: AddData" in frame.locator("pre").inner_text()
        assert frame.get_by_role("link", name=event["source_run_id"]).count() == 1


def until_shown(page, path, text):
    """Open a page again and again until it has a text."""
    deadline = time.monotonic() + 240
    page.goto(path)
    while text not in (shown := page.locator("body").inner_text()):
        assert time.monotonic() < deadline, shown
        page.wait_for_timeout(500)
        page.reload()


def test_lineage_of_a_column(logged_in, picture):
    with logged_in("viewer") as page:
        page.goto("/odf/datasets/prices-by-origin/lineage")
        assert "data/coffee-prices" in page.locator("main").inner_text()
        picture(page, "lineage")


def test_a_verification(logged_in):
    with logged_in("admin") as page:
        page.goto("/odf/datasets/bike-stations")
        page.get_by_role("button", name="Verify now").click()
        page.get_by_text("are intact.").wait_for()
        assert "7 blocks, 2 slices and 8 records are intact." in page.locator("main").inner_text()


def test_narrow_windows_do_not_scroll_sideways(logged_in):
    with logged_in("viewer") as page:
        page.set_viewport_size({"width": 400, "height": 800})
        for part in (
            "",
            "/data?view=history",
            "/blocks",
            "/publications",
            "/contract",
            "/rejected",
            "/trends",
            "/lineage",
        ):
            page.goto(f"/odf/datasets/coffee-prices{part}")
            assert page.evaluate("document.documentElement.scrollWidth") == 400, part
