"""Decompress: real archives."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import shutil
import zipfile

import pytest

from airflow_provider_odf.errors import SourceError

from .archives import GZIP, unzip, zipped

MIB = 1 << 20


def test_gzip_with_all_its_members(polled):
    assert polled(gzip.compress(b"a\n") + gzip.compress(b"") + gzip.compress(b"b\n"), GZIP) == [b"a\nb\n"]


def test_gzip_that_is_none_or_broken(failure):
    packed = gzip.compress(os.urandom(100_000))
    assert failure(b"id,name\n", GZIP) == "in: not a gzip file: remove the Decompress step, or correct its format"
    assert failure(b"", GZIP) == "in: not a gzip file: remove the Decompress step, or correct its format"
    assert failure(packed[:-9], GZIP) == "in: the gzip file is truncated: check that the file is complete"
    assert failure(packed[:5], GZIP) == "in: the gzip file is truncated: check that the file is complete"
    assert failure(packed[:-8] + b"00000000", GZIP).startswith("in: the gzip file is damaged: CRC check failed")
    assert failure(packed[:50] + b"x" * 100 + packed[150:], GZIP).startswith("in: the gzip file is damaged")


def test_gzip_with_something_behind_it(failure, polled):
    packed = gzip.compress(b"a\n")
    assert (
        failure(packed + b"more", GZIP)
        == "in: unexpected data after the end of the gzip file: check that the file is complete"
    )
    assert polled(packed + bytes(512), GZIP) == [b"a\n"]  # padding, as tapes have it


def test_bombs_are_refused(failure, polled):
    bomb = gzip.compress(bytes(8 * MIB))
    expected = "in: decompresses to more than 250 times its size: refused as a decompression bomb"
    assert failure(bomb, GZIP, ratio_free=MIB) == expected
    assert failure(zipped({"a": bytes(8 * MIB)}), unzip(), ratio_free=MIB) == expected
    assert failure(zipped({"a": bytes(MIB), "b": bytes(MIB)}), unzip("*"), ratio_free=3 * MIB // 2) == expected
    assert polled(bomb, GZIP) == [bytes(8 * MIB)]


def test_unpacked_files_have_a_limit(failure):
    packed = gzip.compress(os.urandom(3 * MIB))
    expected = (
        "in: decompresses to more than 2 MB, the limit for decompressed files: increase largest_file, or split the file"
    )
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
