"""Blocks and contract reports as text, for the links of tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow.api_fastapi.core_api.security import requires_access_dag
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import PlainTextResponse

from airflow_provider_odf.errors import InvalidInput, OdfError
from airflow_provider_odf.hooks.odf import OdfHook

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.protocol import CheckResult, ContractReport


def create_app() -> FastAPI:
    """The pages. Who reads them is logged in and may read the DAG that the page was linked from."""
    app = FastAPI(title="Open Data Fabric", docs_url=None, redoc_url=None, openapi_url=None)
    guard = [Depends(requires_access_dag("GET"))]
    app.get("/blocks/{dag_id}/{dataset:path}/{block_hash}", dependencies=guard)(block)
    app.get("/reports/{dag_id}/{dataset:path}/{block_hash}", dependencies=guard)(report)
    return app


def block(dataset: str, block_hash: str) -> PlainTextResponse:
    """A metadata block in the manifest's spelling."""
    from airflow_provider_odf.manifest.model import dump
    from airflow_provider_odf.manifest.yaml_source import dump_yaml

    with _not_found(f"no block {block_hash} of {dataset}"):
        found = _dataset(dataset, block_hash).block(block_hash)
    return _text(f"# {dataset}, block {block_hash}\n{dump_yaml(dump(found))}")


def report(dataset: str, block_hash: str) -> PlainTextResponse:
    """What the data contract said of the candidate that ends in a block."""
    from airflow_provider_odf.cycle.rejected import load_report

    missing = f"no contract was tested on block {block_hash} of {dataset}"
    with _not_found(missing):
        found = load_report(_dataset(dataset, block_hash), block_hash)
    if found is None:
        raise HTTPException(404, missing)
    return _text("\n".join(_report_lines(dataset, block_hash, found)) + "\n")


def _dataset(name: str, block_hash: str) -> Dataset:
    from airflow_provider_odf.chain.dataset import is_hash

    if not is_hash(block_hash):
        raise InvalidInput(f"{block_hash} is no block hash")
    return OdfHook().get_conn().dataset(name)


@contextmanager
def _not_found(message: str) -> Iterator[None]:
    """An error is a page that is not there; its own words may hold paths of the server."""
    try:
        yield
    except OdfError as e:
        raise HTTPException(404, message) from e


def _report_lines(dataset: str, block_hash: str, report: ContractReport) -> Iterator[str]:
    yield f"contract {report.contract} on {dataset}: {report.result}"
    yield f"block {block_hash}, {report.tested_rows} rows tested"
    yield ""
    yield from (_result_line(result) for result in report.results)


def _result_line(result: CheckResult) -> str:
    """``fail  price: at least 0 (found -1; 2 rows)``."""
    details = [f"found {result.actual}"] if result.actual and result.outcome != "pass" else []
    details += [f"{result.failed_rows} rows"] if result.failed_rows else []
    severity = "" if result.severity == "error" else f" [{result.severity}]"
    return f"{result.outcome:<13} {result.description}{severity}" + (f" ({'; '.join(details)})" if details else "")


def _text(content: str) -> PlainTextResponse:
    return PlainTextResponse(content, headers={"X-Content-Type-Options": "nosniff"})
