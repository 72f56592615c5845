from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_odf.lineage.naming import Identifier
from airflow_provider_odf.lineage.naming.uri import from_glob, from_pattern, from_uri


def primary(uri: str, **options: object) -> tuple[str, str]:
    name = from_uri(uri, **options).in_edition().primary
    return name.namespace, name.name


@pytest.mark.parametrize(
    ("uri", "namespace", "name"),
    [
        ("/p", "file", "/p"),
        ("/p/", "file", "/p"),
        ("/a b/c#d?e%20f", "file", "/a b/c#d?e%20f"),
        ("file:/p", "file", "/p"),
        ("file:///p/x.csv", "file", "/p/x.csv"),
        ("FILE:///p/a%20b", "file", "/p/a b"),
        ("file:///p/a#b?c", "file", "/p/a#b?c"),
        ("file://localhost/p", "file", "/p"),
        ("file://host/p", "file://host", "/p"),
        ("/", "file", "/"),
        ("/a/../b//c", "file", "/b/c"),
        ("s3://bucket/key/x/", "s3://bucket", "key/x"),
        ("s3a://Bucket/k%20x", "s3://Bucket", "k x"),
        ("s3n://bucket", "s3://bucket", "/"),
        ("gs://bucket/k", "gs://bucket", "k"),
        ("gcs://bucket/k", "gs://bucket", "k"),
        ("abfss://c@acct.dfs.core.windows.net/p/x", "abfss://c@acct.dfs.core.windows.net", "p/x"),
        ("abfs://c@acct.dfs.core.windows.net/p", "abfss://c@acct.dfs.core.windows.net", "p"),
        ("wasb://c@acct.blob.core.windows.net/p", "wasbs://c@acct.blob.core.windows.net", "p"),
        ("hdfs://nn:8020/w/t/", "hdfs://nn:8020", "/w/t"),
        ("hdfs://nn/", "hdfs://nn", "/"),
        ("dbfs:/p", "dbfs", "/p"),
        ("dbfs://ws/p", "dbfs://ws", "/p"),
        ("kafka://h:9092,i:9092/topic", "kafka://h:9092", "topic"),
        ("https://Example.com/Data/x.csv", "https://example.com", "/Data/x.csv"),
        ("https://example.com:443/x", "https://example.com", "/x"),
        ("http://example.com:8080/x/", "http://example.com:8080", "/x/"),
        ("http://example.com", "http://example.com", "/"),
        ("http://[::1]:8080/x", "http://[::1]:8080", "/x"),
        ("https://user:pw@example.com/x", "https://example.com", "/x"),
        ("https://example.com/x?b=2&a=1#part", "https://example.com", "/x?a=1&b=2"),
        ("https://example.com/x?api_key=1&a=1&X-Amz-Signature=f&TOKEN=t", "https://example.com", "/x?a=1"),
        ("ftp://u@example.com/x", "ftp://example.com", "/x"),
        ("https://example.com/%7ea%2fb%c3%a9", "https://example.com", "/~a%2Fb%C3%A9"),
        ("https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature=2&v=3", "https://b.s3.amazonaws.com", "/k?v=3"),
        (
            "https://acct.blob.core.windows.net/c/p?sv=1&se=2&sig=3&part=4",
            "https://acct.blob.core.windows.net",
            "/c/p?part=4",
        ),
        ("https://example.com/x?sv=1&Expires=2", "https://example.com", "/x?Expires=2&sv=1"),
        ("sftp://h:22/x", "sftp://h", "/x"),
        ("viewfs://cluster/p", "viewfs://cluster", "/p"),
        ("hdfs:///p", "hdfs", "/p"),
        ("gopher://u:p@X:1/y/?q", "gopher://X:1", "/y"),
        ("custom:/p", "custom", "/p"),
    ],
)
def test_uris(uri: str, namespace: str, name: str):
    assert primary(uri) == (namespace, name)


def test_relative_paths_are_made_absolute(tmp_path: Path):
    assert primary("data/../x.csv", base=str(tmp_path)) == ("file", f"{tmp_path}/x.csv")
    assert primary("file:x.csv", base=str(tmp_path)) == ("file", f"{tmp_path}/x.csv")


def test_parameters_are_sorted():
    assert primary("https://h/x?b=2&a=1") == ("https://h", "/x?a=1&b=2")


def test_file_authority_of_2024():
    named = from_uri("/p").in_edition("2024")
    assert named.primary == Identifier("file://127.0.0.1:0", "/p")
    assert named.symlinks == (Identifier("file", "/p"),)


def test_globs_are_named_by_their_directory(tmp_path: Path):
    def name(pattern: str) -> str:
        return from_glob(pattern, base=str(tmp_path)).in_edition().primary.name

    assert name("/data/x-*.csv") == "/data"
    assert name("/data/*/x.csv") == "/data"
    assert name("/*.csv") == "/"
    assert name("in/*.csv") == f"{tmp_path}/in"
    assert name("*.csv") == str(tmp_path)
    assert name("/data/x.csv") == "/data"
    assert name("/data/${{ env.YEAR }}/x.csv") == "/data"


@pytest.mark.parametrize(
    ("pattern", "namespace", "name"),
    [
        ("s3a://b/orders/*.json", "s3://b", "orders"),
        ("s3://b/data-??.json", "s3://b", "/"),
        ("s3://b/k?versionId=3", "s3://b", "k"),
        ("gs://b/{year}/x", "gs://b", "/"),
        ("abfss://c@acct.dfs.core.windows.net/p/[0-9]/x", "abfss://c@acct.dfs.core.windows.net", "p"),
        ("hdfs://[::1]:8020/p/${DAY}/x", "hdfs://[::1]:8020", "/p"),
        ("file:/p/{{ ds }}.csv", "file", "/p"),
        ("/p/a?.csv", "file", "/p"),
        ("https://h/orders/{id}?b=1", "https://h", "/orders"),
        ("https://h/orders?day={day}&b=1", "https://h", "/orders?b=1"),
        ("https://h/what?a", "https://h", "/what?a"),
        ("postgres://h/db.s.orders", "postgres://h:5432", "db.s.orders"),
        ("jdbc:postgresql://h/db.s.t?options={x}", "postgres://h:5432", "db.s.t.orders"),
    ],
)
def test_patterns_are_named_by_the_folder_before_a_wildcard(pattern: str, namespace: str, name: str):
    table = "orders" if pattern.startswith("jdbc") else None
    assert from_pattern(pattern, table).current == Identifier(namespace, name)


@given(st.data())
def test_no_name_has_a_wildcard_or_a_placeholder(data: st.DataObject):
    """And it is that of the folder before the first, as somebody would write it by hand."""
    root = data.draw(
        st.sampled_from(["", "file:", "s3://b", "s3a://b", "gs://b", "hdfs://n:1", "https://h", "sftp://h"])
    )
    plain = st.text("ab-_.1", min_size=1, max_size=4).filter(lambda level: level.strip("."))
    known = data.draw(st.lists(plain, max_size=3))
    variable = data.draw(
        st.sampled_from(["*", "**", "{a,b}", "[0-9]", "${DAY}", "{{ ds }}", "{model}", "${{ env.D }}"])
    )
    level = data.draw(st.sampled_from(["", "a", "1."])) + variable + data.draw(st.sampled_from(["", "b", ".csv"]))
    rest = data.draw(st.lists(plain | st.just("*"), max_size=2))
    pattern = "/".join([root, *known, level, *rest])
    by_hand = "/".join([root, *known]) if known else f"{root}/"
    assert from_pattern(pattern) == from_uri(by_hand)
    if not root:
        assert from_glob(pattern) == from_uri(by_hand)


@pytest.mark.parametrize(
    ("uri", "message"),
    [("mailto:x", "no naming rule for mailto URIs"), ("abfss://acct/p", "names no container")],
)
def test_no_rule(uri: str, message: str):
    with pytest.raises(ValueError, match=message):
        from_uri(uri)


@pytest.mark.parametrize(
    ("uri", "namespace"),
    [
        ("/", "file"),
        ("/warehouse/x/", "file:/warehouse/x"),
        ("file:///w", "file:/w"),
        ("dbfs:/w/x", "dbfs:/w/x"),
        ("s3a://b", "s3://b"),
        ("s3://b/w/x/", "s3://b/w/x"),
        ("gs://b/w", "gs://b/w"),
        ("hdfs://nn:8020/w/", "hdfs://nn:8020/w"),
        ("abfs://c@a.dfs.core.windows.net/w", "abfss://c@a.dfs.core.windows.net/w"),
    ],
)
def test_tables_of_a_warehouse(uri: str, namespace: str) -> None:
    """The names that Spark's listener gives tables of a catalog."""
    assert from_uri(uri, "default.t").current == Identifier(namespace, "default.t")
