"""What the parts share: an Airflow home of its own before Airflow is imported, one Spark session, an HTTP server."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import hypothesis
import pytest

from . import object_servers
from .http_server import Server, serving
from .object_servers import ObjectServer
from .s3 import Bucket, serving_s3, use

os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="airflow-home-")
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
os.environ["AIRFLOW__CORE__UNIT_TEST_MODE"] = "False"
os.environ["TZ"] = "America/St_Johns"  # a zone that shows every place where local time slips in

# How long an example takes says more of the machine than of the code.
hypothesis.settings.register_profile("odf", deadline=None)
hypothesis.settings.load_profile("odf")

# py4j tells of each connection that the garbage collector closes, at the end to a stream that is closed already.
logging.getLogger("py4j").setLevel(logging.WARNING)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the slowest files first, since the last one decides when all are done. Coverage does not follow the
    hundreds of examples of a property, which would take three times as long."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    for item in items:
        if item.get_closest_marker("hypothesis"):
            item.add_marker(pytest.mark.no_cover)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of this test process, made as the product makes it."""
    from airflow_provider_odf.engine import session

    spark = session.create("odf-tests", master="local[2]")
    yield spark
    spark.stop()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """Endpoint of an S3 server with a bucket named ``bucket``."""
    with serving_s3() as endpoint:
        yield endpoint


@pytest.fixture
def bucket(s3: str, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A new bucket there, which clients of this process find."""
    use(s3, monkeypatch)
    return Bucket.new(s3)


@pytest.fixture(
    scope="session",
    params=["moto", *(pytest.param(name, marks=pytest.mark.stores) for name in object_servers.PROGRAMS)],
)
def object_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    """Each of the servers of object stores in turn."""
    if request.param == "moto":
        yield object_servers.moto(request.getfixturevalue("s3"))
        return
    with object_servers.PROGRAMS[request.param](tmp_path_factory.mktemp(request.param)) as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def _process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The tool, run in this process, leaves pandas to the other tests, and knows no datasets that earlier ones
    verified."""
    verified = tmp_path_factory.mktemp("of-this-user") / "verified"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("airflow_provider_odf.cli.leave_out_pandas", lambda: None)
        patch.setattr("airflow_provider_odf.chain.verified_heads.folder", lambda: verified)
        yield
