"""Paths of the Spark applications and of the code that they import."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).parent.parent

ENGINE_MODULES = (
    *(
        "__init__.py",
        "clauses.py",
        "closed_files.py",
        "column_rules.py",
        "error_conversion.py",
        "errors.py",
        "ethereum_events.py",
        "file_status.py",
        "fsync.py",
        "instant.py",
        "merge_strategies.py",
    ),
    *("multiformats.py", "object_stores.py", "read_steps.py", "run_functions.py", "time_limits.py"),
    *("version.py", "without_pandas.py", "wording.py"),
)
ENGINE_PACKAGES = ("datafusion", "engine", "protocol", "records")
"""Code of an engine."""

_EPOCH = (1980, 1, 1, 0, 0, 0)


def application(name: str) -> Path:
    """Return the main file of a Spark application: in an installed package, or beside the package in a checkout."""
    installed = PACKAGE / "_spark_apps" / name
    return installed if installed.exists() else PACKAGE.parent / "spark_apps" / name


def bundle(directory: Path) -> Path:
    """Write a zip of the engine for ``--py-files`` and return its path. Its name and bytes only depend on the code.

    Spark does not import from wheels.
    """
    files = [PACKAGE / name for name in ENGINE_MODULES]
    files += [file for name in ENGINE_PACKAGES for file in sorted((PACKAGE / name).rglob("*.py"))]
    content = _zip(files)
    path = directory / f"odf-{hashlib.sha256(content).hexdigest()[:16]}.zip"
    path.write_bytes(content)
    return path


def _zip(files: list[Path]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(files):
            name = file.relative_to(PACKAGE.parent).as_posix()
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), file.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
