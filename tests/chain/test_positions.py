import pytest

from airflow_provider_odf.chain.publications import PublishedHistory
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.ui.chain_cache import Positions, pages_folder, read_positions

HASHES = ["f1a", "f1b", "f2c", "f2d"]
POSITIONS = Positions(
    HASHES,
    ["2026-05-01T00:00:00Z", "2026-05-01T12:00:00Z", "2026-05-02T00:00:00.5Z", "2026-05-03T08:00:00Z"],
    [-1, 4, 9, 12],
    PublishedHistory(None, HASHES, ()),
)


@pytest.mark.parametrize(
    ("text", "after", "until"),
    [
        ("2026-04-30", -1, -1),
        ("2026-05-01", -1, 4),
        ("2026-05-02", 4, 9),
        ("2026-05-03", 9, 12),
        ("2030-01-01", 12, 12),
        ("2026-05-01T11:59:59.999Z", -1, -1),
        ("2026-05-01T14:00:00+02:00", 4, 4),
        ("2026-05-02T00:00:00Z", 4, 4),
        ("f1b", 4, 4),
        ("f2d", 12, 12),
    ],
)
def test_times_dates_and_blocks(text, after, until):
    assert (POSITIONS.after(text, "since"), POSITIONS.until(text, "until")) == (after, until)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("f1", InvalidInput, "since: 2 blocks start with f1: give more of the hash"),
        ("f9", DatasetNotFound, "since: the history has no block f9"),
        ("yesterday", InvalidInput, "since: 'yesterday' is neither a date, a time"),
        ("2026-13-01", InvalidInput, "since: "),
        ("2026-05-01T25:00:00Z", InvalidInput, "since: "),
        ("<script>", InvalidInput, "since: '<script>' is neither"),
    ],
)
def test_other_texts(text, error, message):
    with pytest.raises(error, match=message):
        POSITIONS.after(text, "since")


def test_only_new_blocks_are_read(grow, tmp_path):
    numbers = grow()
    numbers.add(("+A", 1, "a"), ("+A", 2, "b"))
    first = read_positions(numbers.dataset, numbers.dataset.head(), tmp_path)
    assert first.offsets == [-1, -1, -1, 1]
    lost = numbers.dataset.storage.location(f"blocks/{first.hashes[1]}")
    with open(lost, "wb") as file:
        file.write(b"damaged")
    numbers.append(model.SetInfo(description="x"))
    numbers.add(("-R", 1, "a"))
    second = read_positions(numbers.dataset, numbers.dataset.head(), tmp_path)
    assert second.offsets == [-1, -1, -1, 1, 1, 2]
    assert second.times[-1] == str(Instant.parse("2024-05-02T08:00:00Z"))
    assert read_positions(numbers.dataset, numbers.dataset.head(), tmp_path) == second


def test_a_damaged_file_and_a_head_that_was_reset(grow, tmp_path):
    numbers = grow()
    numbers.add(("+A", 1, "a"))
    before = numbers.dataset.head()
    numbers.add(("+A", 2, "b"))
    read_positions(numbers.dataset, numbers.dataset.head(), tmp_path)
    assert read_positions(numbers.dataset, before, tmp_path).offsets == [-1, -1, -1, 0]
    file = pages_folder(numbers.dataset, tmp_path) / "positions"
    file.write_bytes(file.read_bytes().replace(b"-1", b"-2"))
    assert read_positions(numbers.dataset, before, tmp_path).offsets == [-1, -1, -1, 0]
