from __future__ import annotations

import asyncio
import gzip
import os

import httpx
import pytest

from airflow_provider_odf.errors import InvalidInput, SourceError, SourceUnavailable
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source import http_client
from airflow_provider_odf.source.fetchers import check
from airflow_provider_odf.source.fetching import UNKNOWN
from airflow_provider_odf.source.http_fetch import LONGEST_COMPARED
from airflow_provider_odf.source.options import Options
from airflow_provider_odf.triggers.change import ChangeFilter

NOON = 1714651200  # 2024-05-02T12:00:00Z


@pytest.fixture
def asked(poller):
    """Asks once whether a step has something beyond a state."""

    def ask(step, state=None):
        async def once():
            async with httpx.AsyncClient(timeout=0.5) as client:
                return await check(
                    step,
                    base=poller.base,
                    state=state,
                    environment=poller.environment,
                    options=Options(),
                    client=client,
                )

        return asyncio.run(once())

    return ask


def url(url, **properties):
    return model.FetchStepUrl(url=url, **properties)


def test_http(server, poller, asked):
    step = url(server.serve("/a", b"abc" * 10_000_000, etag='"v1"', modified=NOON))
    assert asked(step)
    assert asked(step, poller.state("odf/etag", '"v0"'))
    assert not asked(step, poller.state("odf/etag", '"v1"'))
    assert not asked(step, poller.state("odf/last-modified", "2024-05-02T12:00:00Z"))
    server.resources["/a"].is_conditional = False
    assert not asked(step, poller.state("odf/etag", '"v1"'))


def test_a_body_is_not_read(server, asked):
    """It is announced and never comes."""
    step = url(server.serve("/a", etag='"v1"', headers={"Content-Length": "1000000"}))
    assert asked(step)


def test_without_validators_the_content_is_compared(server, poller, asked):
    step = url(server.serve("/a", b"abc"))
    seen = poller.url(step.url).files[0].state
    assert not asked(step, seen)
    server.resources["/a"].content = b"abd"

    assert asked(step, seen) == (
        "odf/content-hash f1620f5f119fa0e57ad6839cdcd08902827a07120b6cf490e34af8f12144dc0dcec45"
    )


def test_a_gzipped_transfer_is_compared_as_a_poll_would(server, poller, asked):
    body = gzip.compress(b"abc")
    step = url(server.serve("/a", body, headers={"Content-Encoding": "gzip"}))
    assert not asked(step, poller.url(step.url).files[0].state)


def test_long_content_without_validators_is_not_read(server, asked):
    announced = {"Content-Length": str(LONGEST_COMPARED + 1)}
    assert asked(url(server.serve("/announced", headers=announced))) == UNKNOWN
    assert asked(url(server.serve("/sent", bytes(LONGEST_COMPARED + 1), is_chunked=True))) == UNKNOWN


def test_a_cut_answer_is_asked_for_again(server, asked):
    with pytest.raises(SourceUnavailable):
        asked(url(server.serve("/a", b"abcdef", cuts=[3])))
    body = gzip.compress(b"abc")[:-4] + b"oops"
    with pytest.raises(SourceUnavailable, match="while decompressing"):
        asked(url(server.serve("/b", body, headers={"Content-Encoding": "gzip"})))


def test_what_a_poll_recorded_is_not_a_change(server, poller, asked):
    step = url(server.serve("/a", b"abc", modified=NOON))
    assert not asked(step, poller.url(step.url).files[0].state)


def test_a_source_that_is_not_there_yet(server, asked):
    with pytest.raises(SourceUnavailable, match=r"/nope: not found \(HTTP 404 Not Found\)$"):
        asked(url(f"{server.url}/nope"))
    with pytest.raises(SourceUnavailable, match=r"^nope\.csv: no such file$"):
        asked(url("nope.csv"))
    assert not asked(model.FetchStepFilesGlob(path="*.csv"))


def test_redirects_and_templates(server, poller, asked):
    poller.environment["KEY"] = "s3cret"
    server.serve("/b", b"abc", etag='"v1"')
    step = url(server.serve("/a", location="/b?key=1") + "?key=${{ env.KEY }}")
    assert not asked(step, poller.state("odf/etag", '"v1"'))
    assert [path for path, _ in server.requests] == ["/a?key=s3cret", "/b?key=1"]


def test_refusals(server, poller, asked):
    poller.environment["KEY"] = "s3cret"
    step = url(server.serve("/a", statuses=[503, 403]) + "?${{ env.KEY }}")
    with pytest.raises(SourceUnavailable, match=r"\$\{\{ env\.KEY \}\}: HTTP 503 Service Unavailable$"):
        asked(step)
    with pytest.raises(SourceError, match=r"HTTP 403 Forbidden: check the credentials"):
        asked(step)
    with pytest.raises(SourceUnavailable, match="cannot connect"):
        asked(url("http://127.0.0.1:1/"))
    with pytest.raises(InvalidInput, match="value not found"):
        asked(url("http://x/${{ env.NOPE }}"))


def test_files(poller, asked):
    path = poller.base / "a.csv"
    path.write_text("x")
    os.utime(path, (NOON, NOON))
    assert asked(url("a.csv"))
    assert not asked(url("a.csv"), poller.state("odf/last-modified", "2024-05-02T12:00:00Z"))
    os.utime(path, (NOON + 1, NOON + 1))
    assert asked(url("a.csv"), poller.state("odf/last-modified", "2024-05-02T12:00:00Z"))


def test_globs(poller, asked):
    (poller.base / "a.csv").write_text("x")
    step = model.FetchStepFilesGlob(path="*.csv")
    assert asked(step)
    assert not asked(step, poller.state("odf/etag", "a.csv"))
    (poller.base / "b.csv").write_text("x")
    seen = asked(step, poller.state("odf/etag", "a.csv"))
    assert seen
    assert asked(step, poller.state("odf/etag", "a.csv")) == seen
    (poller.base / "b.csv").write_text("xy")
    assert asked(step, poller.state("odf/etag", "a.csv")) != seen


def test_forever_and_containers(poller, asked):
    state = poller.state("odf/etag", "1")
    assert not asked(url("http://x/", cache=model.SourceCachingForever()), state)
    assert asked(model.FetchStepContainer(image="img"), state) == UNKNOWN
    assert asked(url("ftp://127.0.0.1:1/a.csv"), state) == UNKNOWN


def test_without_a_client(server, poller):
    step, state = url(server.serve("/a", b"abc", etag='"v1"')), poller.state("odf/etag", '"v1"')
    assert not asyncio.run(check(step, base=poller.base, state=state, environment={}, options=Options()))


def test_hundreds_of_sources_in_one_loop(server, poller):
    steps = [url(server.serve(f"/{n}", b"x", etag='"v1"')) for n in range(300)]
    state = poller.state("odf/etag", '"v1"')

    async def ask_all():
        async with http_client.shared_client() as shared:

            async def ask(step):
                async with shared.turns:
                    return await check(
                        step, base=poller.base, state=state, environment={}, options=Options(), client=shared.client
                    )

            return await asyncio.gather(*map(ask, steps))

    assert asyncio.run(ask_all()) == [None] * 300


def test_waiters_share_a_client_that_keeps_no_cookies(server):
    server.serve("/a", b"x", etag='"v1"', headers={"Set-Cookie": "session=1"})

    async def ask_twice():
        async with http_client.shared_client() as shared, http_client.shared_client() as other:
            assert shared is other
            await shared.client.get(f"{server.url}/a")
            await shared.client.get(f"{server.url}/a")
        assert shared.client.is_closed

    asyncio.run(ask_twice())
    assert ["cookie" in headers for _, headers in server.requests] == [False, False]


class Told:
    """At which of some times something was told."""

    def __init__(self):
        self.changes = ChangeFilter()

    def __call__(self, seen, *times, **how):
        return [time for time in times if self.changes.should_report(seen, time, **how)]


def test_a_change_is_told_once_and_again_ever_more_rarely():
    told = Told()
    assert told(None, 0) == []
    assert told("b", 60, 120, 300, 359) == [60]
    assert told("b", 360, 420, 959, 960, 2159, 2160, 4559, 4560, 8159, 8160) == [360, 960, 2160, 4560, 8160]
    assert told("c", 8161, 8200) == [8161]


def test_what_comes_again_is_news():
    told = Told()
    assert told("b", 0) == [0]
    assert told(None, 1) == []
    assert told("b", 2, 3) == [2]


def test_what_is_no_sign_of_a_change_is_told_hourly():
    told = Told()
    assert told("unknown", 0, 300, 3599, 3600, 7199, 7200, longest=True) == [0, 3600, 7200]
