from __future__ import annotations

import pytest

from airflow_provider_odf.errors import InvalidInput, SourceError, SourceUnavailable


def test_content_is_compared(ftp_server, poller):
    ftp_server.files["d/a b.csv"] = b"abc"
    url = f"ftp://{ftp_server.place}/d/a%20b.csv"
    polled = poller.url(url)
    assert poller.content(polled) == [b"abc"]
    (file,) = polled.files
    sha3 = "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"
    assert file.state == poller.state("odf/content-hash", "f1620" + sha3)
    assert str(file.event_time) == "2024-06-01T12:00:00Z"
    assert poller.url(url, state=file.state) is None
    ftp_server.files["d/a b.csv"] = b"abcd"
    assert poller.content(poller.url(url, state=file.state)) == [b"abcd"]


def test_user_and_password_are_sent_and_not_shown(ftp_server, poller):
    ftp_server.files["a"] = b"abc"
    assert poller.content(poller.url(f"ftp://me:secret@{ftp_server.place}/a")) == [b"abc"]
    assert ftp_server.commands[:2] == ["USER me", "PASS secret"]
    with pytest.raises(SourceError) as e:
        poller.url(f"ftp://me:wr%40ng@{ftp_server.place}/a")
    assert str(e.value) == f"ftp://{ftp_server.place}/a: FTP 530 *** is wrong"


def test_missing_file(ftp_server, poller):
    with pytest.raises(SourceError) as e:
        poller.url(f"ftp://{ftp_server.place}/nope")
    assert str(e.value) == f"ftp://{ftp_server.place}/nope: not found (FTP 550 no such file)"
    assert poller.leftovers == []


def test_a_cut_download_starts_over(ftp_server, poller):
    ftp_server.files["a"], ftp_server.cuts = b"abcdef", [2, 4]
    assert poller.content(poller.url(f"ftp://{ftp_server.place}/a")) == [b"abcdef"]
    assert ftp_server.commands.count("RETR a") == 3


def test_a_cut_download_is_resumed_where_the_server_tells_size_and_time(ftp_server, poller):
    ftp_server.files["a"], ftp_server.times["a"], ftp_server.cuts = b"abcdef", "20240502120000", [2, 2]
    polled = poller.url(f"ftp://{ftp_server.place}/a")
    assert poller.content(polled) == [b"abcdef"]
    assert [c for c in ftp_server.commands if c[:4] in ("RETR", "REST")] == [
        *("RETR a", "REST 2", "RETR a", "REST 4", "RETR a")
    ]
    assert str(polled.files[0].event_time) == "2024-05-02T12:00:00Z"


def test_a_file_that_changed_meanwhile_starts_over(ftp_server, poller):
    ftp_server.files["a"], ftp_server.times["a"], ftp_server.cuts = b"abcdef", "20240502120000", [2]

    def change():
        ftp_server.files["a"], ftp_server.times["a"] = b"ABCDEF", "20240502120001.5"

    ftp_server.on_cut = change
    assert poller.content(poller.url(f"ftp://{ftp_server.place}/a")) == [b"ABCDEF"]
    assert "REST 2" not in ftp_server.commands


def test_a_server_that_cannot_continue(ftp_server, poller):
    ftp_server.files["a"], ftp_server.times["a"], ftp_server.cuts = b"abcdef", "20240502120000", [2]
    ftp_server.takes_rest = False
    assert poller.content(poller.url(f"ftp://{ftp_server.place}/a")) == [b"abcdef"]
    assert ftp_server.commands.count("REST 2") == 1


def test_downloads_that_always_break_off(ftp_server, poller):
    ftp_server.files["a"], ftp_server.cuts = b"abcdef", [2] * 9
    with pytest.raises(SourceUnavailable, match=r"/a: the connection was lost after 2 of 6 bytes$"):
        poller.url(f"ftp://{ftp_server.place}/a")
    assert ftp_server.commands.count("RETR a") == 5


def test_nobody_there(poller):
    with pytest.raises(SourceUnavailable, match=r"^ftp://127\.0\.0\.1:1/a: \[Errno 111\] Connection refused$"):
        poller.url("ftp://127.0.0.1:1/a")


def test_line_breaks_in_a_path_are_not_commands(ftp_server, poller):
    with pytest.raises(InvalidInput, match="not a valid URL"):
        poller.url(f"ftp://{ftp_server.place}/a%0D%0ADELE%20b")
    assert not any(command.startswith("DELE") for command in ftp_server.commands)
