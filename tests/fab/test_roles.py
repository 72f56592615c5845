"""Roles of FAB may name single DAGs: pages show these alone, and let those decide who may trigger them."""

import re

import pyarrow as pa
import pytest

from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.chain.conftest import Growing
from tests.ui.rejecting import publish, reject
from tests.ui.shown import PAGES, shown

PAGE = "/datasets/acme.numbers"
OTHERS = ("acme/sums", "acme.sums", "daily_report")


@pytest.fixture
def numbers(store):
    numbers = Growing(
        store.create(DatasetAlias.parse("acme/numbers")),
        model.MergeStrategyAppend(),
        (pa.field("id", pa.int64()), pa.field("value", pa.string())),
    )
    publish(numbers, ("+A", 1, "one"))
    return numbers


def test_a_role_of_one_dag_sees_nothing_of_others(open_page, numbers):
    for path in ("/datasets", "/lineage", "/candidates", *(PAGE + page for page in PAGES)):
        response = open_page(path, "reader")
        assert response.status_code == 200, (path, response.text)
        assert [name for name in OTHERS if name in response.text] == [], path
    assert "acme/numbers" in shown(open_page("/datasets", "reader")).lines
    overview = shown(open_page(PAGE, "reader"))
    assert (overview.after("Derivatives"), overview.after("Other DAGs")) == (
        "none",
        "2 DAGs not shown to you start when this dataset changes",
    )
    for page in PAGES:
        assert open_page(f"/datasets/acme.sums{page}", "reader").status_code == 403
    seen = open_page("/datasets", "Viewer").text + open_page(f"{PAGE}/lineage", "Viewer").text
    assert [name for name in OTHERS if name in seen] == list(OTHERS)


def test_a_role_without_rights_sees_nothing(open_page, numbers):
    for path in ("/datasets", "/lineage", "/candidates", *(PAGE + page for page in PAGES)):
        assert shown(open_page(path, "Public"), 403).lines[0] == "You may not see this page"


def test_who_may_trigger_the_dag_may_decide(open_page, send_form, open_api, numbers):
    rejection = reject(numbers, ("+A", 2, "two"))
    path = f"{PAGE}/rejected/{rejection.block_hash}"
    fields = {"reason": "checked", "confirmed": "yes"}
    assert 'name="token"' not in open_page(path, "reader").text
    decider = open_page(path, "decider")
    assert shown(decider).after("Starts when published") == "2 DAGs not shown to you"
    assert [name for name in OTHERS if name in decider.text] == []
    token = re.search(r'name="token" value="([^"]+)"', decider.text)[1]
    for role in ("reader", "Public", "Viewer"):
        assert send_form(f"{path}/publish", {**fields, "token": token}, role).status_code == 403
    assert open_api("/dags/acme.numbers/dagRuns", "decider").json()["dag_runs"] == []
    assert send_form(f"{path}/publish", {**fields, "token": token}, "decider").status_code == 303
    (run,) = open_api("/dags/acme.numbers/dagRuns", "decider").json()["dag_runs"]
    assert run["triggering_user_name"] == "decider"
    assert run["conf"] == {
        "decision": {"dataset": "acme/numbers", "publish": rejection.block_hash, "reason": "checked"}
    }
