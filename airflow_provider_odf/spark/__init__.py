"""Published datasets in Spark: ``spark.read.format("odf")`` and ``spark.readStream.format("odf")``."""

from airflow_provider_odf.spark.source import OdfDataSource, register

__all__ = ["OdfDataSource", "register"]
