"""Prepare steps: real archives, real programs."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import io
import os
import shutil
import time
import zipfile

import pytest

from airflow_provider_odf.errors import InvalidInput, SourceError
from airflow_provider_odf.manifest import model

GZIP = model.PrepStepDecompress(format="Gzip")
MIB = 1 << 20


def zipped(entries: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def unzip(sub_path=None):
    return model.PrepStepDecompress(format="Zip", sub_path=sub_path)


@pytest.fixture
def polled(poller):
    """The files that a poll makes of some content."""

    def run(content, *prepare, **options):
        (poller.base / "in").write_bytes(content)
        os.utime(poller.base / "in", (1714651200, 1714651200))  # what was just written is waited for
        found = poller.url("in", *prepare, options=dataclasses.replace(poller.options, **options))
        return [path.read_bytes() for path in found.files[0].paths]

    return run


@pytest.fixture
def failure(polled, poller):
    """The message of the error that a poll ends with; nothing is left of it."""

    def run(content, *prepare, kind=SourceError, **options):
        with pytest.raises(kind) as e:
            polled(content, *prepare, **options)
        assert poller.leftovers == []
        return str(e.value)

    return run


def test_gzip_with_all_its_members(polled):
    assert polled(gzip.compress(b"a\n") + gzip.compress(b"") + gzip.compress(b"b\n"), GZIP) == [b"a\nb\n"]


def test_gzip_that_is_none_or_broken(failure):
    packed = gzip.compress(os.urandom(100_000))
    assert failure(b"id,name\n", GZIP) == "in: not a gzip file: remove the Decompress step, or correct its format"
    assert failure(b"", GZIP) == "in: not a gzip file: remove the Decompress step, or correct its format"
    assert failure(packed[:-9], GZIP) == "in: the gzip file is truncated"
    assert failure(packed[:5], GZIP) == "in: the gzip file is truncated"
    assert failure(packed[:-8] + b"00000000", GZIP).startswith("in: the gzip file is damaged: CRC check failed")
    assert failure(packed[:50] + b"x" * 100 + packed[150:], GZIP).startswith("in: the gzip file is damaged")


def test_gzip_with_something_behind_it(failure, polled):
    packed = gzip.compress(b"a\n")
    assert failure(packed + b"more", GZIP) == "in: the gzip file ends with other data: check that it is complete"
    assert polled(packed + bytes(512), GZIP) == [b"a\n"]  # padding, as tapes have it


def test_bombs_are_refused(failure, polled):
    bomb = gzip.compress(bytes(8 * MIB))
    expected = "in: unpacks to more than 250 times its size: refused as a decompression bomb"
    assert failure(bomb, GZIP, ratio_free=MIB) == expected
    assert failure(zipped({"a": bytes(8 * MIB)}), unzip(), ratio_free=MIB) == expected
    assert failure(zipped({"a": bytes(MIB), "b": bytes(MIB)}), unzip("*"), ratio_free=3 * MIB // 2) == expected
    assert polled(bomb, GZIP) == [bytes(8 * MIB)]


def test_unpacked_files_have_a_limit(failure):
    packed = gzip.compress(os.urandom(3 * MIB))
    expected = "in: unpacks to more than 2 MB, the limit for unpacked files"
    assert failure(packed, GZIP, largest_file=2_000_000) == expected


def test_zip_with_one_file(polled):
    assert polled(zipped({"dir/data.csv": b"abc", "__MACOSX/data.csv": b"junk"}), unzip()) == [b"abc"]


@pytest.mark.parametrize(
    ("sub_path", "expected"),
    [
        ("d/b.csv", [b"b"]),
        ("./d/b.csv", [b"b"]),
        ("*.csv", [b"a", b"b"]),
        ("d/*", [b"b", b"c"]),
        ("[ab].csv", [b"a"]),
    ],
)
def test_zip_with_sub_path(polled, sub_path, expected):
    assert polled(zipped({"d/c.txt": b"c", "d/b.csv": b"b", "a.csv": b"a"}), unzip(sub_path)) == expected


def test_zip_that_is_none_or_does_not_have_what_is_meant(failure):
    many = zipped({"a.csv": b"a", "b.csv": b"b"})
    assert failure(b"PK nothing", unzip()) == "in: not a zip file, or damaged or truncated: File is not a zip file"
    assert failure(zipped({"a": os.urandom(9999)})[:-30], unzip()).startswith(
        "in: not a zip file, or damaged or truncated:"
    )
    assert failure(many, unzip()) == "in: the zip file has several files: choose one with subPath; it has a.csv, b.csv"
    assert failure(many, unzip("c*")) == "in: the zip file has no c*; it has a.csv, b.csv"
    assert failure(zipped({}), unzip()) == "in: the zip file has no file; it has nothing"
    damaged = bytearray(zipped({"a": os.urandom(9999)}))
    damaged[500:600] = bytes(100)
    assert failure(bytes(damaged), unzip()).startswith("in: not a zip file, or damaged or truncated: Bad CRC-32")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_zip_damaged_anywhere(poller, polled, method):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("dir/é.csv", b"abc" * 50)
    for place in range(len(buffer.getvalue())):
        damaged = bytearray(buffer.getvalue())
        damaged[place] ^= 0xFF
        with contextlib.suppress(SourceError):
            assert polled(bytes(damaged), unzip("*.csv")) == [b"abc" * 50]
        shutil.rmtree(poller.work)


def test_zip_with_a_name_that_is_not_utf_8(failure):
    damaged = zipped({"é.csv": b"a"}).replace("é".encode(), b"\xff\xff")
    expected = "in: not a zip file, or damaged or truncated: a name in it is not UTF-8"
    assert failure(damaged, unzip()) == expected


def test_zip_with_a_link(failure, polled):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("a.csv")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, b"/etc/passwd")
        archive.writestr("b.csv", b"b")
    assert failure(buffer.getvalue(), unzip("*")) == "in: a.csv in the zip file is a link, not a file"
    assert polled(buffer.getvalue(), unzip("b*")) == [b"b"]


def test_zip64(polled):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, archive.open("a.csv", "w", force_zip64=True) as entry:
        entry.write(b"abc")
    assert polled(buffer.getvalue(), unzip()) == [b"abc"]


@pytest.mark.parametrize("name", ["../a.csv", "x/../../a.csv", "/etc/a.csv", "..\\a.csv"])
def test_zip_with_unsafe_names(failure, name):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, b"evil")
        archive.writestr("a.csv", b"good")
    assert failure(buffer.getvalue(), unzip("a.csv")) == f"in: the zip file has an entry with an unsafe name: {name!r}"


def test_zip_that_is_encrypted(failure):
    packed = bytearray(zipped({"a.csv": b"a"}))
    for header, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.index(header) + offset] |= 1
    assert failure(bytes(packed), unzip()) == "in: a.csv in the zip file is encrypted"


def test_pipe_runs_without_a_shell_in_the_folder_of_the_manifest(polled, poller):
    script = poller.base / "upper.sh"
    script.write_text("#!/bin/sh\ntr a-z A-Z; printf '%s' \"$1\"\n")
    script.chmod(0o755)
    assert polled(b"abc", model.PrepStepPipe(command=("./upper.sh", "$HOME; `ls`"))) == [b"ABC$HOME; `ls`"]


def test_pipe_need_not_read_everything(polled):
    assert polled(b"a\n" * 10 * MIB, model.PrepStepPipe(command=("head", "-n1"))) == [b"a\n"]


def test_pipe_that_fails(failure):
    def sh(script):
        return model.PrepStepPipe(command=("sh", "-c", script))

    assert failure(b"", sh("echo bad line 7 >&2; exit 3")) == "in: sh failed with exit code 3: bad line 7"
    assert failure(b"", sh("exit 3")) == "in: sh failed with exit code 3"
    assert failure(b"", sh("kill -9 $$")) == "in: sh was killed by SIGKILL"
    assert failure(b"", sh("yes no | head -c 999999 >&2; exit 1"), stderr_tail=6).endswith("exit code 1: no\nno")


def test_pipe_that_tells_secrets(failure, monkeypatch):
    monkeypatch.setenv("STORE_PASSWORD", "hunter2")
    step = model.PrepStepPipe(command=("sh", "-c", "echo no access with $STORE_PASSWORD >&2; exit 1"))
    assert failure(b"", step) == "in: sh failed with exit code 1: no access with ***"


def test_pipe_that_does_not_end_is_killed_with_its_children(failure, tmp_path):
    pid = tmp_path / "pid"
    step = model.PrepStepPipe(command=("sh", "-c", f"sleep 60 & echo $! > {pid}; wait"))
    start = time.monotonic()
    assert failure(b"", step, pipe_timeout=0.5) == "in: sh timed out after 0.5 s: killed"
    assert time.monotonic() - start < 5
    for _ in range(100):
        if not is_running(int(pid.read_text())):
            return
        time.sleep(0.02)
    pytest.fail("the child survived")


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_pipe_that_writes_without_end(failure):
    step = model.PrepStepPipe(command=("yes",))
    assert failure(b"", step, largest_file=1_000_000) == "in: yes wrote more than 1 MB: killed"


def test_pipe_of_a_program_that_is_missing(failure):
    step = model.PrepStepPipe(command=("no-such-program", "-x"))
    expected = "in: command not found: no-such-program (install it where polls run, or give its full path)"
    assert failure(b"", step, kind=InvalidInput) == expected
    step = model.PrepStepPipe(command=("jq -c", ". | keys"))
    expected = 'in: command not found: jq -c (write each word as a separate item: [jq, -c, ". | keys"])'
    assert failure(b"", step, kind=InvalidInput) == expected
    assert failure(b"", model.PrepStepPipe(command=()), kind=InvalidInput).startswith("in: command not found: (empty)")


def test_pipe_may_be_forbidden(failure):
    step = model.PrepStepPipe(command=("cat",))
    expected = "in: prepare step Pipe is forbidden here (forbid_steps)"
    assert failure(b"", step, kind=InvalidInput, forbidden_steps=frozenset(("Pipe",))) == expected


def test_steps_follow_each_other(polled):
    archive = zipped({"b.gz": gzip.compress(b"b2\nb1\n"), "a.gz": gzip.compress(b"a2\na1\n")})
    assert polled(archive, unzip("*.gz"), GZIP, model.PrepStepPipe(command=("sort",))) == [b"a1\na2\n", b"b1\nb2\n"]


def test_nothing_of_the_steps_between_stays(poller, polled):
    polled(gzip.compress(b"abc"), GZIP, model.PrepStepPipe(command=("cat",)))
    assert sorted(path.name for path in poller.work.rglob("*") if path.is_file()) == ["file-0-1", "seal.json"]
