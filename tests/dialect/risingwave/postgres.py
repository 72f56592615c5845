"""A PostgreSQL that lasts as long as a test module, on a socket of its own."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_DEBIAN = Path("/usr/lib/postgresql")
_SEPARATOR = "--next--"


def programs() -> Path | None:
    """The folder of ``initdb`` and ``pg_ctl``: that of the PATH, else Debian's newest, which is not on the PATH."""
    if on_path := shutil.which("initdb"):
        return Path(on_path).resolve().parent
    versions = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return versions[-1].parent if versions else None


@dataclass(frozen=True)
class Postgres:
    programs: Path
    folder: Path

    def run(self, program: str, *arguments: str, text: str = "") -> str:
        """What a program prints. PostgreSQL does not start as root: then ``nobody`` runs it."""
        user = "nobody" if os.geteuid() == 0 else None
        command = [str(self.programs / program), *arguments]
        environment = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": os.environ["PATH"]}
        done = subprocess.run(
            command, input=text, check=True, text=True, cwd=self.folder, env=environment, user=user,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return done.stdout

    def answers(self, preparation: str, queries: Sequence[str]) -> list[object]:
        """The JSON value of each query, or PostgreSQL's message where it refuses or stops one."""
        script = "\n".join([preparation, *(f"\\echo {_SEPARATOR}\n{query};" for query in queries)])
        options = ["-h", str(self.folder), "-d", "postgres", "-U", "tests", "-X", "-q", "-A", "-t"]
        preparing, *answers = self.run("psql", *options, text=script).split(f"{_SEPARATOR}\n")
        if preparing:
            raise AssertionError(preparing)
        return [answer if answer.startswith("ERROR") else json.loads(answer) for answer in answers]


@contextlib.contextmanager
def running(folder_of_programs: Path, options: str = "-c listen_addresses=") -> Iterator[Postgres]:
    """A server with an empty database ``postgres``, which is removed afterwards."""
    # The temporary folders of pytest are closed to other users.
    with tempfile.TemporaryDirectory(prefix="odf-postgres-") as folder:
        if os.geteuid() == 0:
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        postgres = Postgres(folder_of_programs, Path(folder))
        data = str(postgres.folder / "data")
        postgres.run("initdb", "-D", data, "-U", "tests", "-A", "trust", "-E", "UTF8", "--no-sync")
        log = str(postgres.folder / "log")
        postgres.run("pg_ctl", "-D", data, "-w", "-l", log, "-o", f"{options} -k {folder}", "start")
        try:
            yield postgres
        finally:
            postgres.run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
