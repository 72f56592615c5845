"""Airflow's connections: looked up in the same way in every process, and as access to object stores."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook

from airflow_provider_odf import settings
from airflow_provider_odf.errors import InvalidInput, StorageError
from airflow_provider_odf.object_stores import Access

if TYPE_CHECKING:
    from airflow.sdk import Connection

_LIFE = timedelta(minutes=10)
"""How long credentials of a connection are used before it is looked up again: it may be edited, a backend of secrets
may have new ones, and those of a role end after 15 minutes or more."""

_ENDPOINT = "AWS_ENDPOINT_URL_S3"


def connection_of(conn_id: str) -> Connection:
    """Return the connection, the same in every process.

    Commands such as ``airflow dags reserialize`` build DAGs without a supervisor. There the public API
    (`BaseHook.get_connection`) reads environment variables and an external secrets backend, but not the metadata
    database. A DAG would get another store, and its asset another URI, than in the DAG processor. Only this function
    therefore uses Airflow's own model, which also reads the database."""
    connection: Connection
    try:
        connection = BaseHook.get_connection(conn_id)
        return connection
    except AirflowNotFoundException:
        if hasattr(sys.modules.get("airflow.sdk.execution_time.task_runner"), "SUPERVISOR_COMMS"):
            raise
    from airflow.models.connection import Connection as StoredConnection

    connection = StoredConnection.get_connection_from_secrets(conn_id)
    return connection


def access(bucket: str) -> Access | None:
    """Return the access to a bucket by its connection in ``[odf] object_store_connections``; None if it has none.

    :raises InvalidInput: the connection does not exist, or is of a type for other stores.
    :raises StorageError: the connection yields no credentials.
    """
    conn_ids = settings.read().object_store_connections
    scheme = bucket.partition("://")[0]
    conn_id = conn_ids.get(bucket) or conn_ids.get(scheme)
    return ACCESS[scheme][1](partial(_look_up, bucket, conn_id), f"connection {conn_id!r}") if conn_id else None


def _look_up(bucket: str, conn_id: str) -> Connection:
    try:
        connection = connection_of(conn_id)
    except AirflowNotFoundException:
        raise InvalidInput(
            f"{bucket}: connection {conn_id!r} does not exist: create it, or correct [odf] object_store_connections"
        ) from None
    kinds = ACCESS[bucket.partition("://")[0]][0]
    if connection.conn_type not in kinds:
        expected = " or ".join(map(repr, kinds))
        raise InvalidInput(f"{bucket}: connection {conn_id!r} is of type {connection.conn_type!r}: use {expected}")
    return connection


def _expiring(**credential: str | None) -> dict[str, Any]:
    return {**credential, "expires_at": datetime.now(UTC) + _LIFE}


@contextmanager
def _errors(origin: str, provider: str) -> Iterator[None]:
    """Raise errors of a provider as those of the connection. Their texts are those of cloud services, which name no
    secrets."""
    try:
        yield
    except ImportError:
        raise InvalidInput(f"{origin} needs the package apache-airflow-providers-{provider}: install it") from None
    except Exception as e:
        raise StorageError(f"{origin} gives no credentials: {e}") from e


def _of_aws(look_up: Callable[[], Connection], origin: str) -> Access:
    """Return the access as hooks of the provider have it: by keys, a role to assume, a profile, or the role of the
    machine."""
    with _errors(origin, "amazon"):
        from airflow.providers.amazon.aws.hooks.base_aws import SessionFactory
        from airflow.providers.amazon.aws.utils.connection_wrapper import AwsConnectionWrapper
        from botocore import UNSIGNED

    connection = look_up()
    with _errors(origin, "amazon"):
        settings_of = AwsConnectionWrapper(connection)

    def credentials() -> Mapping[str, Any]:
        connection = look_up()
        with _errors(origin, "amazon"):
            found = SessionFactory(AwsConnectionWrapper(connection)).create_session().get_credentials()
            if found is None:
                raise ValueError("it has no keys, and this machine has no role")
            keys = found.get_frozen_credentials()
        return _expiring(access_key_id=keys.access_key, secret_access_key=keys.secret_key, token=keys.token)

    endpoint, variable = settings_of.get_service_endpoint_url("s3"), os.environ.get(_ENDPOINT)
    if endpoint and variable not in (None, endpoint):
        raise InvalidInput(f"{origin}: {_ENDPOINT} would override its endpoint {endpoint}: unset this variable")
    config, verify = settings_of.botocore_config, settings_of.verify
    is_public = config is not None and config.signature_version is UNSIGNED
    given = {
        "region": settings_of.region_name,
        "endpoint": endpoint,
        "skip_signature": is_public,
    }
    client: dict[str, Any] = {"allow_invalid_certificates": True} if verify is False else {}
    if isinstance(verify, str):
        client = {"root_certificate": Path(verify).read_text(encoding="ascii")}
    options = {name: value for name, value in given.items() if value is not None}
    return Access(origin, options, None if is_public else credentials, client)


def _of_google(look_up: Callable[[], Connection], origin: str) -> Access:
    with _errors(origin, "google"):
        from airflow.providers.google.common.hooks.base_google import GoogleBaseHook
        from google.auth.transport.requests import Request

    def credentials() -> Mapping[str, Any]:
        connection = look_up()

        # The hook would look the connection up by itself. The provider may not be installed, so its class has no type.
        class Hook(GoogleBaseHook):  # type: ignore[misc]
            get_connection = staticmethod(lambda conn_id: connection)

        with _errors(origin, "google"):
            found = Hook(gcp_conn_id=connection.conn_id).get_credentials()
            found.refresh(Request())
        return _expiring(token=found.token)

    is_public = look_up().extra_dejson.get("is_anonymous")
    return Access(origin, {"skip_signature": True}) if is_public else Access(origin, {}, credentials)


def _of_azure(look_up: Callable[[], Connection], origin: str) -> Access:
    """Return the access by the fields that hooks of the provider read, in their order. Tokens of Microsoft Entra are
    fetched by obstore, so the provider need not be installed."""

    def credentials() -> Mapping[str, Any]:
        options = _azure_options(look_up())
        key = options.get("account_key")
        return _expiring(access_key=key) if key else _expiring(sas_token=options["sas_token"])

    options = _azure_options(look_up())
    keys = {"account_key", "sas_token"}
    return Access(
        origin,
        {name: value for name, value in options.items() if name not in keys},
        credentials if keys & options.keys() else None,
    )


def _azure_options(connection: Connection) -> dict[str, str]:
    """Return a connection as options of obstore."""
    fields = {name: value for name, value in connection.extra_dejson.items() if value}
    if text := fields.get("connection_string"):
        return _of_connection_string(text, f"connection {connection.conn_id!r}: its connection string")
    login, password = connection.login or "", connection.password or ""
    url = fields.get("account_url") or connection.host or login
    tenant = fields.get("tenant_id")
    sas = fields.get("sas_token", "")
    if sas.startswith("https://"):
        url, _, sas = sas.partition("?")
    host = urlsplit(url).netloc if "://" in url else url
    by_login = connection.conn_type == "wasb" and login and not tenant
    options = {"account_name": login if by_login else host.partition(".")[0], **_endpoint(url)}
    if tenant:
        authority = next(({"authority_host": at} for suffix, at in _AUTHORITIES.items() if suffix in host), {})
        return {**options, **authority, "tenant_id": tenant, "client_id": login, "client_secret": password}
    if not (key := fields.get("shared_access_key")) and sas:
        return {**options, "sas_token": sas.removeprefix("?")}
    if key := key or password or fields.get("account_key"):
        return {**options, "account_key": key}
    identity = {"client_id": "managed_identity_client_id", "tenant_id": "workload_identity_tenant_id"}
    return {**options, **{option: fields[name] for option, name in identity.items() if name in fields}}


_AUTHORITIES = {
    "core.usgovcloudapi.net": "https://login.microsoftonline.us",
    "core.chinacloudapi.cn": "https://login.partner.microsoftonline.cn",
}
"""Suffix of the hosts of a cloud other than the public one -> where it gives tokens."""


def _endpoint(url: str) -> dict[str, str]:
    """Return the endpoint of an account's URL or host as an option: none in the public cloud, and for a name alone."""
    is_name = "://" not in url and "." not in url
    if is_name or re.search(r"\.(blob|dfs)\.core\.windows\.net", url):
        return {}
    return {"endpoint": (url if "://" in url else f"https://{url}").rstrip("/").replace(".dfs.core.", ".blob.core.")}


def _of_connection_string(text: str, label: str) -> dict[str, str]:
    """Return a connection string of Azure as options of obstore.

    :raises InvalidInput: it cannot be used; the message has none of its values.
    """
    parts = {name.strip().lower(): value.strip() for name, _, value in (p.partition("=") for p in text.split(";"))}
    if "usedevelopmentstorage" in parts:
        raise InvalidInput(f"{label} has UseDevelopmentStorage: write AccountName, AccountKey and BlobEndpoint")
    account, endpoint = parts.get("accountname", ""), parts.get("blobendpoint", "")
    if endpoint:
        place = urlsplit(endpoint)
        is_in_path = place.path.strip("/") and not re.search("[a-z]", place.hostname or "")
        account = account or (place.path.strip("/") if is_in_path else (place.hostname or "").partition(".")[0])
    elif suffix := parts.get("endpointsuffix"):
        endpoint = f"{parts.get('defaultendpointsprotocol', 'https')}://{account}.blob.{suffix}"
    if not account:
        raise InvalidInput(f"{label} names no account: add AccountName or BlobEndpoint")
    options = {"account_name": account, **_endpoint(endpoint)}
    if key := parts.get("accountkey"):
        return {**options, "account_key": key}
    if sas := parts.get("sharedaccesssignature"):
        return {**options, "sas_token": sas.removeprefix("?")}
    raise InvalidInput(f"{label} has neither AccountKey nor SharedAccessSignature: add one of them")


ACCESS: Mapping[str, tuple[tuple[str, ...], Callable[[Callable[[], Connection], str], Access]]] = {
    "s3": (("aws",), _of_aws),
    "gs": (("google_cloud_platform",), _of_google),
    "az": (("wasb", "adls"), _of_azure),
    "abfss": (("wasb", "adls"), _of_azure),
}
"""Scheme of an object store -> types of its connections, and the access by one."""
