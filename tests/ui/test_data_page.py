"""Ranges of the history, and the difference of two blocks."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.ui.data_page import _ranges
from tests.chain.conftest import Growing

from .shown import shown

PAGE = "/datasets/acme.numbers/data"
HOSTILE = "\x00<script>alert(1)</script>\u202e"


@pytest.fixture
def numbers(store):
    columns = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
    merge = model.MergeStrategySnapshot(primary_key=["id"])
    numbers = Growing(store.create(DatasetAlias.parse("acme/numbers")), merge, columns)
    numbers.add(("+A", 1, "one"), ("+A", 2, "two"), ("+A", 3, "three"))
    numbers.add(("-C", 1, "one"), ("+C", 1, HOSTILE), ("-R", 2, "two"), ("+A", 4, "x" * 1_000_000))
    numbers.add(("-C", 1, HOSTILE), ("+C", 1, "uno"))
    return numbers


def records(page):
    """Operation, id and start of the value of each row."""
    return [
        (op, page.lines[at + 3], page.lines[at + 4][:8])
        for at, op in enumerate(page.lines)
        if op in ("+A", "-R", "-C", "+C") and page.lines[at - 1].isdigit()
    ]


def test_the_difference_of_two_blocks(open_page, numbers):
    blocks = shown(open_page("/datasets/acme.numbers/blocks"))
    hashes = [block_hash for block_hash, _ in numbers.dataset.walk()]
    page = shown(open_page(f"{PAGE}?view=difference&since={hashes[2]}&until={hashes[0]}"))
    assert f"Difference since {hashes[2][:19]}… until {hashes[0][:19]}…" in page.lines
    assert records(page) == [
        ("-C", "1", "one"),
        ("+C", "1", "uno"),
        ("-R", "2", "two"),
        ("+A", "4", "xxxxxxxx"),
    ]
    swapped = shown(open_page(f"{PAGE}?view=difference&since={hashes[0]}&until={hashes[2]}"))
    assert records(swapped) == records(page)
    newest = shown(open_page(blocks.links["what it changed"].removeprefix("/odf")))
    assert records(newest)


def test_what_one_block_changed(open_page, numbers):
    response = open_page("/datasets/acme.numbers/blocks")
    hashes = [block_hash for block_hash, _ in numbers.dataset.walk()]
    link = f"/odf{PAGE}?view=difference&amp;since={hashes[2]}&amp;until={hashes[1]}"
    assert f'<a href="{link}">what it changed</a>' in response.text
    page = shown(open_page(link.removeprefix("/odf").replace("&amp;", "&")))
    assert records(page) == [
        ("-C", "1", "one"),
        ("+C", "1", "\\x00<scr"),
        ("-R", "2", "two"),
        ("+A", "4", "xxxxxxxx"),
    ]
    retracted = shown(open_page(f"{PAGE}?view=difference&since={hashes[2]}&until={hashes[1]}&operation=-R"))
    assert records(retracted) == [("-R", "2", "two")]


def test_what_changed_on_a_day(open_page, numbers):
    day = shown(open_page(f"{PAGE}?view=difference&since=2024-05-02&until=2024-05-02"))
    assert "Difference since 2024-05-02 until 2024-05-02" in day.lines
    assert records(day) == [("+A", "1", "uno"), ("+A", "3", "three"), ("+A", "4", "xxxxxxxx")]
    before = shown(open_page(f"{PAGE}?view=difference&since=2024-05-01&until=2024-05-01"))
    assert "No rows." in before.lines
    history = shown(open_page(f"{PAGE}?view=history&since=2024-05-02T07:59:59Z&operation=-C"))
    assert [record[:2] for record in records(history)] == [("-C", "1"), ("-C", "1")]
    assert "No rows." in shown(open_page(f"{PAGE}?view=history&since=2024-05-02T08:00:00Z")).lines
    hashes = [block_hash for block_hash, _ in numbers.dataset.walk()]
    newest = shown(open_page(f"{PAGE}?view=history&since={hashes[1]}"))
    assert [record[:2] for record in records(newest)] == [("+C", "1"), ("-C", "1")]


def test_times_that_are_copied_from_a_page(open_page, numbers):
    for as_of in ("2024-05-02 08:00:00 UTC", "2024-05-02 08:00:00", "2024-05-02", "2024-05-02T08:00:00Z"):
        page = shown(open_page(f"{PAGE}?as_of={as_of}"))
        assert f"Current rows as of {as_of}" in page.lines
        assert "uno" in page.lines
    assert shown(open_page(f"{PAGE}?as_of=2024-05-01"), 400).lines[2].startswith("dataset acme/numbers has no history")
    after = shown(open_page(f"{PAGE}?view=history&since=2024-05-02 08:00:00 UTC"))
    until = shown(open_page(f"{PAGE}?view=history&until=2024-05-02 08:00:00 UTC"))
    assert (len(records(after)), len(records(until))) == (0, 9)


def test_links_to_usual_ranges(open_page, numbers):
    assert _ranges(datetime(2026, 3, 1, 0, 30, tzinfo=UTC)) == [
        ("today", "2026-03-01", "2026-03-01"),
        ("yesterday", "2026-02-28", "2026-02-28"),
        ("the last seven days", "2026-02-23", "2026-03-01"),
    ]
    page = shown(open_page(PAGE))
    yesterday = page.links["yesterday"]
    assert "view=difference" in yesterday
    assert "No rows." in shown(open_page(yesterday.removeprefix("/odf"))).lines


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("since=<script>", 400, "since: '<script>' is neither a date, a time"),
        ("until=f1620ab", 404, "until: the history has no block f1620ab"),
        ("since=2024-99-99", 400, "since: month must be in 1..12"),
        ("since=%00", 400, "since: '\\x00' is neither"),
        ("since=2024-05-03&until=2024-05-01", 400, "until 2024-05-01 is before since 2024-05-03: swap the two"),
    ],
)
def test_ranges_that_are_not_valid(open_page, numbers, query, status, message):
    response = open_page(f"{PAGE}?view=difference&{query}")
    assert message in shown(response, status).lines[2]


def test_a_slice_that_is_damaged(open_page, numbers):
    assert open_page(f"{PAGE}?view=difference").status_code == 200
    for file in Path(numbers.dataset.storage.location("data")).iterdir():
        file.write_bytes(file.read_bytes().replace(b"three", b"THREE"))
    page = shown(open_page(f"{PAGE}?view=difference"), 500)
    assert page.lines[0] == "The dataset cannot be read"
    assert shown(open_page(f"{PAGE}?view=difference", role=None), 403).lines[0] == "You may not see this page"
