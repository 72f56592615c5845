import pytest

from airflow_provider_odf.spark import register
from tests.chain.conftest import grow, store

__all__ = ["grow", "odf", "store"]


@pytest.fixture
def odf(spark, store):
    """A reader or stream reader of the format ``odf`` with options."""
    register(spark)

    def make(stream=False, **options):
        reader = spark.readStream if stream else spark.read
        return reader.format("odf").options(**{"store": store.location, "dataset": "numbers", **options})

    return make
