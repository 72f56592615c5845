"""``DataHubHook``: the DataHub server of an Airflow connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import BaseHook

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.get_provider_info import DATAHUB_CONNECTION
from airflow_provider_odf.hooks.connection_form import with_form

if TYPE_CHECKING:
    from airflow_provider_odf.datahub.send import Server


@with_form(DATAHUB_CONNECTION)
class DataHubHook(BaseHook):
    """Sends metadata to a DataHub server. Needs the extra ``datahub``.

    :param datahub_conn_id: connection of type ``datahub``: its host is the URL of the metadata service (GMS), its
        password an access token. Its extras are arguments of DataHub's ``DataHubRestEmitter``, such as
        ``ca_certificate_path``. A connection of type ``datahub-rest``, of DataHub's own plugin, works too.
    """

    conn_name_attr = "datahub_conn_id"
    default_conn_name = "datahub_default"
    conn_type = "datahub"
    hook_name = "DataHub"

    def __init__(self, datahub_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.datahub_conn_id = datahub_conn_id

    def get_conn(self) -> Server:
        """Return the server.

        :raises InvalidInput: the connection has no host, or DataHub's library is not installed.
        """
        from airflow_provider_odf.datahub.send import Server, require_library

        require_library()
        connection = self.get_connection(self.datahub_conn_id)
        host = connection.host
        if not host:
            raise InvalidInput(f"connection {self.datahub_conn_id} has no host: set it to the URL of DataHub's GMS")
        if "://" not in host:
            scheme = connection.schema or ("https" if connection.port == 443 else "http")
            host = f"{scheme}://{host}"
        url = f"{host}:{connection.port}" if connection.port else host
        return Server(url.rstrip("/"), connection.password or None, connection.extra_dejson)

    def test_connection(self) -> tuple[bool, str]:
        """Return whether the server answers, or an error."""
        try:
            server = self.get_conn()
            server.emitter.test_connection()
        except Exception as e:
            return False, str(e)
        return True, f"connected to {server.url}"
