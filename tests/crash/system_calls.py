"""Calls of the operating system, stopped one by one before they are made: by processes of any language and all their
threads, in one order.

The kernel asks a listener about each call (``seccomp`` with user notifications, Linux 5.5), who lets it happen, answers
it with an error, or kills who made it. Needs neither rights nor programs. Unlike ``strace --inject``, which counts for
each thread and each kind of call apart, one number names one call.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

CALLS = {
    "write": ((1, 64), "f0"),
    "open": ((2, None), "p0"),
    "pwrite64": ((18, 68), "f0"),
    "writev": ((20, 66), "f0"),
    "sendfile": ((40, 71), "f0"),
    "flock": ((73, 32), "f0"),
    "fsync": ((74, 82), "f0"),
    "fdatasync": ((75, 83), "f0"),
    "truncate": ((76, 45), "p0"),
    "ftruncate": ((77, 46), "f0"),
    "rename": ((82, None), "p0 p1"),
    "mkdir": ((83, None), "p0"),
    "rmdir": ((84, None), "p0"),
    "creat": ((85, None), "p0"),
    "link": ((86, None), "p0 p1"),
    "unlink": ((87, None), "p0"),
    "symlink": ((88, None), "p1"),
    "chmod": ((90, None), "p0"),
    "fchmod": ((91, 52), "f0"),
    "openat": ((257, 56), "d0p1"),
    "mkdirat": ((258, 34), "d0p1"),
    "unlinkat": ((263, 35), "d0p1"),
    "renameat": ((264, 38), "d0p1 d2p3"),
    "linkat": ((265, 37), "d0p1 d2p3"),
    "symlinkat": ((266, 36), "d1p2"),
    "fchmodat": ((268, 53), "d0p1"),
    "utimensat": ((280, 88), "d0p1"),
    "fallocate": ((285, 47), "f0"),
    "renameat2": ((316, 276), "d0p1 d2p3"),
    "copy_file_range": ((326, 285), "f2"),
}
"""Numbers of calls that change or open files, on x86-64 and on 64-bit ARM, and which of their arguments are descriptors
(f), paths (p), and folders of paths (d)."""
OPENS, SYNCS = ("open", "openat", "creat"), ("fsync", "fdatasync")
KILL = -1

_ARCHITECTURE = {"x86_64": 0, "aarch64": 1}.get(platform.machine())
_NAMES = {numbers[_ARCHITECTURE]: name for name, (numbers, _) in CALLS.items()} if _ARCHITECTURE is not None else {}
_SECCOMP = (317, 277)[_ARCHITECTURE or 0]
_PATIENCE = 30.0
_NO_NEW_PRIVILEGES, _REAPER, _SET_FILTER, _NEW_LISTENER = 38, 36, 1, 8
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1
_FLAGS = {"open": 1, "openat": 2}
"""Which of their arguments says what a file is opened for."""
_AT_FDCWD = -100
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Call:
    """A call on files below a folder, whose process waits."""

    name: str
    paths: tuple[str, ...]
    pid: int
    descriptor: int | None
    """Descriptor of the file, None for a call with paths."""
    changes: bool
    """Whether it is more than an open for reading."""

    def __str__(self) -> str:
        return f"{self.name if self.changes else 'open for reading'} {' '.join(self.paths)}"


def refusal() -> str | None:
    """Return why calls cannot be stopped here, or None if they can."""
    if _ARCHITECTURE is None:
        return f"the numbers of calls on {platform.machine()} are not known"
    try:
        watch(lambda: 0, Path("/nowhere"), lambda _: None)
    except OSError as e:
        return f"no process may be watched here: {e}"
    return None


def watch(run: Callable[[], int], root: Path, answer: Callable[[Call], int | None]) -> int:
    """Run a function in a fork of this process, which must have no threads, and return its exit code, or minus the
    signal that ended it. It and all processes that it starts wait at each call on files below a folder.

    :param answer: returns None to let a call happen, the number of an error, or `KILL` to kill the process instead.
    :raises OSError: the kernel, or a container, does not allow it.
    :raises ChildProcessError: processes that it started live half a minute longer than it.
    """
    _libc.prctl(_REAPER, 1, 0, 0, 0)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        if (pid := os.fork()) == 0:
            _install(theirs)
            os._exit(run())
        _, listeners, _, _ = socket.recv_fds(ours, 1, 1)
    if not listeners:
        os.waitpid(pid, 0)
        raise OSError("seccomp refuses filters with a listener")
    ends: dict[int, int] = {}
    try:
        for notice in _notices(listeners[0], pid, ends):
            identity, _, _ = struct.unpack_from("QII", notice)
            call = _call(notice, str(root))
            error = answer(call) if call is not None else None
            if error == KILL and call is not None:
                os.kill(call.pid, signal.SIGKILL)
                continue
            reply = struct.pack("QqiI", identity, 0, -error if error else 0, 0 if error else _CONTINUE)
            with suppress(FileNotFoundError):  # its process is dead
                fcntl.ioctl(listeners[0], _SEND, reply)
    finally:
        os.close(listeners[0])
        kill_all(ends)
    return os.waitstatus_to_exitcode(ends[pid])


def kill_all(ends: dict[int, int]) -> None:
    """Kill all processes that this one has started, and those that these have."""
    while children := psutil.Process().children(recursive=True):
        for child in children:
            with suppress(psutil.NoSuchProcess):
                os.kill(child.pid, signal.SIGKILL)
        _reap(ends)


def _notices(listener: int, pid: int, ends: dict[int, int]) -> Iterator[bytearray]:
    """Yield what the kernel asks until all processes have ended."""
    poll, deadline = select.poll(), float("inf")
    poll.register(listener, select.POLLIN)
    while True:
        events = dict(poll.poll(10)).get(listener, 0)
        if events & select.POLLIN:
            notice = bytearray(80)
            with suppress(FileNotFoundError, InterruptedError):  # its process is dead
                fcntl.ioctl(listener, _RECEIVE, notice, True)
                yield notice
            continue
        if events & select.POLLHUP:
            break
        _reap(ends)
        if pid in ends and deadline == float("inf"):
            deadline = time.monotonic() + _PATIENCE
        if time.monotonic() > deadline:
            left = [" ".join(child.cmdline()) for child in psutil.Process().children(recursive=True)]
            raise ChildProcessError(f"processes live on after the command: {left}")
    _reap(ends)


def _reap(ends: dict[int, int]) -> None:
    with suppress(ChildProcessError):
        while (end := os.waitpid(-1, os.WNOHANG))[0]:
            ends[end[0]] = end[1]


def _call(notice: bytearray, root: str) -> Call | None:
    """Return the call that a notice is about, or None if its files are elsewhere."""
    (tid,) = struct.unpack_from("8xI", notice)
    (number,) = struct.unpack_from("16xi", notice)
    arguments = struct.unpack_from("32x6Q", notice)
    name = _NAMES[number]
    places = CALLS[name][1].split()
    with suppress(OSError):
        paths = [_path(tid, place, arguments) for place in places]
        below = [path.removeprefix(root).lstrip("/") for path in paths if f"{path}/".startswith(f"{root}/")]
        if below:
            descriptor = arguments[0] & 0xFFFFFFFF if places == ["f0"] else None
            flags = arguments[_FLAGS[name]] if name in _FLAGS else _WRITING
            return Call(name, tuple(below), tid, descriptor, bool(flags & _WRITING))
    return None


def _path(tid: int, place: str, arguments: tuple[int, ...]) -> str:
    """Return the absolute path of a file that a call names, without a look at what it is."""
    values = {place[at]: arguments[int(place[at + 1])] for at in range(0, len(place), 2)}
    if "f" in values:
        return os.readlink(f"/proc/{tid}/fd/{values['f'] & 0xFFFFFFFF}")
    with open(f"/proc/{tid}/mem", "rb", buffering=0) as memory:
        text = os.pread(memory.fileno(), 4096, values["p"]).partition(b"\0")[0].decode("utf-8", "replace")
    if text.startswith("/"):
        return os.path.normpath(text)
    folder = ctypes.c_int(values.get("d", _AT_FDCWD) & 0xFFFFFFFF).value
    base = os.readlink(f"/proc/{tid}/cwd" if folder == _AT_FDCWD else f"/proc/{tid}/fd/{folder}")
    return os.path.normpath(os.path.join(base, text))


def _install(channel: socket.socket) -> None:
    """Have the kernel ask about the calls of this process, and send the listener; nothing where it refuses."""
    load = struct.pack("HBBI", 0x20, 0, 0, 0)
    tests = [struct.pack("HBBI", 0x15, 0, 1, n) + struct.pack("HBBI", 0x06, 0, 0, _NOTIFY) for n in _NAMES if n]
    program = load + b"".join(tests) + struct.pack("HBBI", 0x06, 0, 0, _ALLOW)
    kept = ctypes.create_string_buffer(program, len(program))
    filter_ = ctypes.create_string_buffer(struct.pack("H6xQ", len(program) // 8, ctypes.addressof(kept)))
    _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    listener = _libc.syscall(_SECCOMP, _SET_FILTER, _NEW_LISTENER, filter_)
    socket.send_fds(channel, [b"x"], [listener] if listener >= 0 else [])
    if listener >= 0:
        os.close(listener)
