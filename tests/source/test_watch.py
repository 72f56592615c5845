from __future__ import annotations

import asyncio
import os

import httpx
import pytest

from airflow_provider_odf.errors import InvalidInput, SourceError, SourceUnavailable
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source.watch import has_changed

NOON = 1714651200  # 2024-05-02T12:00:00Z


@pytest.fixture
def asked(poller):
    """Asks once whether a step has something beyond a state."""

    def ask(step, state=None):
        async def once():
            async with httpx.AsyncClient(timeout=0.5) as client:
                return await has_changed(
                    step, base=poller.base, state=state, environment=poller.environment, client=client
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


def test_without_validators_it_always_counts_as_changed(server, poller, asked):
    step = url(server.serve("/a", b"abc"))
    assert asked(step, poller.url(step.url).files[0].state)


def test_what_a_poll_recorded_is_not_a_change(server, poller, asked):
    step = url(server.serve("/a", b"abc", modified=NOON))
    assert not asked(step, poller.url(step.url).files[0].state)


def test_a_source_that_is_not_there_yet(server, asked):
    assert not asked(url(f"{server.url}/nope"))
    assert not asked(url("nope.csv"))
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
    with pytest.raises(SourceError, match=r"HTTP 403 Forbidden$"):
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
    assert asked(step, poller.state("odf/etag", "a.csv"))


def test_forever_and_containers(poller, asked):
    state = poller.state("odf/etag", "1")
    assert not asked(url("http://x/", cache=model.SourceCachingForever()), state)
    assert asked(model.FetchStepContainer(image="img"), state)


def test_without_a_client(server, poller):
    step, state = url(server.serve("/a", b"abc", etag='"v1"')), poller.state("odf/etag", '"v1"')
    assert not asyncio.run(has_changed(step, base=poller.base, state=state, environment={}))


def test_hundreds_of_sources_in_one_loop(server, poller):
    steps = [url(server.serve(f"/{n}", b"x", etag='"v1"')) for n in range(300)]
    state = poller.state("odf/etag", '"v1"')

    async def ask_all():
        limits = httpx.Limits(max_connections=20)
        async with httpx.AsyncClient(timeout=20, limits=limits) as client:
            asks = (has_changed(s, base=poller.base, state=state, environment={}, client=client) for s in steps)
            return await asyncio.gather(*asks)

    assert asyncio.run(ask_all()) == [False] * 300
