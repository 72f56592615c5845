"""Is a period complete? Rows by time, what is usual, gaps and late records."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.cycle.candidates import Record, save_record
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.protocol import CheckResult, ContractReport
from airflow_provider_odf.reading import completeness
from airflow_provider_odf.reading.completeness import UNITS, Numbers, Periods, unit_of
from tests.chain.conftest import Growing

from .shown import shown

PAGE = "/datasets/acme.numbers"
COLUMNS = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
MONDAY = datetime(2024, 3, 4, tzinfo=UTC)


@pytest.fixture
def numbers(store):
    return Growing(store.create(DatasetAlias.parse("acme/numbers")), model.MergeStrategyAppend(), COLUMNS)


def add_day(growing, day, n):
    """Publish ``n`` rows of a day, an hour apart, and the newest time as watermark."""
    times = [day + timedelta(hours=hour) for hour in range(n)]
    before = growing.draft.state.watermark
    newest = max(filter(None, (before, Instant.from_datetime(times[-1]))))
    growing.add(*[("+A", number, "x") for number in range(n)], event_times=times, watermark=newest)


def row_of(page, label):
    """The cells of a period's row, without those that are empty."""
    start = page.lines.index(label, page.lines.index("+C", page.lines.index("Finding")))
    end = next((n for n in range(start + 1, len(page.lines)) if page.lines[n].startswith("2024-")), len(page.lines))
    return page.lines[start:end]


def test_days_beside_what_is_usual(open_page, numbers):
    weekdays = [MONDAY + timedelta(days=n) for n in range(5 * 7) if (MONDAY + timedelta(days=n)).weekday() < 5]
    for day in weekdays[:-1]:  # the last Friday of five weeks has no data
        if day != MONDAY + timedelta(days=30):  # nor has the Wednesday before
            add_day(numbers, day, 1 if day == MONDAY + timedelta(days=28) else 8)
    add_day(numbers, MONDAY + timedelta(days=22), 3)  # late rows of a Tuesday
    answer = open_page(f"{PAGE}/completeness")
    page = shown(answer)
    assert row_of(page, "2024-04-04 Thu") == ["2024-04-04 Thu", "8", "8", "8"]
    assert row_of(page, "2024-04-03 Wed") == ["2024-04-03 Wed", "0", "8", "gap"]
    assert row_of(page, "2024-04-01 Mon") == ["2024-04-01 Mon", "1", "8", "few", "1"]
    assert row_of(page, "2024-03-31 Sun") == ["2024-03-31 Sun", "0", "0"]
    assert row_of(page, "2024-03-26 Tue") == ["2024-03-26 Tue", "11", "8", "3", "11"]
    assert row_of(page, "2024-03-18 Mon") == ["2024-03-18 Mon", "8", "8"]
    assert "2024-04-04 Thu: 8 rows; usual for a Thursday: 8 as usual" in page.lines
    said = "More rows of it may come: the watermark, before which no more are expected, is at 2024-04-04 07:00:00 UTC"
    assert any(line.startswith(said) for line in page.lines)
    assert page.lines[page.lines.index("Unusual: 2024-04-03 Wed gap 2024-04-01 Mon few")]
    assert answer.text.count('<rect class="usual"') == 11
    rows = page.links["2024-04-01 Mon"].removeprefix("/odf")
    of_day = shown(open_page(rows))
    assert of_day.lines.count("2024-04-01T00:00:00Z") == 1
    assert "2024-04-02T00:00:00Z" not in of_day.lines
    late = shown(open_page(page.links["2024-03-26 Tue"].removeprefix("/odf")))
    assert sum(line.startswith("2024-03-26T") for line in late.lines) == 11


def test_the_overview_answers_in_one_line(open_page, numbers):
    for week in range(4):
        add_day(numbers, MONDAY + timedelta(weeks=week), 2 if week == 3 else 6)
    page = shown(open_page(PAGE))
    assert page.after("Newest day that is over") == "2024-03-25 Mon: 2 rows, usual 6 few Rows by event time"
    assert page.links["Rows by event time"] == f"/odf{PAGE}/completeness"


def test_the_overview_names_what_is_not_as_usual(open_page, numbers):
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for ago in range(30, 0, -1):
        if ago != 5:
            add_day(numbers, today - timedelta(days=ago), 1 if ago == 4 else 8)
    add_day(numbers, today - timedelta(days=6), 3)  # late
    gap, few = (f"{today - timedelta(days=ago):%Y-%m-%d %a}" for ago in (5, 4))
    page = shown(open_page(PAGE))
    assert f"completeness Of the newest 14 days: {gap}: gap, {few}: few, 3 late records." in page.lines
    add_day(numbers, today + timedelta(days=2), 1)
    ahead = [
        line for line in shown(open_page(PAGE)).lines if line.startswith("future times The watermark is in the future")
    ]
    assert len(ahead) == 1


def test_more_new_blocks_than_the_overview_reads(open_page, numbers, monkeypatch):
    monkeypatch.setattr("airflow_provider_odf.ui.overview._MOST_NEW_BLOCKS", 3)
    add_day(numbers, MONDAY, 1)
    assert shown(open_page(PAGE)).after("Completeness") == "Rows by event time"
    assert "2024-03-04 Mon: 1 row open" in shown(open_page(f"{PAGE}/completeness")).lines
    assert shown(open_page(PAGE)).after("Newest day that is over") == "2024-03-04 Mon: 1 row open Rows by event time"


def test_only_new_slices_are_read(open_page, numbers, monkeypatch):
    for week in range(3):
        add_day(numbers, MONDAY + timedelta(weeks=week), 2)
    whole, read = completeness.records_by_hour, []

    def counted(dataset, parts, state):
        parts = list(parts)
        read.extend(part.data_slice.offset_interval.start for part in parts)
        return whole(dataset, parts, state)

    monkeypatch.setattr(completeness, "records_by_hour", counted)
    shown(open_page(f"{PAGE}/completeness"))
    add_day(numbers, MONDAY + timedelta(weeks=3), 2)
    page = shown(open_page(f"{PAGE}/completeness"))
    assert read == [0, 2, 4, 6]
    assert row_of(page, "2024-03-25 Mon") == ["2024-03-25 Mon", "2", "2", "2"]


def test_another_history_is_read_from_its_seed(open_page, numbers):
    add_day(numbers, MONDAY, 5)
    shown(open_page(f"{PAGE}/completeness"))
    before = numbers.dataset.block(numbers.dataset.head()).prev_block_hash
    numbers.dataset.storage.compare_and_set_ref("head", numbers.dataset.head(), before)
    numbers.draft = type(numbers.draft)(numbers.dataset, replay(numbers.dataset))
    add_day(numbers, MONDAY + timedelta(days=1), 7)
    page = shown(open_page(f"{PAGE}/completeness?unit=day"))
    assert "2024-03-05 Tue: 7 rows open" in page.lines
    assert "2024-03-04 Mon" not in page.lines


def test_corrections_and_retractions(open_page, numbers):
    add_day(numbers, MONDAY, 3)
    times = [MONDAY, MONDAY + timedelta(days=1), MONDAY]
    newest = Instant.from_datetime(MONDAY + timedelta(days=1))
    numbers.add(("-C", 0, "x"), ("+C", 0, "y"), ("-R", 1, "x"), event_times=times, watermark=newest)
    page = shown(open_page(f"{PAGE}/completeness?unit=day"))
    assert row_of(page, "2024-03-05 Tue") == ["2024-03-05 Tue", "1", "1"]
    assert row_of(page, "2024-03-04 Mon")[:4] == ["2024-03-04 Mon", "3", "3", "1"]  # nothing of it came late


def test_by_publication(open_page, numbers):
    add_day(numbers, MONDAY, 3)
    page = shown(open_page(f"{PAGE}/completeness?of=publication"))
    assert row_of(page, "2024-05-02 Thu")[:3] == ["2024-05-02 Thu", "3", "3"]
    assert "Late" not in page.lines


def test_clauses_about_volume_and_frequency(open_page, numbers):
    numbers.add(("+A", 1, "one"))
    results = (
        CheckResult("/quality/0", "row_count", "pass", "number of rows > 0", observed="1"),
        CheckResult("/id", "required", "pass", "id is never null"),
        CheckResult("/sla", "service_level_frequency", "informational", "updated daily", reason="a promise"),
    )
    record = Record("f00", 1, report=ContractReport("urn:n", "d", "numbers", results))
    save_record(numbers.dataset, numbers.dataset.head(), record)
    page = shown(open_page(f"{PAGE}/completeness"))
    start = page.lines.index("What the contract says")
    assert page.lines[start + 4 :] == [
        "number of rows > 0",
        "passed",
        "1",
        "updated daily",
        "not enforced",
        "a promise",
    ]


def test_no_data(open_page, numbers):
    assert "No data was published yet." in shown(open_page(f"{PAGE}/completeness")).lines


def test_rows_without_an_event_time(open_page, numbers):
    numbers.add(("+A", 1, "one"), ("+A", 2, "two"), event_times=[None, MONDAY])
    page = shown(open_page(f"{PAGE}/completeness"))
    assert "1 record without an event time." in page.lines
    assert "2024-03-04 Mon: 1 row unknown" in page.lines
    assert "What is usual for a Monday is not known: that takes three earlier ones." in page.lines


@pytest.mark.parametrize("event_type", [pa.date32(), pa.timestamp("ns", "UTC"), pa.timestamp("us", "UTC")], ids=str)
def test_types_of_event_times(open_page, store, event_type):
    dataset = store.create(DatasetAlias.parse("acme/numbers"))
    growing = Growing(dataset, model.MergeStrategyAppend(), COLUMNS, event_type)
    times = [MONDAY, MONDAY, MONDAY + timedelta(days=1)]
    growing.add(*[("+A", n, "x") for n in range(3)], event_times=times)
    page = shown(open_page(f"{PAGE}/completeness"))
    assert row_of(page, "2024-03-05 Tue") == ["2024-03-05 Tue", "1", "1"]
    assert row_of(page, "2024-03-04 Mon")[:3] == ["2024-03-04 Mon", "2", "2"]
    rows = shown(open_page(page.links["2024-03-04 Mon"].removeprefix("/odf")))
    assert rows.lines.count("+A") == 2 + 1  # and the choice of operations


def hours(*times):
    numbers = Numbers([1, 0, 0, 0])
    return {int(time.timestamp()) // 3600: numbers for time in times}


def at(*parts):
    return datetime(*parts, tzinfo=UTC)


def test_the_unit_that_fits():
    assert unit_of(hours(at(2024, 3, 4, 1), at(2024, 3, 4, 2))) == "hour"
    assert unit_of(hours(*(at(2024, 3, day) for day in range(1, 9)))) == "day"
    assert unit_of(hours(*(at(2024, month, 1) for month in range(1, 9)))) == "month"
    assert unit_of({}) == "day"


def test_periods_up_to_now_where_the_data_comes_near():
    recent = Periods(UNITS["day"], hours(at(2024, 3, 4)), at(2024, 3, 6, 12, 30)).newest()
    assert [(p.label, p.numbers.rows, p.is_over) for p in recent] == [
        ("2024-03-04 Mon", 1, True), ("2024-03-05 Tue", 0, True), ("2024-03-06 Wed", 0, False)
    ]  # fmt: skip
    long_ago = Periods(UNITS["day"], hours(at(2024, 3, 4)), at(2026, 3, 6)).newest()
    assert [p.label for p in long_ago] == ["2024-03-04 Mon"]


@pytest.mark.parametrize(
    ("rows", "watermark", "answer"),
    [
        (5, at(2024, 3, 26), "complete"),
        (5, at(2024, 3, 25, 23), "as usual"),
        (4, at(2024, 3, 25, 23), "as usual"),
        (4, at(2024, 3, 26), "complete"),
        (2, at(2024, 3, 25, 23), "few"),
        (0, at(2024, 3, 26), "gap"),
        (11, at(2024, 3, 25, 23), "many"),
        (5, None, "complete"),
    ],
)
def test_whether_a_day_is_complete(rows, watermark, answer):
    numbers = {int(at(2024, 3, 4 + 7 * week).timestamp()) // 3600: Numbers([5, 0, 0, 0]) for week in range(3)}
    numbers[int(at(2024, 3, 25).timestamp()) // 3600] = Numbers([rows, 0, 0, 0])
    periods = Periods(UNITS["day"], numbers, at(2024, 3, 26, 12), watermark).newest()
    assert [(p.label, p.answer) for p in periods if p.is_over][-1] == ("2024-03-25 Mon", answer)


def test_a_day_of_which_nothing_is_usual():
    numbers = {int(at(2024, 3, 4).timestamp()) // 3600: Numbers([5, 0, 0, 0])}
    (*_, period, _) = Periods(UNITS["day"], numbers, at(2024, 4, 2, 12), at(2024, 4, 2)).newest()
    assert (period.label, period.usual, period.answer) == ("2024-04-01 Mon", 0, "as usual")


@pytest.mark.parametrize("unit", ["hour", "day", "month"])
@pytest.mark.parametrize("time", [at(1, 1, 1), at(9999, 12, 31, 23)])
def test_the_ends_of_the_calendar(unit, time):
    (period,) = Periods(UNITS[unit], hours(time), at(2024, 6, 15)).newest()
    assert (period.numbers.rows, period.usual, period.is_over) == (1, None, time.year == 1)
    assert period.end > period.start


def test_months_and_their_usual_number():
    months = hours(*(at(2024, month, 1, hour) for month in (1, 2, 3) for hour in (0, 1)), at(2024, 5, 1))
    periods = Periods(UNITS["month"], months, at(2024, 6, 15)).newest()
    assert [(p.label, p.numbers.rows, p.usual, p.verdict) for p in periods] == [
        ("2024-01", 2, None, ""), ("2024-02", 2, None, ""), ("2024-03", 2, None, ""),
        ("2024-04", 0, 2, "gap"), ("2024-05", 1, 2, ""), ("2024-06", 0, 2, ""),
    ]  # fmt: skip


def test_hours_are_compared_with_those_of_days_before():
    before = [at(2024, 3, day, hour) for day in (1, 2, 3) for hour in (8, 9)]
    periods = Periods(UNITS["hour"], hours(*before, at(2024, 3, 4, 9)), at(2024, 3, 4, 10)).newest()
    of_day = {p.label: (p.numbers.rows, p.usual, p.verdict) for p in periods if p.start >= at(2024, 3, 4, 8)}
    assert of_day == {
        "2024-03-04 08:00": (0, 1, "gap"), "2024-03-04 09:00": (1, 1, ""), "2024-03-04 10:00": (0, 0, "")
    }  # fmt: skip


def test_twice_as_many_as_usual():
    numbers = {int(at(2024, 3, 4 + 7 * week).timestamp()) // 3600: Numbers([5, 0, 0, 0]) for week in range(3)}
    numbers[int(at(2024, 3, 25).timestamp()) // 3600] = Numbers([11, 0, 0, 0])
    assert Periods(UNITS["day"], numbers, at(2024, 3, 25, 1)).newest()[-1].verdict == "many"
