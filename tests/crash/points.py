"""A command that is stopped at one call, and all that must be true afterwards."""

from __future__ import annotations

import atexit
import errno
import os
import pickle
import re
import shutil
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import TypeVar

from airflow_provider_odf import cli
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.store import Store

from .commands import FILES, Command
from .power_loss import NAMES, NOTHING, SOME, Disk
from .system_calls import KILL, OPENS, SYNCS, Call, watch

T = TypeVar("T")

KILLED, KILL_AND_POWER = "kill", "kill, run, power loss"
POWER = {f"power loss, keeps {kept}": kept for kept in (NOTHING, NAMES, SOME)}
ERRORS = {name: getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE")}
FAULTS = (KILLED, KILL_AND_POWER, *POWER, *ERRORS)
LASTING = ("ENOSPC", "EDQUOT", "EROFS")
"""Errors that all later calls get too: the disk stays full, and the file system read-only."""
_HASHES, _TIME = re.compile("f1620[0-9a-f]{64}|[0-9a-f]{16}"), re.compile(r"\d{8}T\d{6}\.\d{9}Z\.")
_NEEDS_NO_SPACE = (
    "flock",
    "fsync",
    "fdatasync",
    "rmdir",
    "unlink",
    "unlinkat",
    "chmod",
    "fchmod",
    "fchmodat",
    "utimensat",
)


class PowerLost(Exception):
    """Ends a watch."""


@dataclass(frozen=True)
class Ran:
    """How a command ended: its exit code, or minus the signal that killed it, and what it printed."""

    code: int
    printed: str


def is_refused(fault: str, call: Call) -> bool:
    """Whether a call can end with an error."""
    if fault == "EIO":
        return True
    if fault == "EMFILE":
        return call.name in OPENS
    return call.changes and (call.name != "flock" if fault == "EROFS" else call.name not in _NEEDS_NO_SPACE)


class Bench:
    """A folder in which one command is stopped again and again; the current folder of this process.

    ``before`` and ``after`` are the histories before the command, and after one that nothing stopped; ``calls`` are
    those that it made.
    """

    def __init__(self, command: Command) -> None:
        self.command, self.met = command, ""
        self.state, self.base = Path("state").absolute(), Path("base").absolute()
        for name, text in FILES.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(text)
        (self.state / "tmp").mkdir(parents=True)
        self.output = Path("output").absolute()
        os.environ |= {"TMPDIR": str(self.state / "tmp"), "ODF_CACHE_DIR": str(Path("cache").absolute())}
        in_child(lambda: command.prepare(self.odf))
        self.state.rename(self.base)
        self._restore()
        self._import_modules()
        self._restore()
        self.before = self._histories()
        self.calls: list[Call] = []
        reference = self._watched(self.calls.append)
        assert reference.code == 0, reference
        self.after = self._histories()
        self._again("the second run", (command.code_again,))
        self._collect()
        self.files = self._files()

    def numbers(self, fault: str) -> list[int]:
        """Return the numbers of the calls at which a fault is of use; the last one is the end of the command."""
        if fault in ERRORS:
            return [number for number, call in enumerate(self.calls, 1) if is_refused(fault, call)]
        changes = [number for number, call in enumerate(self.calls, 1) if call.changes]
        return changes if fault == KILLED else [*changes, len(self.calls) + 1]

    def check(self, fault: str, number: int) -> None:
        """Make one fault, and run the command again; ``met`` is then the call that the fault met.

        :raises AssertionError: something is not as promised.
        """
        self._restore()
        disk = Disk.of(self.state)
        try:
            ran = self._disturbed(fault, number, disk)
            if fault == KILL_AND_POWER:
                ran = self._watched(lambda call: _sync(disk, call))
                assert ran.code in (0, self.command.code_again), f"the next run: {ran}"
            if fault in POWER or fault == KILL_AND_POWER:
                disk.lose_power(POWER.get(fault, NOTHING), number)
        finally:
            disk.close()
        self._look(ran, is_error=fault in ERRORS)
        self._again("the next run", (0, self.command.code_again))
        self._again("the third run", (self.command.code_again,))
        self._collect()
        self._compare_files()

    def _disturbed(self, fault: str, number: int, disk: Disk) -> Ran:
        """Run the command with a fault at a call, and record on the disk what it syncs."""
        numbers, self.met = count(1), "the end"

        def answer(call: Call) -> int | None:
            now = next(numbers)
            if now == number:
                self.met = str(call)
            if fault in ERRORS:
                is_due = now >= number if fault in LASTING else now == number
                return ERRORS[fault] if is_due and is_refused(fault, call) else None
            if now == number and fault in POWER:
                raise PowerLost
            return KILL if now == number else _sync(disk, call)

        try:
            return self._watched(answer)
        except PowerLost:
            return Ran(-9, "")

    def odf(self, *words: str, code: int | None = 0) -> Ran:
        """Run a command in a fork; its exit code must be the given one, unless that is None."""
        ran = self._ran(lambda run: os.waitstatus_to_exitcode(_wait(run)), words)
        assert code in (None, ran.code), f"odf {' '.join(words)}: {ran}"
        return ran

    def _watched(self, answer: Callable[[Call], int | None]) -> Ran:
        return self._ran(lambda run: watch(run, self.state, answer), self.command.words)

    def _ran(self, start: Callable[[Callable[[], int]], int], words: tuple[str, ...]) -> Ran:
        self.output.write_bytes(b"")
        code = start(lambda: _main(words, self.output))
        return Ran(code, self.output.read_text())

    def _import_modules(self) -> None:
        """Import what the command imports, so that its forks need not. Arrow and OpenBLAS can be forked."""
        for name in in_child(lambda: (_main(self.command.words, self.output), [*sys.modules])[1]):
            if name != "__mp_main__":
                with suppress(ImportError):
                    import_module(name)

    def _restore(self) -> None:
        shutil.rmtree(self.state, ignore_errors=True)
        shutil.copytree(self.base, self.state, symlinks=True)

    def _look(self, ran: Ran, *, is_error: bool) -> None:
        """Look at the stores as a reader who comes after a fault does."""
        assert "Traceback" not in ran.printed, ran.printed
        assert "bug of the provider" not in ran.printed, ran.printed
        assert ran.code in ((0, 1) if is_error else (0, 1, -9, self.command.code_again)), ran
        assert ran.code != 1 or ran.printed.strip(), "no error is printed"
        now = self._histories()
        for name in {*self.before, *now}:
            before, mine, after = (h.get(name, []) for h in (self.before, now, self.after))
            is_between = mine[: len(before)] == before and after[: len(mine)] == mine
            assert mine in (before, after) or is_between, f"{name} has {mine} between {before} and {after}"
        assert ran.code != 0 or now == self.after, f"{ran}: {now} instead of {self.after}"
        for store in self._stores():
            self.odf("list", "--store", store)
        self._verify("--quick")
        for name, blocks in now.items():
            if len(blocks) > 3 and "report" not in name:  # has data
                store, dataset = name.rsplit("/", 1)
                self.odf("tail", dataset, "--store", store)

    def _again(self, what: str, codes: tuple[int, ...]) -> None:
        ran = self.odf(*self.command.words, code=None)
        assert ran.code in codes, f"{what}: {ran}"
        now = self._histories()
        assert now == self.after, f"{what}: {now} instead of {self.after}"

    def _collect(self) -> None:
        for store in self._stores():
            collect = ("gc", "--idle", "--older-than", "0", "--store", store)
            self.odf(*collect, "--delete")
            ran = self.odf(*collect)
            assert ran.printed == "0 items, 0 bytes: nothing to remove\n", ran.printed
        self._verify()

    def _verify(self, *options: str) -> None:
        for name in self._histories():
            store, dataset = name.rsplit("/", 1)
            self.odf("verify", dataset, "--store", store, *options)

    def _stores(self) -> list[str]:
        return [f"state/{name}" for name in ("store", "copies") if Path(f"state/{name}").exists()]

    def _histories(self) -> dict[str, list[str]]:
        """Return the blocks of all datasets, oldest first."""

        def histories() -> dict[str, list[str]]:
            found = [(store, d) for store in self._stores() for d in Store.open(store).datasets()]
            return {f"{store}/{d.alias}": [*self._blocks(d)][::-1] for store, d in found}

        return in_child(histories)

    def _blocks(self, dataset: Dataset) -> Iterator[str]:
        for block_hash, block in dataset.walk():
            new = getattr(block.event, "new_data", None)
            kind = f"{block.event.kind} {new.offset_interval if new else ''}"
            yield block_hash if self.command.has_fixed_blocks else kind

    def _files(self) -> list[str]:
        """Return the names of all files but caches, without hashes and times."""
        files = (path for path in self.state.glob("[!t]*/**/*") if path.is_file() and ".cache" not in path.parts)
        # A command that was killed may leave the record of a publication, which that of the next run follows.
        names = {_TIME.sub("", str(path.relative_to(self.state))) for path in files}
        return sorted(_HASHES.sub("*", name) for name in names)

    def _compare_files(self) -> None:
        files = self._files()
        left, gone = list(files), list(self.files)
        for name in files:
            if name in gone:
                gone.remove(name)
                left.remove(name)
        assert (left, gone) == ([], []), f"left over: {left}; missing: {gone}"


def _sync(disk: Disk, call: Call) -> None:
    if call.name in SYNCS:
        with suppress(FileNotFoundError):  # its process was ended meanwhile, and so was the call
            disk.sync(f"/proc/{call.pid}/fd/{call.descriptor}")


def in_child(function: Callable[[], T]) -> T:
    """Return what a function returns in a fork of this process, which stays without threads.

    :raises AssertionError: it failed; the message has its traceback.
    """
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            answer = (True, function())
        except BaseException:
            answer = (False, traceback.format_exc())
        with open(writing, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        is_done, result = pickle.load(pipe)
    os.waitpid(pid, 0)
    assert is_done, result
    return result


def _wait(run: Callable[[], int]) -> int:
    if (pid := os.fork()) == 0:
        os._exit(run())
    return os.waitpid(pid, 0)[1]


def _main(words: tuple[str, ...], output: Path) -> int:
    """Run the tool as this process, to its very end, and return its exit code."""
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.stdout, sys.stderr = (os.fdopen(n, "w", 1, closefd=False) for n in (1, 2))
    sys.argv = ["odf", *words]
    code: object = 0
    try:
        cli.main()
    except SystemExit as e:
        code = e.code
    except BaseException:
        traceback.print_exc()
        code = 70
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    return code if isinstance(code, int) else int(code is not None)
