"""Rows of the result, and the one table they make."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.measure import Run


@dataclass(frozen=True)
class Row:
    """A subject of a case. ``seconds`` and ``cpu`` are medians; ``ratio`` and ``cpu_ratio`` are to
    the subject that ``to`` names, each the median of the ratios within a repetition."""

    case: str
    subject: str
    seconds: float
    fastest: float
    slowest: float
    cpu: float
    peak_mib: float
    jvms: int
    to: str = ""
    ratio: float | None = None
    cpu_ratio: float | None = None
    note: str = ""


def row(case: str, subject: str, runs: Sequence[Run], to: str = "", than: Sequence[Run] = (), note: str = "") -> Row:
    """The row of a subject's runs, compared with those of another."""
    seconds = [run.seconds for run in runs]
    return Row(
        case=case,
        subject=subject,
        seconds=statistics.median(seconds),
        fastest=min(seconds),
        slowest=max(seconds),
        cpu=statistics.median(run.cpu for run in runs),
        peak_mib=max(run.peak_mib for run in runs),
        jvms=max(run.jvms for run in runs),
        to=to,
        ratio=statistics.median(a.seconds / b.seconds for a, b in zip(runs, than, strict=True)) if than else None,
        cpu_ratio=statistics.median(a.cpu / b.cpu for a, b in zip(runs, than, strict=True) if b.cpu) if than else None,
        note=note,
    )


def table(rows: Iterable[Row]) -> Table:
    made = Table(title=machine(), title_justify="left", caption_justify="left")
    for name in ("case", "subject"):
        made.add_column(name)
    for name in ("seconds", "from-to", "CPU s", "ratio", "CPU ratio", "peak MiB", "JVMs"):
        made.add_column(name, justify="right")
    made.add_column("ratio to")
    made.add_column("note")
    last = ""
    for r in rows:
        if last and r.case != last:
            made.add_section()
        made.add_row(r.case if r.case != last else "", *_cells(r))
        last = r.case
    return made


def _cells(r: Row) -> list[str]:
    return [
        r.subject,
        _seconds(r.seconds),
        f"{_seconds(r.fastest)}-{_seconds(r.slowest)}",
        _seconds(r.cpu),
        f"{r.ratio:.2f}" if r.ratio else "",
        f"{r.cpu_ratio:.2f}" if r.cpu_ratio else "",
        f"{r.peak_mib:.0f}" if r.peak_mib else "",
        str(r.jvms) if r.peak_mib else "",
        r.to,
        r.note,
    ]


def _seconds(value: float) -> str:
    return f"{value:.4f}" if value < 0.1 else f"{value:.2f}"


def show(rows: Sequence[Row], *, as_json: bool) -> None:
    """Print the rows: a table, or one JSON object with the machine."""
    if as_json:
        print(json.dumps({"machine": machine(), "rows": [dataclasses.asdict(r) for r in rows]}, indent=1))
        return
    console = Console()
    console.width = max(console.width, 160)
    console.print(table(rows))


def machine() -> str:
    """What the numbers were measured on, the load of the last minutes included."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine()
    )
    memory = psutil.virtual_memory().total / 2**30
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    return f"{os.cpu_count()} x {model}, {memory:.0f} GiB, Python {platform.python_version()}, load average {load}"
