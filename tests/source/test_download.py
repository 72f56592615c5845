"""Downloads from servers that misbehave."""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import os
import socket
import threading
import time
import tracemalloc

import pytest

from airflow_provider_odf.errors import InvalidInput, SourceError, SourceUnavailable
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source import transfer

NOON = 1714651200  # 2024-05-02T12:00:00Z
BIG = b"".join(b"%07d\n" % n for n in range(250_000))


def ranges(server):
    return [headers.get("range") for _, headers in server.requests]


def test_a_cut_download_is_resumed_where_it_stopped(server, poller):
    url = server.serve("/big.csv", BIG, etag='"v1"', cuts=[1_000_000, 500_000])
    assert poller.content(poller.url(url)) == [BIG]
    assert ranges(server) == [None, "bytes=1000000-", "bytes=1500000-"]
    assert server.requests[1][1]["if-range"] == '"v1"'


def test_a_cut_download_is_resumed_by_date(server, poller):
    url = server.serve("/big.csv", BIG, modified=NOON, cuts=[1_000_000])
    assert poller.content(poller.url(url)) == [BIG]
    assert server.requests[1][1]["if-range"] == "Thu, 02 May 2024 12:00:00 GMT"


def test_a_resource_that_changed_meanwhile_starts_over(server, poller):
    def change(resource):
        if len(server.requests) == 2:
            resource.content, resource.etag = b"new content", '"v2"'

    url = server.serve("/big.csv", BIG, etag='"v1"', cuts=[1_000_000], on_request=change)
    polled = poller.url(url)
    assert poller.content(polled) == [b"new content"]
    assert polled.files[0].state.value == '"v2"'


def test_a_resource_that_changed_back_is_up_to_date(server, poller):
    def change(resource):
        if len(server.requests) == 2:
            resource.content, resource.etag = b"old content", '"v0"'

    url = server.serve("/big.csv", BIG, etag='"v1"', cuts=[1_000_000], on_request=change)
    assert poller.url(url, state=poller.state("odf/etag", '"v0"')) is None


@pytest.mark.parametrize("properties", [{"takes_ranges": False, "etag": '"v1"'}, {"etag": 'W/"v1"'}, {}])
def test_without_ranges_or_a_strong_validator_it_starts_over(server, poller, properties):
    url = server.serve("/big.csv", BIG, cuts=[1_000_000], **properties)
    assert poller.content(poller.url(url)) == [BIG]


def test_a_server_that_continues_elsewhere_starts_over(server, poller):
    url = server.serve("/big.csv", BIG, etag='"v1"', cuts=[1_000_000], range_start=999_000)
    assert poller.content(poller.url(url)) == [BIG]
    assert ranges(server) == [None, "bytes=1000000-", None]


def test_a_server_that_always_breaks_off_is_unavailable(server, poller):
    url = server.serve("/big.csv", BIG, cuts=[700] * 9)
    with pytest.raises(SourceUnavailable) as e:
        poller.url(url)
    assert str(e.value) == f"{url}: the connection was lost after 700 of 2000000 bytes"
    assert len(server.requests) == 5
    assert poller.leftovers == []


def test_a_chunked_answer_that_is_cut_is_not_taken_as_whole(server, poller):
    url = server.serve("/big.csv", BIG, cuts=[700] * 9, is_chunked=True)
    with pytest.raises(SourceUnavailable, match=r"the connection was lost after 700 bytes$"):
        poller.url(url)


def test_less_than_the_announced_length_is_not_taken_as_whole(server, poller):
    url = server.serve("/a.csv", b"abc", headers={"Content-Length": "5"}, cuts=[3] * 9)
    with pytest.raises(SourceUnavailable, match=r"the connection was lost after 3 of 5 bytes$"):
        poller.url(url)


def test_missing_pages_are_not_tried_again(server, poller):
    with pytest.raises(SourceError) as e:
        poller.url(f"{server.url}/nope.csv")
    assert str(e.value) == f"{server.url}/nope.csv: not found (HTTP 404 Not Found)"
    assert not e.value.is_transient
    assert len(server.requests) == 1


def test_other_refusals_show_what_the_server_says(server, poller):
    url = server.serve("/a.csv", statuses=[403], status_body=b"\n  no key given\nask us\n")
    with pytest.raises(SourceError) as e:
        poller.url(url)
    assert (str(e.value), e.value.is_transient) == (f"{url}: HTTP 403 Forbidden: no key given", False)


def test_what_browsers_show_is_left_out(server, poller):
    url = server.serve("/a.csv", statuses=[401], status_body=b"<!DOCTYPE HTML>\n<html><body>Log in!")
    with pytest.raises(SourceError) as e:
        poller.url(url)
    advice = "check the credentials in `headers` or in the URL"
    assert str(e.value) == f"{url}: HTTP 401 Unauthorized: {advice}"
    url = server.serve("/b.csv", statuses=[400], status_body=b" <html>\n<body>Bad!")
    with pytest.raises(SourceError, match=r"HTTP 400 Bad Request$"):
        poller.url(url)


def test_server_errors_are_tried_again(server, poller):
    url = server.serve("/a.csv", b"abc", statuses=[500, 503, 429])
    assert poller.content(poller.url(url)) == [b"abc"]
    assert len(server.requests) == 4


def test_lasting_server_errors_are_unavailable(server, poller):
    url = server.serve("/a.csv", b"abc", statuses=[500] * 9, status_body=b"oops")
    with pytest.raises(SourceUnavailable) as e:
        poller.url(url)
    assert str(e.value) == f"{url}: HTTP 500 Internal Server Error: oops"
    assert type(e.value) is SourceUnavailable
    assert len(server.requests) == 4


def test_retry_after_is_honoured(server, poller):
    url = server.serve("/a.csv", b"abc", statuses=[429], status_headers={"Retry-After": "1"})
    start = time.monotonic()
    assert poller.content(poller.url(url)) == [b"abc"]
    assert time.monotonic() - start >= 1
    assert server.answers == [429, 200]


def test_a_long_retry_after_is_left_to_the_next_poll(server, poller):
    url = server.serve("/a.csv", b"abc", statuses=[429], status_headers={"Retry-After": "3600"})
    with pytest.raises(SourceUnavailable, match=r"HTTP 429 Too Many Requests; the server asks to retry after 3600 s$"):
        poller.url(url)


def test_a_server_that_falls_silent(server, poller):
    url = server.serve("/a.csv", b"abc", delay=1)
    with pytest.raises(SourceUnavailable, match=r"a\.csv: the server stopped responding$"):
        poller.url(url, options=dataclasses.replace(poller.options, read_timeout=0.1, attempts=1))


def test_nobody_there(poller):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/a.csv"
        with pytest.raises(SourceUnavailable, match=r"a\.csv: cannot connect: .*Connection refused"):
            poller.url(url)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("gopher://x/a", "gopher://x/a: unknown scheme: use http, https, ftp, ftps, s3, gs, az, abfss or file"),
        ("http:///a", "http:///a: the URL has no host"),
        ("http://[x/a", "http://[x/a: not a valid URL"),
    ],
)
def test_bad_urls(poller, url, message):
    with pytest.raises(InvalidInput) as e:
        poller.url(url)
    assert str(e.value).startswith(message)


def test_redirects_are_followed_without_the_headers_for_strangers(server, poller):
    stranger = server.url.replace("127.0.0.1", "localhost")
    server.serve("/data", b"abc", etag='"v1"')
    server.serve("/away", location=f"{stranger}/data")
    url = server.serve("/here", location="/away")
    headers = (model.RequestHeader(name="X-Api-Key", value="k"), model.RequestHeader(name="Authorization", value="b"))
    polled = poller.url(url, headers=headers)
    assert poller.content(polled) == [b"abc"]
    assert polled.files[0].label == url
    seen = [(path, h.get("x-api-key"), h.get("authorization")) for path, h in server.requests]
    assert seen == [("/here", "k", "b"), ("/away", "k", "b"), ("/data", None, None)]


def test_endless_redirects(server, poller):
    url = server.serve("/a", location="/a")
    with pytest.raises(SourceError, match=r"/a: more than 10 redirects$"):
        poller.url(url)
    assert len(server.requests) == 11


def test_redirects_out_of_http(server, poller):
    url = server.serve("/a", location="file:///etc/passwd")
    with pytest.raises(SourceError, match=r"/a: redirected to an address that is not HTTP$"):
        poller.url(url)


def test_downloads_larger_than_the_limit(server, poller):
    small = dataclasses.replace(poller.options, largest_download=1_500_000)
    for path, is_chunked in (("/known", False), ("/unknown", True)):
        url = server.serve(path, BIG, is_chunked=is_chunked)
        with pytest.raises(SourceError, match=r"known: larger than 1 MB, the limit for downloads: increase largest_"):
            poller.url(url, options=small)


def test_a_tag_that_no_header_may_hold_is_compared_and_not_sent(server, poller):
    url = server.serve("/a.csv", b"abc", etag='"é"', cuts=[2])
    state = poller.url(url).files[0].state
    assert state == poller.state("odf/etag", '"é"')
    server.requests.clear()
    assert poller.url(url, state=state) is None
    assert ["if-none-match" in headers for _, headers in server.requests] == [False]


def test_not_modified_although_nothing_was_seen(server, poller):
    url = server.serve("/a.csv", statuses=[304])
    with pytest.raises(SourceError, match=r"/a\.csv: HTTP 304 Not Modified$"):
        poller.url(url)


def test_a_part_that_was_not_asked_for(server, poller):
    url = server.serve("/a.csv", statuses=[206] * 9)
    with pytest.raises(SourceUnavailable, match=r"/a\.csv: the server sent a part that was not requested$"):
        poller.url(url)


def test_a_wrong_content_encoding(server, poller):
    url = server.serve("/a", b"id,name\n", headers={"Content-Encoding": "gzip"})
    with pytest.raises(SourceError, match=r"/a: the server declares content encoding gzip, but the"):
        poller.url(url)
    url = server.serve("/empty", b"", headers={"Content-Encoding": "gzip"})
    assert poller.content(poller.url(url)) == [b""]


def test_unknown_content_encodings(server, poller):
    url = server.serve("/a", b"abc", headers={"Content-Encoding": "br"})
    with pytest.raises(SourceError, match=r"/a: the server sent content encoding 'br' instead of gzip$"):
        poller.url(url)


def test_progress_of_a_long_download(server, poller, monkeypatch):
    monkeypatch.setattr(transfer, "INTERVAL", 0)
    url = server.serve("/big", BIG)
    poller.url(url)
    assert poller.messages[-1] == f"{url}: 2 of 2 MB"
    assert poller.messages[0] == f"{url}: 0 of 2 MB"


def test_secrets_reach_neither_messages_nor_logs(server, poller, caplog):
    caplog.set_level(logging.INFO)
    poller.environment.update(KEY="s3cr3t/key", TOKEN="t0ken")
    server.serve("/a", statuses=[403], status_body=b"key s3cr3t/key of t0ken is not valid")
    url = f"{server.url.replace('://', '://me:passw0rd@')}/a?key=${{{{ env.KEY }}}}"
    headers = (model.RequestHeader(name="X-Token", value="${{ env.TOKEN }}"),)
    with pytest.raises(SourceError) as e:
        poller.url(url, headers=headers)
    assert server.requests[0][0] == "/a?key=s3cr3t/key"
    assert server.requests[0][1]["x-token"] == "t0ken"
    assert str(e.value) == f"{server.url}/a?key=${{{{ env.KEY }}}}: HTTP 403 Forbidden: key *** of *** is not valid"
    assert e.value.__cause__ is None
    assert e.value.__suppress_context__
    told = caplog.text + "".join(poller.messages)
    assert not any(secret in told for secret in ("s3cr3t", "t0ken", "passw0rd"))


def test_half_a_secret_is_masked_too(server, poller):
    poller.environment["KEY"] = "s3cr3t-" * 10
    body = b"x" * 170 + b" " + poller.environment["KEY"].encode()
    url = f"{server.serve('/a', statuses=[403], status_body=body)}?key=${{{{ env.KEY }}}}"
    with pytest.raises(SourceError) as e:
        poller.url(url)
    assert str(e.value).endswith(f"HTTP 403 Forbidden: {'x' * 170} ***")


def test_headers_that_cannot_be_sent(poller):
    poller.environment["TOKEN"] = "t0ken\n"
    with pytest.raises(InvalidInput, match=r"^header A of http://x/: the value has line breaks or other"):
        poller.url("http://x/", headers=(model.RequestHeader(name="A", value="${{ env.TOKEN }}"),))


def test_missing_variables(server, poller):
    with pytest.raises(InvalidInput, match=r"^header A of http://x/: value not found: env\.NOPE "):
        poller.url("http://x/", headers=(model.RequestHeader(name="A", value="${{ env.NOPE }}"),))


def test_a_date_of_this_very_second_is_waited_out(server, poller):
    """Two versions within one second have one Last-Modified; only the content that outlasts it may be recorded."""
    url = server.serve("/a.csv", b"first", modified=int(time.time()))

    def change(resource):
        if len(server.requests) > 1:
            resource.content = b"second"
        else:
            resource.modified = int(time.time())  # of the second of the request, however late that is

    server.resources["/a.csv"].on_request = change
    polled = poller.url(url)
    assert poller.content(polled) == [b"second"]
    assert polled.files[0].state.kind == "odf/last-modified"


def test_a_date_that_is_always_now_says_nothing(server, poller):
    def now(resource):
        resource.modified = time.time() + 1

    url = server.serve("/api", b"abc", on_request=now)
    polled = poller.url(url)
    assert polled.files[0].state.kind == "odf/content-hash"
    server.requests.clear()
    assert poller.url(url, state=polled.files[0].state) is None
    assert len(server.requests) == 1


def test_memory_does_not_grow_with_the_download(server, poller):
    content = os.urandom(1 << 20) * 48
    url = server.serve("/huge", content, is_chunked=False)
    poller.url(server.serve("/warm", b"x"))
    tracemalloc.start()
    polled = poller.url(url)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert hashlib.sha256(polled.files[0].paths[0].read_bytes()).digest() == hashlib.sha256(content).digest()
    assert peak < 16 << 20


def test_many_polls_at_once(server, poller):
    urls = [server.serve(f"/{n}", b"%d" % n, etag=f'"{n}"') for n in range(16)]
    found = {}
    threads = [threading.Thread(target=lambda u=u: found.update({u: poller.url(u)})) for u in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [poller.content(found[u]) for u in urls] == [[b"%d" % n] for n in range(16)]
