"""Run Spark in a child process, on a cluster with spark-submit, or on a Spark Connect server.

Nothing here imports Spark. A runner starts it with the first request.
"""

from airflow_provider_odf.runner.connect import ConnectRunner
from airflow_provider_odf.runner.local import LocalRunner
from airflow_provider_odf.runner.runner import Runner
from airflow_provider_odf.runner.spark_submit import SparkSubmitRunner

__all__ = ["ConnectRunner", "LocalRunner", "Runner", "SparkSubmitRunner"]
