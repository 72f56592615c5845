"""Links to the pages about datasets: paths, and the extra links of tasks.

The link to a block or report is signed, and names the DAG, the store, the dataset and the block. The task that wrote
the block writes the link. The API server shows that block and no other, to users who may read that DAG, even if only
the DAG knows the store. The key is Airflow's own ``[api] secret_key``, which all components of an installation share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

from airflow.providers.common.compat.sdk import conf
from airflow.sdk import BaseOperatorLink
from itsdangerous import BadSignature, URLSafeSerializer

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.hooks.odf import ASSET_GROUP

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator

    from airflow_provider_odf.cycle.messages import Candidate

URL_PREFIX = "/odf"

MAIN_APP = "odf_airflow"
"""Key of the scope with the app of Airflow that the pages are mounted in."""


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


class DatasetLink(BaseOperatorLink):
    """Link to the pages about the dataset of the task, also of a task that was skipped."""

    name = "Dataset"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        dag = operator.get_dag()
        outlets = (outlet for task in dag.tasks for outlet in task.outlets) if dag is not None else ()
        has_pages = any(getattr(outlet, "group", None) == ASSET_GROUP for outlet in outlets)
        return dataset_path(ti_key.dag_id) if has_pages else ""


class BlockLink(BaseOperatorLink):
    """Link to the newest block of the task's candidate."""

    name = "Block"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        return link("blocks", operator, ti_key.dag_id)


class ReportLink(BaseOperatorLink):
    """Link to the contract report of the task's candidate."""

    name = "Contract report"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        return link("reports", operator, ti_key.dag_id) if getattr(operator, "has_report", False) else ""


def report_url(operator: Any, dag_id: str) -> str | None:
    """Return the URL of the report of the task's candidate; None if ``[api] base_url`` does not say where Airflow
    is."""
    path = link("reports", operator, dag_id)
    return _url(path) if path else None


def block_url(dag_id: str, block_hash: str) -> str:
    """Return the URL of the page of a block of a DAG's dataset; its path if ``[api] base_url`` does not say where
    Airflow is."""
    path = site_path(f"/datasets/{quote(dag_id, safe='')}/blocks/{block_hash}")
    return _url(path) or path


def _url(path: str) -> str | None:
    base = urlsplit(conf.get("api", "base_url", fallback=""))
    return f"{base.scheme}://{base.netloc}{path}" if base.netloc else None


def link(page: str, operator: Any, dag_id: str) -> str:
    """Return the path of a page on the Airflow site; empty if the task has no candidate."""
    candidate: Candidate | None = getattr(operator, "shown", None)
    if candidate is None:
        return ""
    ticket = Ticket(dag_id, operator.odf.uri, candidate.dataset, candidate.candidate)
    return site_path(f"/{page}/{quote(dag_id)}/{ticket.sign()}")


def dataset_path(dag_id: str, page: str = "") -> str:
    """Return the path of a page about the dataset that a DAG publishes."""
    return site_path(f"/datasets/{quote(dag_id, safe='')}{page}")


def pages_of(dag_id: str) -> dict[str, str]:
    """Return labels and paths of the pages about the dataset that a DAG publishes."""
    pages = {"Dataset": "", "Data": "/data", "Blocks": "/blocks", "Contract": "/contract", "Rejected": "/rejected"}
    return {label: dataset_path(dag_id, page) for label, page in pages.items()}


def site_path(path: str) -> str:
    """Return the path of a page on the Airflow site, which may be below a prefix."""
    return airflow_path(f"{URL_PREFIX}{path}")


def airflow_path(path: str) -> str:
    """Return a path of Airflow's own pages on the site, which may be below a prefix."""
    prefix = urlsplit(conf.get("api", "base_url", fallback="")).path.rstrip("/")
    return f"{prefix}{path}"
