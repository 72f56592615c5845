"""Somebody who has only a browser: is it fresh, what was kept out, what does its release change in a derivative?"""

import re
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PATHS = (
    "/datasets",
    "/candidates",
    "/datasets/visits/completeness",
    "/datasets/visits/columns",
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
    return frame.get_by_role("row").filter(has=frame.get_by_role("link", name=name, exact=True))


def test_a_fresh_dataset(logged_in, picture):
    with logged_in("viewer") as page:
        page.goto("/")
        page.get_by_role("button", name="Browse").click()
        page.get_by_role("menuitem", name="Datasets").click()
        frame = page.frame_locator("iframe")
        bikes = row(frame, "bike-stations")
        about = "Stations of a bike sharing scheme and how many docks they have. The town is made up."
        assert cells(bikes)[:2] == [f"bike-stations\n\n{about} Owner: City of bicycles", "stale"]
        assert cells(bikes)[3:6] == ["2026-05-08 00:00:00 UTC", "8", "passed"]
        assert cells(row(frame, "coffee-prices"))[1] == "rejected"
        assert cells(row(frame, "prices-by-origin"))[1] == "waiting"
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
        frame.get_by_role("heading", name="What it changed").wait_for()


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


def test_the_theme_of_airflow(logged_in):
    """The switch of Airflow counts, not that of the system, and at once."""
    ground = "getComputedStyle(document.body).backgroundColor"
    with logged_in("viewer", "light") as page:
        page.goto("/odf/datasets")
        assert page.evaluate(ground) == "rgb(255, 255, 255)"
        page.evaluate("localStorage.setItem('theme', 'dark')")
        page.reload()
        assert page.evaluate(ground) == "oklch(0.232 0.032 266)"
        page.evaluate("localStorage.setItem('theme', 'light')")
        page.goto("/plugin/odf-datasets")
        frame = page.frame_locator("iframe")
        frame.get_by_role("heading", name="Datasets").wait_for()
        assert frame.locator("body").evaluate(f"() => {ground}") == "rgb(255, 255, 255)"
        page.evaluate("localStorage.setItem('theme', 'dark')")
        page.wait_for_function(
            "document.querySelector('iframe').contentDocument.documentElement.dataset.theme == 'dark'"
        )
        page.evaluate("localStorage.removeItem('theme')")


def test_links_between_pages_stay_in_the_frame(logged_in):
    with logged_in("viewer") as page:
        page.goto("/dags/coffee-prices")
        page.get_by_role("link", name="Dataset", exact=True).click()
        frame = page.frame_locator("iframe")
        frame.get_by_role("link", name="Data", exact=True).click()
        frame.get_by_role("heading", name="Current rows").wait_for()
        assert "/odf/" not in page.url
        page.goto("/dags/prices-by-origin/plugin/odf-dataset")
        frame.get_by_role("link", name="coffee-prices").first.click()
        frame.get_by_role("heading", name="coffee-prices").wait_for()


def test_a_dag_in_a_graph_leaves_the_frame(logged_in):
    with logged_in("viewer") as page:
        page.goto("/dags/coffee-prices/plugin/odf-dataset")
        frame = page.frame_locator("iframe")
        frame.get_by_role("link", name="Lineage", exact=True).click()
        frame.locator("g.node.dag").click()
        page.wait_for_url("**/dags/price_report**")


def test_a_deep_link_leads_to_the_login_and_back(browser, site):
    context = browser.new_context(base_url=site.address)
    page = context.new_page()
    page.goto("/odf/datasets/bike-stations/data?view=history")
    page.fill("input[name=username]", "viewer")
    page.fill("input[name=password]", site.passwords["viewer"])
    page.click("button[type=submit]")
    page.get_by_role("heading", name="History").wait_for()
    assert page.url == f"{site.address}/odf/datasets/bike-stations/data?view=history"
    context.close()


def test_two_blocks_are_compared_by_choosing_them(logged_in):
    with logged_in("viewer") as page:
        page.goto("/odf/datasets/bike-stations/blocks")
        page.get_by_role("radio", name="Compare from block 3").check()
        page.get_by_role("button", name="Compare the two blocks").click()
        page.get_by_role("heading", name="Difference").wait_for()
        assert "University" in page.get_by_role("region", name="Rows").inner_text()


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
        page.get_by_text("Publish anyway…").click()
        choice = page.locator("details").filter(has_text="Publish anyway…")
        choice.get_by_label("Reason").fill("The roaster sells beans from Chile now.")
        choice.get_by_role("checkbox").check()
        choice.get_by_role("button", name="Publish anyway").click()
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
        page.get_by_role("heading", name="History").wait_for()
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
        frame.get_by_role("heading", name="What it changed").wait_for()
        assert "The roaster sells beans from Chile now." in frame.locator("main").inner_text()
        assert frame.get_by_role("link", name=event["source_run_id"]).count() == 1


def test_what_changed_and_why(logged_in, axe):
    with logged_in("viewer") as page:
        page.goto("/odf/datasets/bike-stations/blocks")
        page.get_by_role("row").nth(1).get_by_role("link").first.click()
        page.get_by_role("heading", name="What it changed").wait_for()
        facts = page.locator("main").inner_text()
        assert "+A 1 added, -R 1 retracted, -C 1 corrected from, +C 1 corrected to" in " ".join(facts.split())
        assert "Source file\n2026-05-08.ndjson" in facts
        assert "Contract\npassed" in facts
        records = page.get_by_role("region", name="Table of the records")
        assert records.locator("td.changed").all_inner_texts() == [
            "2026-05-01T00:00:00Z",
            "24",
            "2026-05-08T00:00:00Z",
            "30",
        ]
        assert axe(page) == {}
        page.get_by_text("The block as YAML").click()
        assert "kind: AddData" in page.locator("pre").inner_text()


def test_is_yesterday_complete(logged_in, picture):
    yesterday = datetime.now(UTC) - timedelta(days=1)
    with logged_in("viewer") as page:
        page.goto("/odf/datasets/visits")
        tile = page.locator(".tiles > div").filter(has_text="that is over")
        assert f"{yesterday:%Y-%m-%d %a}: 3 rows, usual 12 few" in " ".join(tile.inner_text().split())
        tile.get_by_role("link", name="Rows by event time").click()
        page.get_by_role("heading", name="Completeness").wait_for()
        days = page.get_by_role("region", name="Table of the periods")

        def day(ago):
            label = f"{datetime.now(UTC) - timedelta(days=ago):%Y-%m-%d %a}"
            return cells(days.get_by_role("row").filter(has_text=label))[1:5]

        assert [day(1), day(2), day(5), day(37)] == [
            ["3", "12", "few", ""],
            ["12", "12", "", ""],
            ["0", "12", "gap", ""],
            ["14", "", "", "2"],
        ]
        picture(page, "completeness")
        days.get_by_role("link", name=f"{yesterday:%Y-%m-%d %a}").click()
        page.get_by_role("heading", name="History").wait_for()
        assert page.get_by_role("region", name="Rows").get_by_role("row").count() == 1 + 3


def test_why_is_it_failing(logged_in, site):
    with logged_in("admin") as page:
        page.goto("/dags/returns")
        made = page.request.post("/api/v2/dags/returns/dagRuns", data={"logical_date": None})
        assert made.ok, made.text()
        until_shown(page, "/odf/datasets/returns", "Why the run failed")
        text = " ".join(page.locator("main").inner_text().split())
        assert "data/visits" not in text
        assert "data/returns/*.csv: no file matches" in text
        page.goto("/dags/returns/plugin/odf-dataset")
        page.frame_locator("iframe").get_by_role("link", name="poll").click()
        page.wait_for_url(re.compile("/dags/returns/runs/manual[^/]*/tasks/poll"))


def test_what_is_it(logged_in):
    with logged_in("viewer") as page:
        page.goto("/odf/datasets?q=beans")
        assert [cells(found)[0].split("\n")[0] for found in page.locator("tbody tr").all()] == ["coffee-prices"]
        page.get_by_role("link", name="coffee-prices").click()
        columns = page.get_by_role("region", name="Table of the columns")
        assert cells(columns.get_by_role("row").filter(has_text="sku")) == [
            "sku", "STRING", "never", "Number of the coffee in the catalog.", "key unique"
        ]  # fmt: skip
        assert "Roastery" in page.locator("main").inner_text()
        page.goto("/odf/datasets/visits/columns")
        page_column = page.get_by_role("row").filter(has_text="help")
        assert cells(page_column) == ["page", "STRING", "0.0 %", "0.0 %", "1", "help", "help", "help ×2"]


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


def test_publications_name_their_source(logged_in):
    with logged_in("viewer") as page:
        page.goto("/odf/datasets/bike-stations/publications")
        assert "2026-05-08.ndjson the newest of 3 blocks" in page.locator("tbody tr").first.inner_text()


def test_narrow_windows_do_not_scroll_sideways(logged_in):
    with logged_in("viewer") as page:
        page.set_viewport_size({"width": 400, "height": 800})
        for part in (
            "",
            "/data?view=history",
            "/blocks",
            "/columns",
            "/publications",
            "/contract",
            "/rejected",
            "/completeness",
            "/trends",
            "/lineage",
        ):
            page.goto(f"/odf/datasets/coffee-prices{part}")
            assert page.evaluate("document.documentElement.scrollWidth") == 400, part
        for path in ("/datasets", "/lineage", "/candidates"):
            page.goto(f"/odf{path}")
            assert page.evaluate("document.documentElement.scrollWidth") == 400, path
        page.goto("/odf/datasets/coffee-prices/blocks")
        page.locator("td > a > code").first.click()
        page.get_by_text("The block as YAML").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_tables_fit_a_phone(logged_in):
    """Columns that few need on a small screen are left out there, so that the table need not be scrolled."""
    with logged_in("viewer") as page:
        page.goto("/odf/datasets")
        table = page.get_by_role("region", name="Datasets")
        assert table.get_by_role("columnheader").count() == 8
        page.set_viewport_size({"width": 400, "height": 800})
        assert table.get_by_role("columnheader").all_inner_texts() == ["Dataset", "Health", "Last publication"]
        assert table.evaluate("it => it.scrollWidth - it.clientWidth") == 0
