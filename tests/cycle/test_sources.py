"""The source of a push, and pushes that it refuses."""

import pytest

from airflow_provider_odf.errors import InvalidInput

from .pushing import POLLED, push_to, source


@pytest.mark.parametrize(
    ("names", "name", "chosen"),
    [(["a"], None, "a"), (["a", "default"], None, "default"), (["a", "default"], "a", "a")],
)
def test_the_source_of_a_push(store, declare, file, names, name, chosen):
    declare(*map(source, names))
    assert push_to(store, file, source_name=name).source_name == chosen


def test_one_of_several_sources_must_be_named(store, declare, file):
    declare(source("a"), source("b"))
    with pytest.raises(InvalidInput, match=r"has the push sources a, b: name one .`--source`, or `source` in the conf"):
        push_to(store, file)


def test_a_push_to_a_disabled_source_is_refused(store, declare, file):
    declare(source("a"), source("b"))
    declare(source("a"))
    with pytest.raises(InvalidInput, match=r"push source b of orders was disabled at 2026-05-01T00:00:00Z \(block 3\)"):
        push_to(store, file, source_name="b")
    declare(source("a"), source("b"))
    assert push_to(store, file, source_name="b").source_name == "b"


@pytest.mark.parametrize(
    ("uri", "name", "message"),
    [
        ("/no/such.json", "export", "/no/such.json: no such file"),
        ("sftp://h/a.json", "export", "sftp://h/a.json: unknown scheme sftp"),
        ("/no/such.json", "exprt", r"no push source 'exprt' \(did you mean `export`\?\)"),
    ],
)
def test_an_invalid_push_is_refused(store, declare, uri, name, message):
    declare(source())
    with pytest.raises(InvalidInput, match=message):
        push_to(store, uri, source_name=name)


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (
            "Csv",
            b"\x1f\x8b\x08\x00",
            "is a gzip file, but the source reads Csv: decompress it first, since push sources",
        ),
        ("NdJson", b"PK\x03\x04", "is a zip file, but the source reads NdJson"),
        ("NdJson", b"PAR1", "is a Parquet file, but the source reads NdJson"),
    ],
)
def test_a_file_of_another_form_is_refused(store, declare, tmp_path, read, content, message):
    declare(source(read=read))
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InvalidInput, match=message):
        push_to(store, tmp_path / "x")


def test_a_polling_source_reads_files_as_if_it_had_fetched_them(store, declare, tmp_path):
    import gzip

    declare(POLLED)
    (tmp_path / "late-2026-04-01.csv.gz").write_bytes(gzip.compress(b"1\n"))
    polled = push_to(store, tmp_path / "late-2026-04-01.csv.gz")
    (one,) = polled.files
    with open(one.paths[0]) as file:
        assert file.read() == "1\n"
    assert (one.event_time, one.state, polled.source_name) == ("2026-04-01T00:00:00Z", None, None)
