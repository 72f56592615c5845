"""A dozen of the crashes of ``python -m tests.crash``, and the instruments with which it makes them."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from .power_loss import NAMES, NOTHING, Disk

ROOT = Path(__file__).parents[2]
WATCHED = """
import sys, threading, subprocess
from pathlib import Path
from tests.crash.system_calls import KILL, watch
root, name, answer = Path(sys.argv[1]), sys.argv[2], eval(sys.argv[3])
def run():
    thread = threading.Thread(target=(root / "a").write_text, args=("x",))
    thread.start()
    thread.join()
    (root / "a").rename(root / "b")
    return subprocess.run(["rm", root / "b"], stderr=subprocess.DEVNULL).returncode + 3
calls = []
code = watch(run, root, lambda call: calls.append(str(call)) or (answer if call.name == name else None))
print(code, calls)
"""


def program(*words: str, folder: Path) -> Sequence[str]:
    """Return the lines that a program prints that may fork itself, which the one of these tests may not."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    if done.stdout.startswith("skipped: "):
        pytest.skip(done.stdout)
    return done.stdout.splitlines()


@pytest.fixture(scope="module", autouse=True)
def _can_watch(tmp_path_factory: pytest.TempPathFactory) -> None:
    asked = "from tests.crash.system_calls import refusal; print('skipped:', reason) if (reason := refusal()) else None"
    program("-c", asked, folder=tmp_path_factory.mktemp("watch"))


@pytest.mark.slow
def test_crashes_spread_over_commands_and_faults(tmp_path: Path) -> None:
    """`make torture` has the other ones."""
    journal = tmp_path / "journal"
    words = ("-m", "tests.crash", "--journal", str(journal), "--commands", "run;gc", "--most")
    assert program(*words, "14", folder=tmp_path)[-1] == "14 cases, 0 failed"
    lines = program(*words, "1", folder=tmp_path)
    assert [line for line in lines if line.startswith("14 cases are done")] != []
    assert lines[-1] == "15 cases, 0 failed"


@pytest.mark.parametrize(
    ("name", "answer", "code", "calls"),
    [
        ("none", "None", 3, ["openat a", "write a", "rename a b", "unlinkat b"]),
        ("unlinkat", str(errno.EIO), 4, ["openat a", "write a", "rename a b", "unlinkat b"]),
        ("unlinkat", "KILL", 250, ["openat a", "write a", "rename a b", "unlinkat b"]),
        ("write", "KILL", -9, ["openat a", "write a"]),
    ],
)
def test_calls_of_threads_and_other_programs(
    tmp_path: Path, name: str, answer: str, code: int, calls: Sequence[str]
) -> None:
    (tmp_path / "root").mkdir()
    words = ("-c", WATCHED, str(tmp_path / "root"), name, answer)
    assert program(*words, folder=tmp_path)[-1] == f"{code} {calls}"


@pytest.mark.parametrize(("kept", "left"), [(NOTHING, {"old": b"1", "synced": b"2"}),
                                            (NAMES, {"old": b"1", "renamed": b"2", "new": b""})])  # fmt: skip
def test_what_a_loss_of_power_leaves(tmp_path: Path, kept: str, left: dict[str, bytes]) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "old").write_text("1")
    disk = Disk.of(root)
    (root / "old").write_text("changed")
    (root / "synced").write_text("2")
    disk.sync(str(root / "synced"))
    disk.sync(str(root))
    (root / "synced").rename(root / "renamed")
    (root / "new").write_text("3")
    disk.lose_power(kept, 1)
    disk.close()
    assert {path.name: path.read_bytes() for path in root.iterdir()} == left
