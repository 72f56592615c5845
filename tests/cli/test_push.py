"""``odf push`` as a user starts it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import IO

import pytest

from tests.http_server import Server
from tests.manifests import push, snapshot
from tests.open_files import open_to_others
from tests.shared_engine import shared_engine

MANIFEST = snapshot(
    "scans",
    push('{kind: NdJson, schema: ["id BIGINT"]}'),
    push('{kind: Csv, schema: ["id BIGINT"]}', source="depot"),
)


Odf = Callable[..., str]


@pytest.fixture(scope="module")
def odf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Odf]:
    """Starts ``odf`` in a folder and returns its output."""

    def start(*arguments: object, code: int = 0, cwd: Path, stdin: IO[str] | None = None) -> str:
        command = [str(programs / "odf"), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, stdin=stdin)
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout if code == 0 else done.stdout + done.stderr

    with shared_engine(tmp_path_factory.mktemp("engine")) as programs:
        yield start


@pytest.fixture
def folder(odf: Odf, tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "scans.yaml").write_text(MANIFEST)
    (tmp_path / "1.ndjson").write_text('{"id": 1}\n{"id": 2}\n')
    odf("run", "scans.yaml", cwd=tmp_path)
    yield tmp_path
    assert open_to_others(tmp_path / "odf-store") == []


@pytest.mark.slow
@pytest.mark.spark
def test_files_standard_input_and_urls(odf: Odf, folder: Path, server: Server) -> None:
    assert odf("push", "scans", "1.ndjson", cwd=folder) == "scans: published 2 records (offsets 0..1)\n"
    with (folder / "1.ndjson").open() as given:
        assert odf("push", "scans", "-", "--push-id", "a", cwd=folder, stdin=given) == (
            "scans: published 2 records (offsets 2..3)\n"
        )
    (folder / "2.csv").write_text("3\n")
    url = server.serve("/4.csv", b"4\n")
    assert odf("push", "scans", "2.csv", f"{url}?sig=s3cr3t", "--source", "depot", cwd=folder) == (
        "scans: published 2 records (offsets 4..5)\n"
    )
    assert odf("push", "scans", "1.ndjson", "--push-id", "a", cwd=folder) == (
        "scans: up to date: the same content was already pushed (block 5)\n"
    )


@pytest.mark.spark
def test_a_file_of_another_format_says_what_is_wrong(odf: Odf, folder: Path) -> None:
    (folder / "2.csv").write_text("3\n")
    told = odf("push", "scans", "2.csv", code=2, cwd=folder)
    assert told.startswith(
        "scans: 2.csv: cannot tell whether the CSV has a header line, because the source reads NdJson: set the"
    )


def test_nothing_is_pushed_without_a_source_a_file_or_a_dataset(odf: Odf, folder: Path, server: Server) -> None:
    for arguments, code, message in [
        (("scans", "no.json"), 2, "scans: no.json: no such file, or a folder without files\n"),
        (("scans", "1.ndjson", "--source", "dpot"), 2, "scans: no push source 'dpot' (did you mean `depot`?)\n"),
        (("scan", "1.ndjson"), 2, "no dataset scan in"),
        (("scans", "-", "1.ndjson"), 2, "- (standard input) must be the only file"),
        (("scans", "1.ndjson", "--event-time", "soon"), 2, "Invalid value for --event-time"),
        (("scans", f"{server.url}/no?sig=s3cr3t", "-v"), 1, f"scans: {server.url}/no?***: not found (HTTP 404"),
    ]:
        told = odf("push", *arguments, code=code, cwd=folder)
        assert message in told
        assert "s3cr3t" not in told


def test_a_source_that_was_taken_out_of_the_manifest_is_refused(odf: Odf, folder: Path) -> None:
    text = MANIFEST[: MANIFEST.rindex("    - kind: AddPushSource")]
    (folder / "scans.yaml").write_text(dedent(text))
    odf("run", "scans.yaml", cwd=folder)
    told = odf("push", "scans", "1.ndjson", "--source", "depot", code=2, cwd=folder)
    assert told.startswith("scans: push source depot of scans was disabled at ")
    assert told.endswith("(block 3): restore its AddPushSource in the manifest to push again\n")
