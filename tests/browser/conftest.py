"""A real Airflow with the datasets of the demo that the story needs, and a real Chromium."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from demo.browse import free_port, set_passwords, settings, start
from demo.family import Family
from demo.folder import airflow

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "dags"
DATASETS = ("bike-stations", "coffee-prices")
VISITS = """\
kind: DatasetSnapshot
version: 1
content:
  name: visits
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch: {kind: FilesGlob, path: data/visits/*.csv}
      read: {kind: Csv, header: true, schema: [visit BIGINT, time TIMESTAMP, page STRING]}
      merge: {kind: Ledger, primaryKey: [visit]}
    - kind: SetVocab
      eventTimeColumn: time
    - kind: SetInfo
      description: Visits of a shop.
"""
BROKEN = VISITS.replace("visits", "returns").replace("Visits", "Returns")
REPORT = """\
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from airflow_provider_odf import OdfHook

with DAG("price_report", schedule=[OdfHook().asset("coffee-prices")]):
    EmptyOperator(task_id="report")
"""
LOADER = "# airflow dag\nfrom airflow_provider_odf import build_dags\n\nglobals().update(build_dags(__file__))\n"
ODF = str(Path(sys.executable).with_name("odf"))


@dataclass(frozen=True)
class Site:
    """A running Airflow: its address, the passwords of its users, its dags folder and the store."""

    address: str
    passwords: dict
    dags: Path
    store: Path


@pytest.fixture(scope="session")
def chromium():
    """Path of the browser, as ``ODF_CHROMIUM`` or the PATH gives it."""
    names = [os.environ.get("ODF_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
    found = next(filter(None, (shutil.which(name) for name in names if name)), None)
    if found is None:
        pytest.skip("there is no Chromium: install Debian's package chromium, or set ODF_CHROMIUM")
    return found


@pytest.fixture(scope="module")
def site(chromium, tmp_path_factory):
    """Airflow with a fresh dataset, one with a rejected candidate, and a derivative of that."""
    home = tmp_path_factory.mktemp("story")
    dags, store = home / "dags", home / "store"
    copy_dags(dags)
    passwords = set_passwords(home / "passwords.json")
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(home / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__ODF__STORE": str(store),
        "ODF_STORE": str(store),
        "TZ": "UTC",
    }
    with ThreadPoolExecutor(1) as background:
        data = background.submit(make_data, dags, environment)
        run(airflow(), "db", "migrate", environment=environment)
        run(airflow(), "dags", "reserialize", environment=environment)
        data.result()
    address = f"http://127.0.0.1:{free_port(0)}"
    environment |= settings(address, home / "passwords.json")
    with Family(15, environment) as family:
        log = home / "airflow.log"
        assert start(family, log, address) is None, log.read_text()
        yield Site(address, passwords, dags, store)


def copy_dags(dags):
    for name in DATASETS:
        shutil.copytree(EXAMPLES / "data" / name, dags / "data" / name)
        for file in (f"{name}.yaml", f"{name}.datacontract.yaml"):
            shutil.copy(EXAMPLES / file, dags / file)
    shutil.copy(ROOT / "demo" / "dags" / "prices-by-origin.yaml", dags)
    (dags / "visits.yaml").write_text(VISITS)
    (dags / "returns.yaml").write_text(BROKEN)
    write_visits(dags / "data" / "visits")
    (dags / "odf.yaml").write_text("defaults: {schedule: null}\n")
    (dags / "odf.py").write_text(LOADER)
    (dags / "price_report.py").write_text(REPORT)


def write_visits(folder):
    """Forty days with twelve visits each, but three yesterday and none five days ago; two of the third day come late.
    One column is not in the manifest."""
    folder.mkdir(parents=True)
    today, header, lines = (
        datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0),
        "visit,time,page,agent",
        [],
    )
    for day in range(40, 0, -1):
        for hour in range({1: 3, 5: 0}.get(day, 12)):
            time = today - timedelta(days=day) + timedelta(hours=hour)
            lines.append(f"{len(lines)},{time:%Y-%m-%dT%H:%M:%SZ},home,phone")
    late = today - timedelta(days=37)
    (folder / "1.csv").write_text("\n".join([header, *lines]) + "\n")
    more = [f"{number},{late:%Y-%m-%dT%H:%M:%SZ},help,phone" for number in (1000, 1001)]
    (folder / "2.csv").write_text("\n".join([header, *more]) + "\n")


def make_data(dags, environment):
    """Publish all datasets but one without a source; then a price list comes that its contract rejects."""
    names = [f"{name}.yaml" for name in (*DATASETS, "prices-by-origin", "visits")]
    run(ODF, "run", *(str(dags / name) for name in names), environment=environment)
    shutil.copy(EXAMPLES / "data" / "arriving" / "coffee-prices" / "2026-05-02.csv", dags / "data" / "coffee-prices")
    run(ODF, "run", str(dags / "coffee-prices.yaml"), environment=environment, expected=1)


def run(*command, environment, expected=0):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == expected, done.stdout + done.stderr


@pytest.fixture(scope="module")
def browser(chromium):
    """The browser. It ends with its tests, because others of the process run event loops of their own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def logged_in(site, browser, tmp_path_factory):
    """Return a page of a user who has logged in by Airflow's form."""
    states = {}

    @contextmanager
    def opened(user, scheme="light"):
        context = browser.new_context(
            base_url=site.address,
            storage_state=states.get(user),
            color_scheme=scheme,
            timezone_id="UTC",
            viewport={"width": 1280, "height": 800},
        )
        page = context.new_page()
        page.set_default_timeout(60_000)
        if user not in states:
            page.goto("/")
            page.fill("input[name=username]", user)
            page.fill("input[name=password]", site.passwords[user])
            page.click("button[type=submit]")
            page.get_by_role("button", name="Browse").wait_for()
            states[user] = context.storage_state()
        yield page
        context.close()

    return opened


@pytest.fixture
def picture():
    """Write a screenshot for the documentation, if ``ODF_SCREENSHOTS`` names a folder for them."""
    folder = os.environ.get("ODF_SCREENSHOTS")

    def write(page, name):
        if folder:
            page.screenshot(path=Path(folder) / f"{name}.png", animations="disabled")

    return write


@pytest.fixture(scope="module")
def axe():
    """Return what axe-core finds wrong with a page: rule -> elements."""
    from axe_playwright_python.sync_playwright import Axe

    def violations(page):
        found = json.loads(json.dumps(Axe().run(page).response["violations"]))
        return {rule["id"]: [node["html"] for node in rule["nodes"]] for rule in found}

    return violations
