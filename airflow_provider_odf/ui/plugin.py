"""The Airflow plugin: pages about datasets, and extra links of tasks."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from airflow.plugins_manager import AirflowPlugin

from airflow_provider_odf.error_conversion import missing_package
from airflow_provider_odf.operators.links import MAIN_APP, URL_PREFIX, BlockLink, DatasetLink, ReportLink, site_path

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import Receive, Scope, Send


class LazyApp:
    """The pages, created at the first request: every Airflow process loads the plugin, but only one serves pages."""

    @cached_property
    def app(self) -> Starlette:
        try:
            from airflow_provider_odf.ui.app import create_app
        except ModuleNotFoundError as e:
            if (package := missing_package(e)) is None:
                raise
            return _without(package)
        return create_app()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The pages replace ``app`` by themselves.
        await self.app({**scope, MAIN_APP: scope.get("app")}, receive, send)


def _without(package: str) -> Starlette:
    """Return one page in place of all: what the API server lacks. It shows no dataset, so it needs no login."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    from airflow_provider_odf.ui.pages import render, stylesheet

    message = f"Pages read rows with {package}: pip install 'airflow-provider-odf-core[pages]' on the API server."
    problem = render("problem.html", 501, title=f"The API server has no {package}", message=message, dag_id=None)
    return Starlette(routes=[Route("/pages.css", lambda _: stylesheet()), Route("/{path:path}", lambda _: problem)])


def _view(name: str, page: str, destination: str, route: str, **more: str) -> dict[str, str]:
    return {"name": name, "href": site_path(page), "destination": destination, "url_route": route, **more}


class OdfPlugin(AirflowPlugin):
    """Open Data Fabric in Airflow's UI."""

    name = "odf"
    fastapi_apps = [{"app": LazyApp(), "url_prefix": URL_PREFIX, "name": "Open Data Fabric"}]  # noqa: RUF012 - as Airflow declares it
    external_views = [  # noqa: RUF012
        _view("Datasets", "/datasets", "nav", "odf-datasets", category="browse"),
        _view("Dataset", "/datasets/{DAG_ID}", "dag", "odf-dataset"),
        *(
            _view("Dataset", "/datasets/{DAG_ID}/runs/{RUN_ID}", destination, f"odf-dataset-of-{destination}")
            for destination in ("dag_run", "task_instance")
        ),
    ]
    operator_extra_links = [DatasetLink(), BlockLink(), ReportLink()]  # noqa: RUF012
