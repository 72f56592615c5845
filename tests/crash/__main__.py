"""Stop commands of the tool at every call of the operating system, and check what is left: `make torture` in hours.

The journal has what was done, and is not done again; what failed is."""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from airflow_provider_odf.without_pandas import leave_out_pandas

from .commands import COMMANDS
from .points import FAULTS, Bench
from .system_calls import refusal

Case = tuple[str, str, int]
"""A command, a fault, and the number of the call."""


def main() -> int:
    options = _options()
    if (reason := refusal()) is not None:
        print(f"skipped: {reason}")
        return 0
    journal = Path(options.journal).absolute()
    journal.parent.mkdir(parents=True, exist_ok=True)
    leave_out_pandas()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"seed {options.seed}, journal {journal}", flush=True)
    folder = tempfile.mkdtemp(prefix="odf-crash-")  # no TemporaryDirectory, whose forks would remove it at their end
    try:
        benches = {name: _bench(Path(folder, str(number)), name) for number, name in enumerate(options.commands)}
        done = {case for case, entry in _entries(journal).items() if entry["failure"] is None}
        left = [case for case in _cases(benches, options.faults, options.seed) if case not in done]
        print(f"{len(done)} cases are done, {len(left)} are left")
        for name, fault, number in left[: options.most]:
            _enter(Path(folder, str(options.commands.index(name))))
            _append(journal, _check(benches[name], name, fault, number))
    except KeyboardInterrupt:
        print("interrupted: the next start goes on")
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    return _summary([*_entries(journal).values()])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--journal", default="build/torture/crashes.jsonl", help="file of the cases that are done")
    parser.add_argument("--commands", type=lambda text: text.split(";"), default=list(COMMANDS), help="separated by ;")
    parser.add_argument("--faults", type=lambda text: text.split(";"), default=list(FAULTS), help="separated by ;")
    parser.add_argument("--fast", action="store_true", help="only commands without a JVM")
    parser.add_argument("--most", type=int, help="number of cases of this run")
    parser.add_argument("--seed", type=int, default=1, help="order of the cases")
    options = parser.parse_args()
    options.commands = [name for name in options.commands if not (options.fast and COMMANDS[name].is_slow)]
    return options


def _bench(folder: Path, name: str) -> Bench:
    folder.mkdir()
    _enter(folder)
    bench = Bench(COMMANDS[name])
    print(f"{name}: {len(bench.calls)} calls", flush=True)
    return bench


def _enter(folder: Path) -> None:
    os.chdir(folder)
    os.environ |= {"TMPDIR": str(folder / "state/tmp"), "ODF_CACHE_DIR": str(folder / "cache")}
    tempfile.tempdir = None


def _cases(benches: dict[str, Bench], faults: Sequence[str], seed: int) -> Iterator[Case]:
    """Yield all cases, so that the first ones are of all commands and faults, and spread over their calls."""
    chance = random.Random(seed)
    groups = {(name, fault): bench.numbers(fault) for name, bench in benches.items() for fault in faults}
    for numbers in groups.values():
        chance.shuffle(numbers)
    order = list(groups)
    chance.shuffle(order)
    while any(groups.values()):
        yield from ((name, fault, groups[name, fault].pop()) for name, fault in order if groups[name, fault])


def _check(bench: Bench, name: str, fault: str, number: int) -> dict[str, Any]:
    began, failure = time.monotonic(), None
    try:
        bench.check(fault, number)
    except (AssertionError, ChildProcessError) as e:
        failure = str(e)
        print(f"{name}, {fault} at {number}, {bench.met}: {failure}", flush=True)
    seconds = round(time.monotonic() - began, 2)
    case = {"command": name, "fault": fault, "number": number, "call": bench.met}
    return {**case, "seconds": seconds, "failure": failure}


def _entries(journal: Path) -> dict[Case, dict[str, Any]]:
    """Return the newest entry of each case; one that failed is run again."""
    entries = map(json.loads, journal.read_text().splitlines()) if journal.exists() else ()
    return {(entry["command"], entry["fault"], entry["number"]): entry for entry in entries}


def _append(journal: Path, entry: dict[str, Any]) -> None:
    with journal.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def _summary(entries: Sequence[dict[str, Any]]) -> int:
    """Print how many cases were run, by command and fault, and how many failed."""
    for key in ("command", "fault"):
        for value in dict.fromkeys(entry[key] for entry in entries):
            own = [entry for entry in entries if entry[key] == value]
            failed, seconds = sum(e["failure"] is not None for e in own), sum(e["seconds"] for e in own)
            print(f"{value:34} {len(own):6} cases {failed:4} failed {seconds / len(own):6.1f} s each")
    failures = [entry for entry in entries if entry["failure"] is not None]
    print(f"{len(entries)} cases, {len(failures)} failed")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
