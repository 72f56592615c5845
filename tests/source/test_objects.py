"""Objects of a store as sources: one by its URI, or all that match a pattern."""

from __future__ import annotations

import asyncio
import gzip
from uuid import uuid4

import pytest

from airflow_provider_odf import object_stores
from airflow_provider_odf.errors import InvalidInput, SourceError, SourceUnavailable
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source import files_glob
from airflow_provider_odf.source.fetchers import check
from airflow_provider_odf.source.options import Options
from airflow_provider_odf.source.push import Receiver
from tests.s3 import try_few_times, use

from .conftest import PATIENT, SYSTEM_TIME

ABC, ABD = '"900150983cd24fb0d6963f7d28e17f72"', '"4911e516e5aa21d327512e0c8b197616"'
"""ETags of the content ``abc`` and ``abd``."""

CONTENT = bytes(range(256)) * 20_000


def asked(poller, step, state=None, **known):
    return asyncio.run(
        check(step, base=poller.base, state=state, environment=poller.environment, options=Options(), **known)
    )


def states(polled):
    return [(file.state.kind, file.state.value) for file in polled.files]


# --- one object -----------------------------------------------------------------------------------------------------


def test_an_object_is_fetched_when_its_etag_changes(poller, bucket):
    uri = f"{bucket.uri}/in/a b#1?%20.csv"
    assert bucket.put("in/a b#1?%20.csv", b"abc") == ABC
    polled = poller.url(uri)
    assert poller.content(polled) == [b"abc"]
    assert states(polled) == [("odf/etag", ABC)]
    assert polled.files[0].label == uri
    assert poller.url(uri, state=polled.files[0].state) is None
    bucket.put("in/a b#1?%20.csv", b"abd")
    assert states(poller.url(uri, state=polled.files[0].state)) == [("odf/etag", ABD)]


def test_a_waiting_trigger_is_told_of_a_change(poller, bucket):
    step = model.FetchStepUrl(url=f"{bucket.uri}/a.csv")
    with pytest.raises(SourceUnavailable, match=rf"^{bucket.uri}/a\.csv: no such object$"):
        asked(poller, step)
    bucket.put("a.csv", b"abc")
    assert asked(poller, step) == ABC
    assert asked(poller, step, poller.state("odf/etag", ABC)) is None
    bucket.put("a.csv", b"abd")
    assert asked(poller, step, poller.state("odf/etag", ABC)) == ABD


def test_templates_and_event_times(poller, bucket):
    bucket.put("in/2024-05-02.csv", b"abc")
    poller.environment |= {"BUCKET": bucket.uri.removeprefix("s3://"), "DAY": "2024-05-02"}
    pattern = model.EventTimeSourceFromPath(pattern=r"/(\d{4}-\d\d-\d\d)\.csv$")
    polled = poller.url("s3://${{ env.BUCKET }}/in/${{ env.DAY }}.csv", event_time=pattern)
    assert str(polled.files[0].event_time) == "2024-05-02T00:00:00Z"
    assert polled.files[0].label == "s3://${{ env.BUCKET }}/in/${{ env.DAY }}.csv"


def test_decompressed(poller, bucket):
    bucket.put("a.csv.gz", gzip.compress(b"abc"))
    bucket.put("encoded", gzip.compress(b"abc"), **{"Content-Encoding": "gzip"})
    step = model.PrepStepDecompress(format="Gzip")
    assert poller.content(poller.url(f"{bucket.uri}/a.csv.gz", step)) == [b"abc"]
    assert poller.content(poller.url(f"{bucket.uri}/encoded")) == [b"abc"]


def test_errors_name_the_object_and_no_credentials(poller, bucket, monkeypatch):
    message = rf"^{bucket.uri}/nope: no such object or bucket: correct the URI, or put the object there$"
    with pytest.raises(SourceError, match=message):
        poller.url(f"{bucket.uri}/nope")
    with pytest.raises(
        SourceError, match=r": The specified bucket does not exist \(NoSuchBucket\): check the URI, or make the bucket$"
    ) as missing:
        poller.glob("s3://no-such-bucket/*.csv")
    assert not missing.value.is_transient
    for uri in ("s3://key:hunter2@b/a", "s3://hunter2@b/a", "s3://b/a?sig=hunter2", "abfss://c:hunter2@a.b/x"):
        with pytest.raises(InvalidInput, match="credentials come from the environment") as refused:
            poller.url(uri)
        assert "hunter2" not in str(refused.value)
    assert poller.leftovers == []


def test_a_large_object_is_above_the_limit(poller, bucket):
    bucket.put("a", b"abc")
    with pytest.raises(SourceError, match="larger than 2 bytes, the limit for downloads"):
        poller.url(f"{bucket.uri}/a", options=Options(largest_download=2))


@pytest.fixture
def scripted(server, monkeypatch):
    """The URI of an object whose server fails as a test says."""
    use(server.url, monkeypatch)
    try_few_times(monkeypatch)

    def serve(content=CONTENT, **properties):
        server.serve("/bucket/a", content, etag='"v1"', modified=1714651200, **properties)
        return "s3://bucket/a"

    return serve


def test_cut_connections_and_overload_are_retried(poller, server, scripted):
    uri = scripted(cuts=[1_500_000, 1_200_000], statuses=[503])
    assert poller.content(poller.url(uri)) == [CONTENT]
    assert server.answers == [503, 200, 206, 206]
    assert [headers.get("range", "").partition("-")[0] for _, headers in server.requests] == [
        "",
        "",
        "bytes=1500000",
        "bytes=2700000",
    ]


def test_a_change_during_the_read_begins_anew(poller, server, scripted):
    new = CONTENT[::-1]

    def change(resource):
        if len(server.requests) == 2:
            resource.content, resource.etag = new, '"v2"'

    polled = poller.url(scripted(cuts=[1_500_000], on_request=change))
    assert poller.content(polled) == [new]
    assert states(polled) == [("odf/etag", '"v2"')]


def test_a_refusal_is_not_retried(poller, server, scripted):
    with pytest.raises(
        SourceError, match=r"^s3://bucket/a: permission denied to read \(check the credentials"
    ) as refused:
        poller.url(scripted(statuses=[403]))
    assert server.answers == [403]
    assert not isinstance(refused.value, SourceUnavailable)
    assert "secret" not in str(refused.value)


def listing(*keys: str, more: str = "") -> bytes:
    """The answer of S3 to a listing."""
    about = "<Size>1</Size><ETag>x</ETag><LastModified>2024-05-02T12:00:00.000Z</LastModified>"
    objects = "".join(f"<Contents><Key>{key}</Key>{about}</Contents>" for key in keys)
    token = f"<NextContinuationToken>{more}</NextContinuationToken>" if more else ""
    return f"<ListBucketResult>{objects}{token}</ListBucketResult>".encode()


# --- objects that match a pattern -----------------------------------------------------------------------------------


def test_new_objects_in_the_order_of_their_names(poller, bucket):
    for key in ("in/b.csv", "in/x/a.csv", "in/.hidden.csv", "in/c.txt", "other/0.csv"):
        bucket.put(key, key.encode())
    pattern = f"{bucket.uri}/in/**/*.csv"
    polled = poller.glob(pattern)
    assert [file.label for file in polled.files] == [f"{bucket.uri}/in/x/a.csv", f"{bucket.uri}/in/b.csv"]
    assert poller.content(polled) == [b"in/x/a.csv", b"in/b.csv"]
    assert states(polled) == [("odf/etag", "a.csv"), ("odf/etag", "b.csv")]
    assert poller.glob(pattern, poller.state("odf/etag", "b.csv")) is None
    bucket.put("in/c.csv", b"c")
    assert states(poller.glob(pattern, poller.state("odf/etag", "b.csv"))) == [("odf/etag", "c.csv")]


def test_the_text_before_the_first_wildcard_limits_the_listing(poller, server, scripted):
    """The first page ends behind it, so that the second page is not asked for."""
    scripted()
    server.serve("/bucket", listing("in/2024-1.csv", *(f"in/2025-{n}.csv" for n in range(999)), more="x"))
    server.serve("/bucket/in/2024-1.csv", b"x", etag="x", modified=1714651200)
    assert [file.label for file in poller.glob("s3://bucket/in/2024*.csv").files] == ["s3://bucket/in/2024-1.csv"]
    assert [path for path, _ in server.requests] == [
        "/bucket?list-type=2&prefix=in%2F&start-after=in%2F202",
        "/bucket/in/2024-1.csv",
    ]


def test_no_object_is_an_error_only_at_first(poller, bucket):
    with pytest.raises(SourceError, match=rf"^{bucket.uri}/in/\*\.csv: no file matches$"):
        poller.glob(f"{bucket.uri}/in/*.csv")
    assert poller.glob(f"{bucket.uri}/in/*.csv", poller.state("odf/etag", "a.csv")) is None


def test_objects_that_stand_for_folders_are_left_out(poller, bucket):
    for key in ("in/", "in/sub/", "in/sub/a", "in/b"):
        bucket.put(key, key.encode() * (not key.endswith("/")))
    assert [file.label for file in poller.glob(f"{bucket.uri}/in/*").files] == [f"{bucket.uri}/in/b"]


def test_one_object_by_its_name_and_by_event_time(poller, bucket):
    bucket.put("in/b-20240501.csv", b"b")
    bucket.put("in/a-20240502.csv", b"a")
    bucket.put("in/a-20240502.csv.bak", b"a")
    pattern = model.EventTimeSourceFromPath(pattern=r"(\d{8})", timestamp_format="yyyyMMdd")
    step = {"order": "ByEventTime", "event_time": pattern}
    assert states(poller.glob(f"{bucket.uri}/in/*.csv", **step)) == [
        ("odf/event-time", "2024-05-01T00:00:00Z b-20240501.csv"),
        ("odf/event-time", "2024-05-02T00:00:00Z a-20240502.csv"),
    ]
    assert states(poller.glob(f"{bucket.uri}/in/a-20240502.csv")) == [("odf/etag", "a-20240502.csv")]


def test_stamps_are_etags(poller, bucket):
    for name in ("a", "b"):
        bucket.put(f"in/{name}", b"abc")
    step = model.FetchStepFilesGlob(path=f"{bucket.uri}/in/*")
    a, b = f"{bucket.uri}/in/a", f"{bucket.uri}/in/b"
    known = files_glob.stamps(step, poller.base, None, PATIENT, system_time=SYSTEM_TIME, discarded={})
    assert known == {a: ABC, b: ABC}
    assert poller(step, discarded=known) is None
    assert files_glob.changed(poller.base, known) == []
    assert asked(poller, step, rejected=known) is None
    bucket.put("in/a", b"abd")
    bucket.delete("in/b")
    assert files_glob.changed(poller.base, known) == [a]
    assert [file.stamp for file in poller(step, discarded=known).files] == [ABD]
    assert asked(poller, step, rejected=known)


def test_objects_of_every_server(poller, object_server, monkeypatch):
    object_server.use(monkeypatch)
    uri = f"{object_server.bucket}/{uuid4().hex}"
    _, prefix = object_stores.split(uri)
    client = object_stores.client(object_server.bucket)
    for key in ("in/2023-1.csv", "in/2024-2.csv", "in/2024-1 a&b.csv"):
        client.put(f"{prefix}/{key}", key.encode())
    step = model.FetchStepFilesGlob(path=f"{uri}/in/2024*.csv")
    known = files_glob.stamps(step, poller.base, None, PATIENT, system_time=SYSTEM_TIME, discarded={})
    polled = poller(step)
    assert poller.content(polled) == [b"in/2024-1 a&b.csv", b"in/2024-2.csv"]
    assert known == {file.label: file.stamp for file in polled.files}
    assert files_glob.changed(poller.base, known) == []
    assert poller(step, state=polled.files[-1].state) is None
    one = poller.url(f"{uri}/in/2023-1.csv")
    assert poller.content(one) == [b"in/2023-1.csv"]
    assert poller.url(f"{uri}/in/2023-1.csv", state=one.files[0].state) is None
    client.put(f"{prefix}/in/2024-2.csv", b"new")
    assert files_glob.changed(poller.base, known) == [f"{uri}/in/2024-2.csv"]


def test_thousands_of_objects(poller, bucket):
    """More than a page."""
    for number in range(1200):
        bucket.put(f"in/{number:04}.csv", str(number).encode())
    polled = poller.glob(f"{bucket.uri}/in/*.csv", poller.state("odf/etag", "0999.csv"))
    assert poller.content(polled) == [str(number).encode() for number in range(1000, 1200)]
    assert asked(poller, model.FetchStepFilesGlob(path=f"{bucket.uri}/in/*.csv"), polled.files[-1].state) is None


def test_objects_before_one_that_cannot_be_read_are_kept(poller, server, scripted):
    scripted()
    server.serve("/bucket", listing("in/a", "in/b", "in/c"))
    for name in "abc":
        server.serve(f"/bucket/in/{name}", name.encode(), etag=name, modified=1714651200)
    server.resources["/bucket/in/b"].statuses = [503] * 20
    polled = poller.glob("s3://bucket/in/*")
    assert [file.label for file in polled.files] == ["s3://bucket/in/a"]
    assert "(this file and those after it wait for the next poll)" in polled.warnings[0]


# --- pushed objects -------------------------------------------------------------------------------------------------


def test_pushed_objects(tmp_path, bucket):
    for key in ("out/b.csv", "out/a.csv", "out/_SUCCESS", "other.csv"):
        bucket.put(key, key.encode())
    receiver = Receiver(lambda: tmp_path, SYSTEM_TIME, print, PATIENT)
    files = receiver.receive([f"{bucket.uri}/other.csv", f"{bucket.uri}/out/"])
    assert [path.read_bytes() for path in files.paths] == [b"other.csv", b"out/a.csv", b"out/b.csv"]
    with pytest.raises(InvalidInput, match=r"/none/: no objects below this URI$"):
        receiver.receive([f"{bucket.uri}/none/"])
