"""Signed content of a link to a page: the DAG, the store, the dataset and the block.

The task that wrote a block writes the link. The API server shows that block and no other, to users who may read that
DAG, even if only the DAG knows the store. The key is Airflow's own ``[api] secret_key``, which all components of an
installation share.
"""

from __future__ import annotations

from typing import NamedTuple

from airflow.sdk import conf
from itsdangerous import BadSignature, URLSafeSerializer

from airflow_provider_odf.errors import InvalidInput


class Ticket(NamedTuple):
    """Content of a link; ``store`` is a URI."""

    dag_id: str
    store: str
    dataset: str
    block_hash: str

    def sign(self) -> str:
        """Return the ticket as a part of a URL's path."""
        text = _serializer().dumps(list(self))
        return text if isinstance(text, str) else text.decode()

    @classmethod
    def read(cls, text: str, dag_id: str) -> Ticket:
        """Return the ticket that was signed for a DAG.

        :raises InvalidInput: it was not signed here, or for another DAG.
        """
        try:
            ticket = cls(*_serializer().loads(text))
        except (BadSignature, TypeError) as e:
            raise InvalidInput("the link was not signed by a task of this Airflow") from e
        if ticket.dag_id != dag_id:
            raise InvalidInput(f"the link does not belong to DAG {dag_id}")
        return ticket


def _serializer() -> URLSafeSerializer:
    return URLSafeSerializer(conf.get("api", "secret_key"), salt="airflow-provider-odf")
