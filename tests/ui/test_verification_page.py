"""The verification of a dataset in the background of the API server."""

import re
import time
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_odf.chain.verify import Step
from airflow_provider_odf.closed_files import make_folders
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.ui import verification
from airflow_provider_odf.ui.chain_cache import pages_folder
from tests.chain.conftest import Growing

from .shown import shown

PAGE = "/datasets/acme.numbers/verification"
COLUMNS = (pa.field("id", pa.int64()), pa.field("value", pa.string()))


@pytest.fixture
def numbers(store):
    numbers = Growing(store.create(DatasetAlias.parse("acme/numbers")), model.MergeStrategyAppend(), COLUMNS)
    numbers.add(("+A", 1, "one"), ("+A", 2, "two"))
    return numbers


@pytest.fixture
def folder(numbers, store):
    return pages_folder(numbers.dataset, store.work_area)


@pytest.fixture
def verify_now(open_page, send_form):
    """Send the form of the page, and wait for the end of the verification."""

    def verify_now(role="user"):
        token = re.search(r'name="token" value="([^"]+)"', open_page(PAGE, role).text)[1]
        answer = send_form(PAGE, {"token": token}, role)
        deadline = time.monotonic() + 60
        while "http-equiv" in (page := open_page(PAGE, role)).text:
            assert time.monotonic() < deadline
        return answer, page

    return verify_now


def test_an_intact_dataset(open_page, numbers, verify_now):
    assert "Nobody has verified this dataset here yet." in shown(open_page(PAGE)).lines
    assert shown(open_page("/datasets/acme.numbers")).after("Verified") == "not here yet"
    answer, page = verify_now()
    assert (answer.status_code, answer.headers["location"]) == (303, f"/odf{PAGE}")
    page = shown(page)
    assert "ok 4 blocks, 1 slice and 2 records are intact." in page.lines
    assert page.after("Started").endswith(" by a user")
    assert shown(open_page("/datasets/acme.numbers")).after("Verified").startswith("ok ")
    numbers.add(("+A", 3, "three"))
    assert "The head has moved since." in shown(open_page(PAGE)).lines
    assert shown(open_page("/datasets/acme.numbers")).after("Verified").endswith(", an older head")


def test_a_damaged_slice(numbers, verify_now, open_page):
    file = numbers.add(("+A", 3, "three"))
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    _, page = verify_now()
    (line,) = [line for line in shown(page).lines if line.startswith("failed ")]
    assert "checksum mismatch" in line
    assert file.name in line
    assert str(file.parent) not in line
    overview = shown(open_page("/datasets/acme.numbers"))
    assert overview.after("Verified") == "failed"
    notice = "verification failed The newest one, below, found damage, or could not read the dataset."
    assert notice in overview.lines


def test_progress_and_one_at_a_time(open_page, numbers, folder, store):
    make_folders(folder)
    begun = verification.Verification(numbers.dataset.head(), "a user", Instant.now(), Step("block", 1200, 9000))
    lock = verification._take(folder)
    verification.VERIFICATIONS.write(folder, begun)
    page = open_page(PAGE)
    assert "Checked 1,200 of 9,000 blocks." in shown(page).lines
    assert '<progress aria-label="Progress" max="9000" value="1200">' in page.text
    assert '<meta http-equiv="refresh" content="2">' in page.text
    assert shown(open_page("/datasets/acme.numbers")).after("Verified") == "a verification runs"
    assert verification.start(numbers.dataset, store.work_area, folder, "somebody else") is False
    # The process of the verification ends.
    lock.close()
    assert "lost The API server ended before the verification did. Start it again." in shown(open_page(PAGE)).lines


def test_who_may_verify(open_page, send_form, numbers, folder):
    page = open_page(PAGE)
    assert "<form" not in page.text
    assert "<form" not in open_page("/datasets/acme.numbers").text
    assert send_form(PAGE, {"token": "x"}, "viewer").status_code == 403
    assert send_form(PAGE, {"token": "x"}, "user").status_code == 400
    assert send_form(PAGE, {}, "nobody").status_code == 401
    assert open_page(PAGE, role=None).status_code == 403
    assert not (folder / "verification").exists()


def test_the_audit_log(numbers, verify_now):
    from airflow.models.log import Log
    from airflow.utils.session import create_session
    from sqlalchemy import select

    verify_now()
    with create_session() as session:
        query = select(Log.event, Log.dag_id, Log.owner).where(Log.event == "verify_dataset")
        assert set(session.execute(query).all()) == {("verify_dataset", "acme.numbers", "a user")}


def test_without_a_work_area(open_page, send_form, numbers, store):
    token = re.search(r'name="token" value="([^"]+)"', open_page(PAGE, "user").text)[1]
    work_area = Path(store.work_area)
    hidden = work_area.rename(work_area.with_name("hidden"))
    try:
        answer = send_form(PAGE, {"token": token}, "user")
    finally:
        hidden.rename(work_area)
    assert answer.status_code == 503
    assert "run `odf verify acme/numbers` where that is allowed" in answer.text
