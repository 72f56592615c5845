"""Large requests are answered by a JVM with both compilers."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_odf.protocol import RawQueryRequest
from airflow_provider_odf.runner.local import is_large


def test_data_of_128_mib_are_large(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.csv", "b.csv")]
    for file, size in zip(files, (100 << 20, 28 << 20), strict=True):
        with file.open("wb") as sparse:
            sparse.truncate(size)
    assert is_large(RawQueryRequest(tuple(map(str, files)), ""))
    assert is_large(RawQueryRequest((files[0].as_uri(), str(files[1])), ""))
    assert not is_large(RawQueryRequest((str(files[0]), str(tmp_path / "gone.csv"), "s3://bucket/a.csv"), ""))
