"""What a loss of power leaves of a folder: what was synced, and of all else as little as POSIX allows, or some.

A file system must keep the content that a file had when it was synced, and the names that a folder had when it was
synced. Of a name without its content an empty file is left.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
from dataclasses import dataclass, field
from pathlib import Path

NOTHING, NAMES, SOME = "nothing else", "names", "some"
"""What stays that was not synced: nothing; all names, without their contents, as after a rename of a file that was not
synced; any of both."""


@dataclass
class Disk:
    """The synced content of files and names of folders, by inode."""

    root: Path
    contents: dict[int, bytes] = field(default_factory=dict)
    names: dict[int, dict[str, int]] = field(default_factory=dict)
    _held: dict[int, int] = field(default_factory=dict)
    """Open descriptors of all inodes above, so that no new file gets the number of one that was removed."""

    @classmethod
    def of(cls, root: Path) -> Disk:
        """Return the disk of a folder of which everything is synced."""
        disk = cls(root)
        for folder, _, files in os.walk(root):
            for path in (folder, *(os.path.join(folder, name) for name in files)):
                disk.sync(path)
        return disk

    def sync(self, path: str) -> None:
        """Sync a file or folder, which may be one of ``/proc/PID/fd``."""
        descriptor = os.open(path, os.O_RDONLY)
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            self.names[status.st_ino] = _names(descriptor)
        else:
            with open(descriptor, "rb", closefd=False) as file:
                self.contents[status.st_ino] = file.read()
        if self._held.setdefault(status.st_ino, descriptor) != descriptor:
            os.close(descriptor)

    def lose_power(self, kept: str, seed: int) -> None:
        """Leave of the folder what was synced, and what is kept of the rest; ``seed`` decides on `SOME`."""
        chance = random.Random(seed)
        now: dict[int, dict[str, int]] = {}
        contents: dict[int, bytes] = {}
        times: dict[int, int] = {}
        for folder, _, files in os.walk(self.root):
            now[os.stat(folder).st_ino] = _names(folder)
            for path in (os.path.join(folder, name) for name in files):
                status = os.stat(path)
                contents[status.st_ino], times[status.st_ino] = Path(path).read_bytes(), status.st_mtime_ns

        def of(synced: dict[str, int], current: dict[str, int]) -> dict[str, int]:
            if kept != SOME:
                return current if kept == NAMES else synced
            both = {name: chance.choice((synced.get(name), current.get(name))) for name in sorted({*synced, *current})}
            return {name: inode for name, inode in both.items() if inode is not None}

        def write(inode: int, path: Path) -> None:
            if inode in self.names or inode in now:
                path.mkdir()
                for name, entry in of(self.names.get(inode, {}), now.get(inode, {})).items():
                    write(entry, path / name)
                return
            synced = self.contents.get(inode, b"")
            current = contents.get(inode, synced)  # a name that was removed may come back with all that it had
            is_any = kept == SOME and current != synced
            path.write_bytes(chance.choice((synced, current, current[: len(current) // 2])) if is_any else synced)
            if inode in times and path.stat().st_size == len(current):
                os.utime(path, ns=(times[inode], times[inode]))

        root, left = self.root.stat().st_ino, self.root.with_name("left")
        write(root, left)
        shutil.rmtree(self.root)
        left.rename(self.root)

    def close(self) -> None:
        for descriptor in self._held.values():
            os.close(descriptor)


def _names(folder: str | int) -> dict[str, int]:
    with os.scandir(folder) as entries:
        return {entry.name: entry.inode() for entry in entries}
