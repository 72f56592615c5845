"""``make cluster-demo``, word by word."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import wait_until

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(1500)]

ROUNDS = {
    "DAG bike-stations: success": ["poll success", "merge success", "contract_test success", "publish success"],
    "DAG coffee-prices: success": ["poll success", "merge success", "contract_test success", "publish success"],
    "DAG prices-by-origin: success": ["transform success", "publish success"],
    "DAG river-levels: success": ["poll success", "merge success", "publish success"],
    "DAG coffee-prices: failed": ["poll success", "merge success", "contract_test failed", "publish upstream_failed"],
}
APPLICATIONS = [
    "odf_merge_bike_stations 1 1",
    "odf_merge_coffee_prices 1 1",
    "odf_merge_coffee_prices 1 1",
    "odf_merge_river_levels 1 1",
    "odf_transform_prices_by_origin 1 1",
    "odf_transform_prices_by_origin 1 1",
]
VERIFIED = [
    "bike-stations: ok: 7 blocks, 2 slices, 8 records",
    "coffee-prices: ok: 5 blocks, 1 slice, 4 records",
    "river-levels: ok: 7 blocks, 2 slices, 11 records",
    "prices-by-origin: ok: 5 blocks, 1 slice, 4 records, 1 transformation",
]
CONTRACT = "urn:datacontract:example:coffee-prices"


def test_datasets_are_published_on_a_cluster_and_have_the_same_bytes_without(tmp_path):
    done = subprocess.run(command(tmp_path), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    rounds, dag = {}, None
    for line in lines:
        if line.startswith("DAG "):
            rounds[dag := line] = []
        elif re.match(r"(poll|merge|transform|contract_test|publish) ", line):
            rounds[dag].append(" ".join(line.split()[:2]))
    assert rounds == ROUNDS
    assert sorted(line.partition(" ")[2] for line in lines if line.startswith("app-")) == APPLICATIONS
    assert [line for line in lines if ": ok: " in line] == VERIFIED
    assert [line.startswith("data/f1620") for line in lines if line.endswith("is in both")] == [True, True]
    assert [line.split()[3:6] for line in lines if line.startswith("rejected-")] == [["6", "contract", CONTRACT]]
    wait_until(lambda: running_in(tmp_path) == [], 120)  # the first run of a machine makes an archive of Java classes


def test_a_signal_ends_all_processes(tmp_path):
    with subprocess.Popen(command(tmp_path), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as demo:
        wait_until(lambda: len(running_in(tmp_path)) >= 6, 120)  # the S3 server, the master, two workers, Airflow
        demo.send_signal(signal.SIGINT)
        assert demo.wait(60) == 130
        assert demo.stderr.read() == b"Stopped: none of its processes runs any more.\n"
    assert running_in(tmp_path) == []


def command(folder):
    return [sys.executable, "-m", "demo.cluster", str(folder / "demo")]


def running_in(folder):
    """The processes whose home is in a folder."""
    home, found = f"HOME={folder}".encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if home in (entry / "environ").read_bytes():
                found.append((entry.name, (entry / "cmdline").read_bytes().replace(b"\0", b" ")[:200]))
        except OSError:  # it has ended
            continue
    return found
