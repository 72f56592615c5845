"""No input raises anything but ValueError, and no credential of an input becomes part of a name or a message."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import quote, unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_provider_odf.lineage.naming import web
from airflow_provider_odf.lineage.naming.uri import from_uri

URLS = [
    "https://{user}:{secret}@example.com/a?b=1",
    "https://{secret}@example.com/a",
    "http://example.com/a?token={secret}&b=1&password={secret}#x",
    "https://b.s3.amazonaws.com/k?X-Amz-Credential={secret}&X-Amz-Signature={secret}&X-Amz-Date=1",
    "https://acct.blob.core.windows.net/c/p?sv=1&sig={secret}",
    "ftp://{user}:{secret}@h/a",
    "s3://{user}:{secret}@bucket/k",
    "hdfs://{user}:{secret}@nn:8020/p",
    "abfss://{user}:{secret}@acct/p",
    "kafka://{user}:{secret}@h1:9092,{user}:{secret}@h2:9092/t",
    "postgres://{user}:{secret}@h:5432/db.s.t",
    "postgresql://{user}:{secret}@h/db/s/t?sslpassword={secret}",
    "mongodb://{user}:{secret}@h/db/coll?authToken={secret}",
    "snowflake://{user}:{secret}@org-acct/D.S.T",
    "sqlserver://{user}:{secret}@h:1433;database=d;password={secret}/d.s.t",
    "file://{user}:{secret}@host/p",
    "box://{user}:{secret}@h/e/k",
    "bigquery://{user}:{secret}@p/d/t",
    "inmemory://{user}:{secret}@t",
    "jdbc:postgresql://{user}:{secret}@h/db?user={user}&password={secret}",
    "jdbc:mysql://{user}:{secret}@h1:1,{user}:{secret}@h2:2/db",
    "jdbc:mysql://address=(host=h1)(user={user})(password={secret}),address=(host=h2)(password={secret})/db",
    "jdbc:mysql://(host=h1,user={user},password={secret})/db",
    "jdbc:oracle:thin:{user}/{secret}@//h:1521/svc",
    "jdbc:oracle:thin:{user}/{secret}@(DESCRIPTION=(ADDRESS=(HOST=h))(CONNECT_DATA=(SID=s))(PASSWORD={secret}))",
    "jdbc:oracle:thin:{user}/{secret}@(DESCRIPTION=(broken",
    "jdbc:sqlserver://h;user={user};password={secret};databaseName=d",
    "jdbc:jtds:sqlserver://h/d;password={secret}",
    "jdbc:teradata://h/USER={user},PASSWORD={secret},DATABASE=d",
    "jdbc:db2://h/d:user={user};password={secret};",
    "jdbc:redshift://h:5439/d?uid={user}&PWD={secret}",
    "jdbc:snowflake://org-acct.snowflakecomputing.com/?user={user}&password={secret}&db=d",
    "jdbc:bigquery://https://x:443;ProjectId=p;OAuthAccessToken={secret}",
    "jdbc:databricks://h:443;UID=token;PWD={secret}",
    "jdbc:awsathena://AwsRegion=us-east-1;UID=AKIA;PWD={secret}",
    "jdbc:trino://{user}:{secret}@h/c/s?accessToken={secret}",
    "jdbc:hive2://h:10000/d;user={user};password={secret}",
    "jdbc:clickhouse:https://{user}:{secret}@h/d?password={secret}",
    "jdbc:unknown://{user}:{secret}@h/d;password={secret}",
    "jdbc:unknown://h:user={user};password={secret};x=1",
    "jdbc:unknown:{user}:{secret}@h",
    "jdbc:unknown:x;accessToken={secret};y=1",
    "jdbc:derby:;databaseName=d;user={user};password={secret}",
]

WITHOUT_SCHEME = [
    "//{user}:{secret}@h/x",
    "//{secret}@h/x",
    "///{user}:{secret}@h/x",
    " //{user}:{secret}@h/x",
    "://{user}:{secret}@h/x",
    "{user}:{secret}@h/x",
    "my_{user}:{secret}@h:/x",
    "http//{user}:{secret}@h/x",
    "1http://{user}:{secret}@h/x",
    "my_scheme://{user}:{secret}@h/x",
    " https://{user}:{secret}@h/x",
    "<https://{user}:{secret}@h/x>",
    "'postgres://{user}:{secret}@h/x'",
    "\\\\{user}:{secret}@h\\x",
    "http:\\\\{user}:{secret}@h/x",
    "http:/{user}:{secret}@h/x",
    "file:{user}:{secret}@h/x",
    "file:////{user}:{secret}@h/x",
]
"""Spellings that no scheme is read from, or another one."""

SECRETS = st.text("aZ5-._~ é€", min_size=1, max_size=8).map(lambda text: f"zQ9x{text}x9Qz")
RAW = st.text("aZ5-._~!$&*+,;=:@/?#%'()[]{}|^ é", min_size=1, max_size=8).map(lambda text: f"zQ9x{text}x9Qz")


def said(uri: str) -> str:
    """Everything that a URI becomes: names, or a message; decoded too."""
    try:
        names = from_uri(uri, "t" if uri.startswith("jdbc:") else None)
    except ValueError as e:
        return str(e)
    texts = [part for i in (names.current, names.former, *names.others) if i for part in (i.namespace, i.name)]
    return "\n".join([*texts, *map(unquote, texts)])


@given(
    st.sampled_from([*URLS, *WITHOUT_SCHEME]),
    SECRETS,
    st.sampled_from([str, quote, lambda s: "".join(f"%{b:02x}" for b in s.encode())]),
)
def test_no_credentials_in_names(url: str, secret: str, spelling: object) -> None:
    text = said(url.format(user="uSeR7", secret=spelling(secret)))  # type: ignore[operator]
    assert secret not in text
    assert "zQ9x" not in text
    assert "x9Qz" not in text


@given(st.sampled_from(URLS), RAW)
@example("jdbc:mysql://address=(host=h1)(password={secret}),address=(host=h2)(password={secret})/db", "zQ9x)/x9Qz")
@example("jdbc:mysql://address=(host=h1)(password={secret})/db", "zQ9x)/x?x9Qz")
def test_no_credentials_that_are_not_encoded(url: str, secret: str) -> None:
    assert secret not in said(url.format(user="uSeR7", secret=secret))


@pytest.mark.parametrize("url", URLS)
def test_no_user_in_names(url: str) -> None:
    text = said(url.format(user="uSeR7", secret="zQ9x"))
    assert "user7" not in text.lower()
    assert "zq9x" not in text.lower()


@given(st.text(), st.none() | st.text())
@example("http://[::1", None)
@example("https://h:99999999/x", None)
@example("jdbc:oracle:thin:@" + "(" * 5000, "t")
@example("jdbc:sqlserver://h;" + "{" * 5000, "t")
@example("\0", None)
def test_any_text_has_a_name_or_none(uri: str, table: str | None) -> None:
    with suppress(ValueError):
        from_uri(uri, table)


@given(
    st.sampled_from(sorted({*web.PORTS, "s3", "gs", "abfss", "hdfs", "postgres", "snowflake", "jdbc:mysql", "x"})),
    st.text(),
)
def test_any_address_has_a_name_or_none(scheme: str, rest: str) -> None:
    with suppress(ValueError):
        from_uri(f"{scheme}://{rest}", "t")


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("", "the URI is missing"),
        ("http://[::1", "the URI is not valid"),
        ("https:///x", "the address has no host"),
        ("https://h:port/x", "the address has an invalid host or port"),
        ("s3:///k", "the s3 URI has no bucket or an invalid one"),
        ("gs://", "the gs URI has no bucket or an invalid one"),
        ("abfss://acct/p", "the abfss URI names no container: write abfss://CONTAINER@ACCOUNT/PATH"),
        ("kafka://h", "the kafka URI has no topic"),
        ("postgres:///db.s.t", "the address has no host"),
        ("postgres://h/db", "the URI names no table"),
        ("bigquery:ds.t", "the URI names no table"),
        ("mailto:me@example.com", "there is no naming rule for mailto URIs without a host and a path"),
        ("arn:aws:s3:::b/k", "there is a naming rule for ARNs of tables in AWS Glue only"),
        ("https://me:pa/55@h/x", "the credentials in the URI are not percent-encoded"),
    ],
)
def test_no_name(uri: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        from_uri(uri)
    assert str(caught.value) == message


@pytest.mark.parametrize("url", WITHOUT_SCHEME)
@pytest.mark.parametrize("secret", ["zq9s", "zq/9s", "zq?9s", "zq#9s", "zq@9s", "zq:9s"])
def test_a_uri_without_a_valid_scheme_has_no_name(url, secret):
    assert "9s" not in said(url.format(user="u", secret=secret))


@pytest.mark.parametrize("path", ["./u:pw@h/x", "/data/u:pw@h/x", "a@b/x", "/mnt/me@home.csv", "data/T10:00@x.csv"])
def test_paths_may_have_an_at_sign(path):
    assert from_uri(path, base="/w").current.name == f"/w/{path}".replace("/w//", "/").replace("/./", "/")
