"""``odf diff``: what changed between two times, blocks or offsets."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_odf.chain import schema
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.chain.conftest import Growing

COLUMNS = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
ODF = Path(sys.executable).with_name("odf")


@pytest.fixture
def numbers(tmp_path):
    store = Store.open(tmp_path / "store")
    merge = model.MergeStrategySnapshot(primary_key=("id",))
    growing = Growing(store.create(DatasetAlias.parse("numbers")), merge, COLUMNS)
    growing.blocks = []
    for rows in (
        [("+A", 1, "a"), ("+A", 2, "b")],
        [("-C", 1, "a"), ("+C", 1, "x"), ("+A", 3, "c")],
        [("-C", 1, "x"), ("+C", 1, "y"), ("-R", 2, "b"), ("-R", 3, "c")],
    ):
        growing.add(*rows)
        growing.blocks.append(growing.dataset.head())
    return growing


@pytest.fixture
def diff(numbers, tmp_path):
    def run(*arguments):
        environment = {**os.environ, "ODF_STORE": str(tmp_path / "store")}
        command = [ODF, "diff", "numbers", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return run


def rows(done):
    return [[line.split(",")[1], *line.split(",")[4:]] for line in done.stdout.splitlines()[1:]]


@pytest.mark.parametrize(
    ("first", "last", "expected", "said"),
    [
        (0, 1, [["-C", "1", "a"], ["+C", "1", "x"], ["+A", "3", "c"]], "1 row added, 1 row corrected by offsets 2..4"),
        (
            0,
            2,
            [["-C", "1", "a"], ["+C", "1", "y"], ["-R", "2", "b"]],
            "1 row retracted, 1 row corrected by offsets 2..8",
        ),
        (
            1,
            2,
            [["-C", "1", "x"], ["+C", "1", "y"], ["-R", "2", "b"], ["-R", "3", "c"]],
            "2 rows retracted, 1 row corrected by offsets 5..8",
        ),
        (2, 2, [], "nothing changed"),
    ],
)
def test_between_blocks(diff, numbers, first, last, expected, said):
    until = [numbers.blocks[last][:14]] if last < 2 else []
    done = diff(numbers.blocks[first], *until, "--format", "csv")
    assert (done.returncode, done.stderr) == (0, f"numbers: {said}, up to block {numbers.blocks[last][:13]}\n")
    assert rows(done) == expected


def test_the_newest_publication(diff, numbers):
    done = diff("--format", "csv")
    assert rows(done) == [["-C", "1", "x"], ["+C", "1", "y"], ["-R", "2", "b"], ["-R", "3", "c"]]


def test_a_table_by_key(diff, numbers):
    lines = diff(numbers.blocks[0]).stdout.splitlines()
    assert [line.split()[:2] for line in lines[2:]] == [["2", "-C"], ["6", "+C"], ["7", "-R"]]


def test_dates_and_offsets(diff):
    assert rows(diff("2024-05-02", "2024-05-02", "--format", "csv")) == [["+A", "1", "y"]]
    assert rows(diff("1", "4", "--format", "csv")) == [["-C", "1", "a"], ["+C", "1", "x"], ["+A", "3", "c"]]
    assert diff("2024-05-03").stderr.startswith("numbers: nothing changed, up to block f1620")


def test_columns_that_changed(diff, numbers):
    numbers.append(schema.set_data_schema(numbers.schema.append(pa.field("note", pa.string()))))
    done = diff(numbers.blocks[2])
    said = f"columns: added note STRING\nnumbers: nothing changed, up to block {numbers.dataset.head()[:13]}\n"
    assert (done.returncode, done.stderr) == (0, said)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("soon",),
            "since: 'soon' is no date (2026-05-01), no time with a zone (2026-05-01T08:00:00Z) and no hash of a block",
        ),
        (("f1620fff",), "dataset numbers has no block f1620fff"),
        (("99",), "dataset numbers: since is offset 99, but its newest offset is 8"),
        (("5", "2"), "dataset numbers: until 2 is before since 5: swap the two"),
        (("20240502",), "its newest offset is 8: for the date write 2024-05-02"),
        (
            ("2024-05-09T10:00:00Z", "2024-05-09T09:00:00Z"),
            "until 2024-05-09T09:00:00Z is before since 2024-05-09T10:00:00Z: swap the two",
        ),
    ],
)
def test_errors(diff, arguments, message):
    done = diff(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_more_rows_than_a_table_has(diff, numbers):
    numbers.add(*[("+A", number, "x") for number in range(10, 1210)])
    done = diff(numbers.blocks[2])
    head = numbers.dataset.head()[:13]
    said = f"numbers: 1,200 rows added by offsets 9..1208, up to block {head}\n… 200 more rows: use --format csv\n"
    assert (len(done.stdout.splitlines()), done.stderr) == (1002, said)
