"""Where Spark runs: a child process of this one, or an application handed to a cluster by spark-submit.

Nothing here imports Spark: a runner starts it at the first request.
"""

from airflow_provider_odf.runner.local import LocalRunner
from airflow_provider_odf.runner.runner import Runner
from airflow_provider_odf.runner.spark_submit import SparkSubmitRunner

__all__ = ["LocalRunner", "Runner", "SparkSubmitRunner"]
