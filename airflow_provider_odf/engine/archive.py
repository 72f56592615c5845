"""The class-data archive (AppCDS) of the driver JVM. It nearly halves the start of the JVM.

There is one archive for each version of Java and Spark. ``options`` uses it, and ``start_making`` creates it in another
process at low priority. ``ODF_CLASS_ARCHIVE=off`` disables both. ``ODF_CACHE_DIR`` sets the directory of the archive,
by default ``~/.cache/airflow-provider-odf``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from airflow_provider_odf.closed_files import user_cache

QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")
_STALE_SECONDS = 86_400


def options(java: str) -> tuple[str, ...]:
    """Return the JVM options that use the archive of this Java and Spark, or none if the archive does not exist."""
    if not is_wanted():
        return ()
    path = _path(java)
    # Xshare stays auto: the JVM ignores an archive that does not fit. Comparing the checksum takes 0.08 s.
    return (f"-XX:SharedArchiveFile={path}", "-XX:+VerifySharedSpaces", *QUIET) if path.exists() else ()


def start_making(java: str) -> bool:
    """Start a process that creates the archive and outlives this one.

    Return False if the archive exists, is being created or is disabled. A shell starts the process, so that this
    process has no child to wait for.
    """
    if not is_wanted() or _path(java).exists():
        return False
    try:
        _path(java).parent.mkdir(parents=True, exist_ok=True)
        if not _lock(_path(java)):
            return False
        subprocess.run(
            [
                "/bin/sh",
                "-c",
                '"$@" &',
                "sh",
                sys.executable,
                "-m",
                "airflow_provider_odf.engine.archive_training",
                java,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=Path(__file__).parents[2],
            check=False,
        )
    except OSError:  # A missing cache is no failure: read-only home, full disk.
        return False
    return True


def make(java: str, load_classes: Callable[[Sequence[str], Path], None]) -> Path:
    """Create the archive and return its path.

    :param load_classes: runs a JVM with the given options until it has loaded the classes that merges need. It may
        write files into the directory.
    """
    path = _path(java)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="making-") as work:
        new = Path(work, "classes.jsa")
        load_classes((f"-XX:ArchiveClassesAtExit={new}", *QUIET), Path(work))
        new.rename(path)
    path.with_suffix(".lock").unlink(missing_ok=True)
    return path


def is_wanted() -> bool:
    """Whether the archive is not switched off."""
    return os.environ.get("ODF_CLASS_ARCHIVE", "on").lower() not in ("off", "0", "false", "no")


def _path(java: str) -> Path:
    return user_cache() / f"classes-{_fingerprint(java)}.jsa"


def _fingerprint(java: str) -> str:
    """Return a text that changes with the Java runtime and with Spark's jars."""
    binary = os.path.realpath(java)
    spec = importlib.util.find_spec("pyspark")
    jars = os.path.join(os.path.dirname(spec.origin or ""), "jars") if spec else ""
    stamps = [f"{place}:{os.stat(place).st_mtime_ns}:{os.stat(place).st_size}" for place in (binary, jars) if place]
    return hashlib.sha256("|".join(stamps).encode()).hexdigest()[:16]


def _lock(path: Path) -> bool:
    """Whether this process may create the archive: no other process started within the last day."""
    lock = path.with_suffix(".lock")
    if lock.exists() and time.time() - lock.stat().st_mtime > _STALE_SECONDS:
        lock.unlink(missing_ok=True)
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
