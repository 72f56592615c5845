"""Polls of http URLs against a real server."""

from __future__ import annotations

import gzip

from airflow_provider_odf.manifest import model

CSV = b"id,name\n1,Anna\n2,Bob\n"
NOON = 1714651200  # 2024-05-02T12:00:00Z


def test_first_poll_records_etag_and_takes_event_time_from_last_modified(server, poller):
    url = server.serve("/a.csv", CSV, etag='"v1"', modified=NOON)
    polled = poller.url(url)
    assert poller.content(polled) == [CSV]
    (file,) = polled.files
    assert file.state == poller.state("odf/etag", '"v1"')
    assert str(file.event_time) == "2024-05-02T12:00:00Z"
    assert file.label == url
    assert all(path.is_relative_to(polled.directory) for path in file.paths)


def test_same_etag_is_up_to_date_and_leaves_nothing_behind(server, poller):
    url = server.serve("/a.csv", CSV, etag='"v1"')
    assert poller.url(url, state=poller.state("odf/etag", '"v1"')) is None
    assert server.requests[0][1]["if-none-match"] == '"v1"'
    assert poller.leftovers == []


def test_changed_etag_brings_the_new_content(server, poller):
    url = server.serve("/a.csv", CSV, etag='"v2"')
    polled = poller.url(url, state=poller.state("odf/etag", '"v1"'))
    assert poller.content(polled) == [CSV]
    assert polled.files[0].state.value == '"v2"'
    assert str(polled.files[0].event_time) == "2024-06-01T12:00:00Z"


def test_last_modified_is_the_state_where_there_is_no_etag(server, poller):
    url = server.serve("/a.csv", CSV, modified=NOON)
    state = poller.url(url).files[0].state
    assert state == poller.state("odf/last-modified", "2024-05-02T12:00:00Z")
    assert poller.url(url, state=state) is None
    assert server.requests[-1][1]["if-modified-since"] == "Thu, 02 May 2024 12:00:00 GMT"


def test_a_server_that_ignores_conditions_is_believed_by_its_etag(server, poller):
    url = server.serve("/a.csv", CSV, etag='"v1"', is_conditional=False, cuts=[3])
    assert poller.url(url, state=poller.state("odf/etag", '"v1"')) is None
    assert len(server.requests) == 1


def test_without_validators_the_content_is_compared(server, poller):
    url = server.serve("/api", b"abc")
    state = poller.url(url).files[0].state
    sha3 = "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"
    assert state == poller.state("odf/content-hash", "f1620" + sha3)
    assert poller.url(url, state=state) is None
    server.resources["/api"].content = b"abcd"
    assert poller.content(poller.url(url, state=state)) == [b"abcd"]


def test_gzip_encoding_of_the_transfer_is_undone(server, poller):
    url = server.serve("/a.csv", gzip.compress(CSV), headers={"Content-Encoding": "gzip"}, etag='"z"')
    assert poller.content(poller.url(url)) == [CSV]
    assert server.requests[0][1]["accept-encoding"] == "gzip"


def test_a_gzip_file_served_as_an_encoding_is_still_unpacked_once(server, poller):
    url = server.serve("/a.csv.gz", gzip.compress(CSV), headers={"Content-Encoding": "x-gzip"}, etag='"z"')
    assert poller.content(poller.url(url, model.PrepStepDecompress(format="Gzip"))) == [CSV]


def test_event_time_from_path_and_from_system_time(server, poller):
    url = server.serve("/data/2024-05-02/a.csv", CSV, etag='"v1"', modified=NOON + 86400)
    from_path = model.EventTimeSourceFromPath(pattern=r"/(\d+-\d+-\d+)/")
    assert str(poller.url(url, event_time=from_path).files[0].event_time) == "2024-05-02T00:00:00Z"
    from_system_time = model.EventTimeSourceFromSystemTime()
    assert str(poller.url(url, event_time=from_system_time).files[0].event_time) == "2024-06-01T12:00:00Z"


def test_forever_asks_only_once(server, poller):
    url = server.serve("/a.csv", CSV, etag='"v1"')
    polled = poller.url(url, cache=model.SourceCachingForever())
    assert poller.url(url, state=polled.files[0].state, cache=model.SourceCachingForever()) is None
    assert len(server.requests) == 1
