"""URLs with templates, and what may be told of them."""

from __future__ import annotations

import pytest

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.template import Environment
from airflow_provider_odf.manifest.url import fill, public

SECRET = "s3kr1t/+ &x@:?#%"
VARIABLES = {
    "SECRET": SECRET,
    "HOST": "example.org",
    "PLACE": "localhost:8080",
    "BASE": "http://a.org:1/b",
    "DIR": "/d",
}


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://u:${{ env.SECRET }}@host/x", "http://u:s3kr1t%2F%2B%20%26x%40%3A%3F%23%25@host/x"),
        ("http://${{ env.SECRET }}@${{ env.HOST }}:80/x", "http://s3kr1t%2F%2B%20%26x%40%3A%3F%23%25@example.org:80/x"),
        ("http://${{ env.NONE || 'a/b@c' }}:p@host", "http://a%2Fb%40c:p@host"),
        ("http://${{ env.PLACE }}/x", "http://localhost:8080/x"),
        ("http://host/${{ env.SECRET }}?k=${{ env.SECRET }}", f"http://host/{SECRET}?k={SECRET}"),
        ("http://host?k=${{ env.SECRET }}", f"http://host?k={SECRET}"),
        ("${{ env.BASE }}/x", "http://a.org:1/b/x"),
        ("file://${{ env.DIR }}/x", "file:///d/x"),
        ("data/${{ env.HOST }}?x=http://b", "data/example.org?x=http://b"),
    ],
)
def test_fill(url: str, expected: str) -> None:
    assert fill(url, Environment(VARIABLES)) == expected


@pytest.mark.parametrize(
    "value", ["evil.org/", "u@evil.org", "evil.org:1", "evil.org?", "evil.org#", "a b", "a\\b", "a\n"]
)
def test_a_value_does_not_lead_to_another_host(value: str) -> None:
    for url in ("http://${{ env.X }}.example.org/x", "${{ env.X }}://example.org/x"):
        with pytest.raises(InvalidInput) as e:
            fill(url, Environment({"X": value}))
        assert str(e.value) == (
            f"{url}: a value in the host has a space or one of / \\ @ : ? # %, which would change the host"
        )


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:se%40cret@example.org:8080/a.csv?at=@&key=${{ env.KEY }}",
         "https://example.org:8080/a.csv?at=@&key=${{ env.KEY }}"),
        ("https://me:${{ env.KEY || 'a/@b' }}@host/x", "https://host/x"),
        ("data/a@b.csv", "data/a@b.csv"),
    ],
)  # fmt: skip
def test_user_and_password_are_not_public(url: str, shown: str) -> None:
    assert public(url) == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:secret@h/a.csv", "https://h/a.csv"),
        ("https://h/a?apikey=f00&year=2024", "https://h/a?apikey=***&year=2024"),
        ("https://h/a?keyword=x&key=${{ env.KEY }}", "https://h/a?keyword=x&key=${{ env.KEY }}"),
        ("https://h/a?token=${{ env.T || 'f00&1' }}#top", "https://h/a?token=${{ env.T || '***' }}#top"),
        ("https://h/a?X-Amz-Signature=f00", "https://h/a?X-Amz-Signature=***"),
        ("https://h/a?clientSecret=f00&accessToken=1", "https://h/a?clientSecret=***&accessToken=***"),
        ("data/a?b.csv", "data/a?b.csv"),
    ],
)
def test_public(url: str, shown: str):
    assert public(url) == shown
