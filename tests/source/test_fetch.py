"""Templates in the URLs and headers of a fetch step: values reach the server, and no message."""

from __future__ import annotations

import asyncio

import pytest

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source.fetchers import check
from airflow_provider_odf.source.options import Options

SECRET = "s3kr1t/+ &x@:?#%"


@pytest.mark.parametrize(
    "url",
    [
        "http://host:8${{ env.PART }}/x",
        "ftp://host:8${{ env.PART }}/x",
        "http://[${{ env.PART }}/x",
        "http://${{ env.WIDE }}/x",
        "http://host/${{ env.LINES }}",
    ],
)
def test_nothing_of_a_value_is_told(poller, url: str) -> None:
    poller.environment |= {"PART": "S3kr1t", "WIDE": "s3kr1t\u2100", "LINES": "s3kr1t\nx"}
    with pytest.raises(InvalidInput) as e:
        poller.url(url)
    assert str(e.value).startswith(f"{url}: not a valid URL after its templates are filled: correct the URL")
    assert e.value.__cause__ is None


def test_nothing_of_a_value_is_told_while_waiting(poller) -> None:
    step = model.FetchStepUrl(url="http://host:8${{ env.PART }}/x")
    with pytest.raises(InvalidInput) as e:
        asyncio.run(check(step, base=poller.base, state=None, environment={"PART": "S3kr1t"}, options=Options()))
    assert str(e.value).startswith("http://host:8${{ env.PART }}/x: not a valid URL after its templates are filled: ")


def test_a_password_from_a_template_reaches_the_server(server, poller) -> None:
    poller.environment["SECRET"] = SECRET
    url = server.serve("/a", b"x", etag='"1"').replace("http://", "http://me:${{ env.SECRET }}@")
    assert poller.content(poller.url(url)) == [b"x"]
    assert server.requests[0][1]["authorization"] == "Basic bWU6czNrcjF0LysgJnhAOj8jJQ=="


def test_a_header_is_checked_before_a_library_quotes_it(server, poller) -> None:
    url = server.serve("/a", b"x", etag='"1"')
    poller.environment["KEY"] = " s3kr1t "
    poller.url(url, headers=(model.RequestHeader(name="X-Key", value="${{ env.KEY }}"),))
    assert server.requests[0][1]["x-key"] == "s3kr1t"
    with pytest.raises(InvalidInput, match="'X Key' is not a valid header name"):
        poller.url(url, headers=(model.RequestHeader(name="X Key", value="${{ env.KEY }}"),))
