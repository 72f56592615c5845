"""What is kept between runs is compared with what was written, whatever bit has changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_odf import seal


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "part-0.parquet").write_bytes(bytes(range(64)))
    (tmp_path / "state.json").write_text('{"rows": 3}')
    seal.seal(tmp_path, [tmp_path / "data", tmp_path / "state.json"], dataset="did:odf:1", block="f1620aa")
    return tmp_path


def flips(data: bytes) -> list[bytes]:
    """The same bytes with one bit of each flipped."""
    return [data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :] for at in range(len(data))]


def test_what_is_sealed(kept: Path) -> None:
    assert seal.first_altered(kept, dataset="did:odf:1", block="f1620aa") is None
    assert json.loads((kept / "seal.json").read_text()) == {
        "dataset": "did:odf:1",
        "block": "f1620aa",
        "files": {
            "data/part-0.parquet": "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108",
            "state.json": "32a461613f889715441938eab4ee87cd6a246bbb6139a2249757b70ed8af3665",
        },
        "sha256": "962fb577f2a64a88d0b6da223059feae0948fc9319f46d27fc78fd79acf33b89",
    }


def test_no_flipped_bit_of_a_file_passes(kept: Path) -> None:
    for name in ("data/part-0.parquet", "state.json"):
        file, data = kept / name, (kept / name).read_bytes()
        for flipped in flips(data):
            file.write_bytes(flipped)
            assert seal.first_altered(kept, dataset="did:odf:1") == file
        file.write_bytes(data)


def test_a_flipped_bit_of_the_seal_changes_nothing_that_it_says(kept: Path) -> None:
    """White space may differ: no hash depends on it."""
    said = seal.sealed_hashes(kept, dataset="did:odf:1")
    for flipped in flips((kept / "seal.json").read_bytes()):
        (kept / "seal.json").write_bytes(flipped)
        assert seal.sealed_hashes(kept, dataset="did:odf:1") in (None, said)


@pytest.mark.parametrize("subject", [{"dataset": "did:odf:2"}, {"dataset": "did:odf:1", "block": "f1620bb"}])
def test_a_seal_of_something_else(kept: Path, subject: dict[str, str]) -> None:
    assert seal.first_altered(kept, **subject) == kept / "seal.json"


def test_missing_and_new_files(kept: Path) -> None:
    (kept / "new").write_text("")
    assert seal.first_altered(kept, [kept / "data"], dataset="did:odf:1") is None
    assert seal.first_altered(kept, [kept / "new"], dataset="did:odf:1") == kept / "new"
    (kept / "state.json").unlink()
    assert seal.first_altered(kept, dataset="did:odf:1") == kept / "state.json"
    (kept / "seal.json").unlink()
    assert seal.first_altered(kept, dataset="did:odf:1") == kept / "seal.json"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"3", b'{"sha256": 1}', b"\xff", b"[" * 100_000, None])
def test_what_is_no_sealed_json(data: bytes | None) -> None:
    assert seal.open_json(data) is None


def test_sealed_json() -> None:
    data = seal.sealed_json({"block": "f1620aa", "text": "Zürich", "number": 0.1})
    assert seal.open_json(data, block="f1620aa") == {"block": "f1620aa", "text": "Zürich", "number": 0.1}
    assert seal.open_json(data, block="f1620bb") is None
    assert seal.open_json(data.replace("ü".encode(), b"u")) is None


def test_what_cannot_be_read_now_is_not_altered(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a")
    seal.seal(tmp_path, [file], dataset="d")
    file.unlink()
    assert seal.first_altered(tmp_path, dataset="d") == file
    file.symlink_to("/proc/self/mem")  # opens; its first byte gives EIO
    with pytest.raises(OSError, match="Input/output error"):
        seal.first_altered(tmp_path, dataset="d")
    (tmp_path / seal.SEAL).unlink()
    assert seal.first_altered(tmp_path, dataset="d") == tmp_path / seal.SEAL
    (tmp_path / seal.SEAL).symlink_to("/proc/self/mem")
    with pytest.raises(OSError, match="Input/output error"):
        seal.first_altered(tmp_path, dataset="d")
