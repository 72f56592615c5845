import json
import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from airflow.sdk import Connection

from airflow_provider_odf import object_stores
from airflow_provider_odf.errors import EngineLost, InvalidInput, StorageError
from airflow_provider_odf.hooks import connections
from airflow_provider_odf.hooks.odf import OdfHook
from airflow_provider_odf.protocol import RawQueryRequest, ReadStep, Transform
from airflow_provider_odf.runner import SparkSubmitRunner
from tests.object_servers import PROGRAMS
from tests.s3 import Guarded, guarded_s3, relaying


@pytest.fixture(scope="module")
def guarded():
    with guarded_s3() as server:
        yield server


@pytest.fixture
def connect(monkeypatch):
    """Sets the connection of all buckets, by its fields."""
    for name in [n for n in os.environ if n.startswith(("AWS_", "AZURE_", "GOOGLE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(object_stores, "_access_of", object_stores._access_of)

    def connect(conn_type="aws", *, schemes=("s3",), **fields):
        monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": conn_type, **fields}))
        monkeypatch.setenv("AIRFLOW__ODF__OBJECT_STORE_CONNECTIONS", ",".join(f"{s}=lake" for s in schemes))
        object_stores._client.cache_clear()
        object_stores._accesses.clear()

    yield connect
    object_stores._client.cache_clear()
    object_stores._accesses.clear()


def aws(server: Guarded, endpoint: str | None = None, **extra):
    extra |= {"endpoint_url": endpoint or server.endpoint, "region_name": "us-east-1"}
    return {"login": server.key, "password": server.secret, "extra": extra}


def problem() -> str:
    ok, message = OdfHook(store="s3://bucket/odf").test_connection()
    assert not ok
    return message


def test_keys_of_a_connection(connect, guarded):
    connect(**aws(guarded))
    assert OdfHook(store="s3://bucket/odf").test_connection() == (True, "0 datasets in s3://bucket/odf")
    object_stores.client("s3://bucket").put("a", b"1")
    assert b"".join(object_stores.chunks("s3://bucket/a")) == b"1"


def test_a_connection_for_one_bucket_comes_before_that_of_its_scheme(connect, guarded, monkeypatch):
    connect(**aws(guarded))
    monkeypatch.setenv("AIRFLOW__ODF__OBJECT_STORE_CONNECTIONS", "s3=other, s3://bucket=lake")
    assert OdfHook(store="s3://bucket/odf").test_connection()[0]
    message = "s3://partner: connection 'other' does not exist: create it, or correct [odf] object_store_connections"
    assert OdfHook(store="s3://partner/odf").test_connection() == (False, message)


def test_wrong_credentials_are_refused_and_the_error_names_the_connection(connect, guarded):
    connect(**aws(guarded) | {"password": "wr0ng"})
    assert problem() == (
        "s3://bucket/odf: permission denied to list: The request signature we calculated does not match the signature "
        "you provided. Check your key and signing method (SignatureDoesNotMatch) "
        "(check the credentials of connection 'lake' and their rights to this bucket)"
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"conn_type": "http"}, "s3://bucket: connection 'lake' is of type 'http': use 'aws'"),
        ({}, "s3://bucket/odf: connection 'lake' gives no credentials: it has no keys, and this machine has no role"),
        (
            {"extra": {"role_arn": "arn", "assume_role_method": "x"}},
            "connection 'lake' gives no credentials: Found assume_role_method='x' in AWS Connection",
        ),
    ],
)
def test_connections_that_do_not_fit(connect, fields, message):
    connect(**fields)
    assert problem().startswith(message)


def test_an_endpoint_of_the_environment_that_would_win(connect, guarded, monkeypatch):
    connect(**aws(guarded))
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    assert problem() == (
        f"connection 'lake': AWS_ENDPOINT_URL_S3 would override its endpoint {guarded.endpoint}: unset this variable"
    )


def test_credentials_of_a_role_are_asked_for_again_before_they_end(connect, guarded, monkeypatch):
    with relaying(guarded.endpoint) as sts:
        role = {"role_arn": guarded.role, "service_config": {"sts": {"endpoint_url": sts.url}}}
        connect(**aws(guarded, **role))
        assumed = lambda: len([1 for method, _ in sts.requests if method == "POST"])  # noqa: E731
        OdfHook(store="s3://bucket/odf").get_conn()
        client = object_stores.client("s3://bucket")
        for _ in range(3):
            client.put("a", b"1")
        assert assumed() == 1
        monkeypatch.setattr(connections, "_LIFE", timedelta(0))
        connect(**aws(guarded, **role))
        client = object_stores.client("s3://bucket")
        for _ in range(3):
            client.put("a", b"1")
        assert assumed() == 4
        sts.answer = lambda method, path: (403, "AccessDenied")
        with pytest.raises(StorageError, match=r"^s3://bucket/a: connection 'lake' gives no credentials: .*AssumeRole"):
            object_stores.part("s3://bucket/a", 0, 1)


def test_an_edited_connection_counts_in_a_process_that_lives(connect, monkeypatch):
    monkeypatch.setattr(connections, "_LIFE", timedelta(0))
    with guarded_s3() as server:
        connect(**aws(server))
        OdfHook(store="s3://bucket/odf").get_conn()
        client = object_stores.client("s3://bucket")
        client.put("a", b"1")
        key, secret = server.another_key()
        with pytest.raises(StorageError, match=r"connection 'lake'"), object_stores.errors("s3://bucket/a"):
            client.put("a", b"2")
        edited = {"conn_type": "aws", **aws(server), "login": key, "password": secret}
        monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(edited))
        client.put("a", b"3")
        assert bytes(client.get("a").bytes()) == b"3"


def test_a_child_process_has_the_access_of_its_parent_by_its_environment_alone(connect, guarded, tmp_path: Path):
    connect(**aws(guarded))
    OdfHook(store="s3://bucket/odf").get_conn()
    assert object_stores.environment() == {}
    object_stores.client("s3://bucket").put("a", b"1")
    program = "from airflow_provider_odf import object_stores as o; print(b''.join(o.chunks('s3://bucket/a')))"
    own = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    made = object_stores.environment()
    assert list(made) == ["ODF_OBJECT_STORE_SECRETS"]
    child = subprocess.run([sys.executable, "-c", program], env=own | made, capture_output=True, text=True, check=True)
    assert child.stdout == "b'1'\n"
    wrong = made["ODF_OBJECT_STORE_SECRETS"].replace(guarded.secret, "wr0ng")
    child = subprocess.run(
        [sys.executable, "-c", program], env=own | {"ODF_OBJECT_STORE_SECRETS": wrong}, capture_output=True, text=True
    )
    assert "check the credentials of connection 'lake' and their rights" in child.stderr
    assert "wr0ng" not in child.stderr


def test_no_access_shows_its_credentials(connect, guarded):
    connect("wasb", schemes=("az",), login="lake", password="c2VjcmV0")
    shown = repr(connections.access("az://c"))
    assert shown.startswith("Access(origin=\"connection 'lake'\", credentials=<function")
    assert "c2VjcmV0" not in shown


KEY, SAS, ENTRA = {"account_key": "a2V5"}, {"sas_token": "sv=1&sig=x"}, ("tenant", "app", "pw")
APP = dict(zip(("tenant_id", "client_id", "client_secret"), ENTRA, strict=True))


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({"login": "lake", "password": "a2V5"}, {"account_name": "lake", **KEY}),
        ({"login": "lake", "extra": {"account_key": "a2V5"}}, {"account_name": "lake", **KEY}),
        ({"login": "lake", "extra": {"shared_access_key": "a2V5", **SAS}}, {"account_name": "lake", **KEY}),
        ({"login": "lake", "extra": {"sas_token": "?sv=1&sig=x"}}, {"account_name": "lake", **SAS}),
        (
            {"extra": {"sas_token": "https://lake.blob.core.windows.net/?sv=1&sig=x"}},
            {"account_name": "lake", **SAS},
        ),
        (
            {"login": "a", "password": "a2V5", "host": "http://127.0.0.1:10000/a"},
            {"account_name": "a", "endpoint": "http://127.0.0.1:10000/a", **KEY},
        ),
        (
            {
                "login": "app",
                "password": "pw",
                "host": "https://lake.blob.core.windows.net",
                "extra": {"tenant_id": "tenant"},
            },
            {"account_name": "lake", **APP},
        ),
        (
            {"extra": {"connection_string": "DefaultEndpointsProtocol=https;AccountName=lake;AccountKey=a2V5==;"}},
            {"account_name": "lake", "account_key": "a2V5=="},
        ),
        *(
            ({"extra": {"connection_string": text}}, options)
            for text, options in (
                (
                    "DefaultEndpointsProtocol=https;AccountName=lake;AccountKey=a2V5;EndpointSuffix=core.windows.net",
                    {"account_name": "lake", **KEY},
                ),
                (
                    "AccountName=lake; AccountKey=a2V5; EndpointSuffix=core.chinacloudapi.cn",
                    {"account_name": "lake", "endpoint": "https://lake.blob.core.chinacloudapi.cn", **KEY},
                ),
                (
                    "BlobEndpoint=https://lake.blob.core.windows.net/;SharedAccessSignature=?sv=1&sig=x;",
                    {"account_name": "lake", **SAS},
                ),
                (
                    "blobendpoint=https://lake.blob.core.usgovcloudapi.net/;QueueEndpoint=https://q;"
                    "SharedAccessSignature=sv=1&sig=x",
                    {"account_name": "lake", "endpoint": "https://lake.blob.core.usgovcloudapi.net", **SAS},
                ),
                (
                    "BlobEndpoint=http://127.0.0.1:10000/a;SharedAccessSignature=sv=1&sig=x",
                    {"account_name": "a", "endpoint": "http://127.0.0.1:10000/a", **SAS},
                ),
                (
                    "AccountName=a;AccountKey=a2V5;BlobEndpoint=http://azurite:10000/a;",
                    {"account_name": "a", "endpoint": "http://azurite:10000/a", **KEY},
                ),
            )
        ),
        (
            {"host": "lake.blob.core.chinacloudapi.cn", "login": "lake", "password": "a2V5"},
            {"account_name": "lake", "endpoint": "https://lake.blob.core.chinacloudapi.cn", **KEY},
        ),
        (
            {
                "conn_type": "adls",
                "login": "app",
                "password": "pw",
                "host": "https://lake.dfs.core.usgovcloudapi.net/",
                "extra": {"tenant_id": "tenant"},
            },
            {
                "account_name": "lake",
                "endpoint": "https://lake.blob.core.usgovcloudapi.net",
                "authority_host": "https://login.microsoftonline.us",
                **APP,
            },
        ),
        (
            {"host": "lake.blob.core.windows.net", "extra": {"managed_identity_client_id": "me"}},
            {"account_name": "lake", "client_id": "me"},
        ),
        (
            {"conn_type": "adls", "login": "app", "password": "pw", "host": "lake", "extra": {"tenant_id": "tenant"}},
            {"account_name": "lake", **APP},
        ),
        ({"conn_type": "adls", "host": "lake", "password": "a2V5"}, {"account_name": "lake", **KEY}),
    ],
)
def test_connections_of_azure(fields, options):
    fields = {"conn_type": "wasb", **fields}
    if "extra" in fields:
        fields["extra"] = json.dumps(fields["extra"])
    assert connections._azure_options(Connection(conn_id="lake", **fields)) == options


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("UseDevelopmentStorage=true", "has UseDevelopmentStorage: write AccountName, AccountKey and BlobEndpoint"),
        ("AccountKey=c2VjcmV0", "names no account: add AccountName or BlobEndpoint"),
        ("AccountName=lake", "has neither AccountKey nor SharedAccessSignature: add one of them"),
        ("c2VjcmV0", "names no account: add AccountName or BlobEndpoint"),
    ],
)
def test_connection_strings_that_cannot_be_used(connect, text, problem):
    connect("wasb", schemes=("az",), extra={"connection_string": text})
    with pytest.raises(InvalidInput) as error:
        connections.access("az://c")
    assert str(error.value) == f"connection 'lake': its connection string {problem}"


@pytest.mark.stores
@pytest.mark.parametrize("program", ["versitygw", "azurite", "azurite-abfss"])
def test_servers_of_other_makers(connect, tmp_path: Path, program):
    with PROGRAMS[program](tmp_path) as server:
        settings = server.settings(server.endpoint)
        if program == "versitygw":
            extra = {"endpoint_url": server.endpoint, "region_name": "us-east-1"}
            kind, fields = "aws", {"login": "key", "password": "secret", "extra": extra}
        else:
            account = settings["AZURE_STORAGE_ACCOUNT_NAME"]
            fields = {"login": account, "password": settings["AZURE_STORAGE_ACCOUNT_KEY"]}
            kind, fields = "wasb", {**fields, "host": f"{server.endpoint}/{account}"}
        scheme = server.bucket.partition("://")[0]
        connect(kind, schemes=(scheme,), **fields)
        OdfHook(store=f"{server.bucket}/odf").get_conn()
        object_stores.client(server.bucket).put("a", b"1")
        assert b"".join(object_stores.chunks(f"{server.bucket}/a")) == b"1"
        if kind == "wasb":
            account, key = (
                f"{name}={fields[field]}" for name, field in (("AccountName", "login"), ("AccountKey", "password"))
            )
            text = f"{account};{key};BlobEndpoint={fields['host']}/"
            connect(kind, schemes=(scheme,), extra={"connection_string": text})
            assert b"".join(object_stores.chunks(f"{server.bucket}/a")) == b"1"
        connect(kind, schemes=(scheme,), **fields | {"password": "d3JvbmdLZXk="})
        with pytest.raises(StorageError, match="check the credentials of connection 'lake' and their rights"):
            b"".join(object_stores.chunks(f"{server.bucket}/a"))


def test_google_needs_its_package(connect):
    connect("google_cloud_platform", schemes=("gs",))
    with pytest.raises(
        InvalidInput, match=r"^connection 'lake' needs the package apache-airflow-providers-google: install it$"
    ):
        connections.access("gs://bucket")


def test_a_driver_has_credentials_in_its_environment_alone(connect, guarded, tmp_path: Path):
    connect(**aws(guarded))
    OdfHook(store="s3://bucket/odf").get_conn()
    object_stores.client("s3://bucket")
    program = tmp_path / "spark-submit"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/arguments\nenv > {tmp_path}/environment\n{COPY}')
    program.chmod(0o755)
    request = RawQueryRequest(("/none",), "/none", Transform("spark", ()), ReadStep("Csv"))
    with SparkSubmitRunner("local[1]", spark_submit=str(program)) as runner, pytest.raises(EngineLost):
        runner.submit(request).result(60)
    assert '"/none"' in (tmp_path / "request").read_text()
    (handed_down,) = re.findall("^ODF_OBJECT_STORE_SECRETS=(.*)$", (tmp_path / "environment").read_text(), re.M)
    assert json.loads(handed_down)["s3://bucket"]["credential"]["secret_access_key"] == guarded.secret
    assert [name for name in ("arguments", "request") if guarded.secret in (tmp_path / name).read_text()] == []


COPY = 'for last; do :; done\ncp "$last/request.json" "${0%/*}/request"\nexit 1\n'
"""Keeps the request beside the program."""
