"""Functions whose value differs from run to run: a derivative must be the same whenever and wherever it is computed."""

from __future__ import annotations

RUN_FUNCTIONS = {
    "collations": "Collations", "curdate": "", "current_catalog": "CurrentCatalog",
    "current_database": "CurrentDatabase", "current_date": "CurrentDate", "current_path": "CurrentPath",
    "current_row_timestamp": "", "current_time": "CurrentTime", "current_timestamp": "CurrentTimestamp",
    "current_timezone": "CurrentTimeZone", "current_user": "CurrentUser", "current_watermark": "", "localtime": "",
    "localtimestamp": "LocalTimestamp", "monotonically_increasing_id": "MonotonicallyIncreasingID", "now": "Now",
    "proctime": "", "rand": "Rand", "rand_integer": "", "randn": "Randn", "random": "", "randstr": "RandStr",
    "shuffle": "Shuffle", "spark_partition_id": "SparkPartitionID", "sql_keywords": "SQLKeywords",
    "tablesample": "Sample", "today": "", "uniform": "Uniform", "unix_timestamp": "", "uuid": "Uuid",
    "version": "SparkVersion",
}  # fmt: skip
"""Name in SQL, of any engine -> class of the expression or node in Spark's plans, where Spark has one of its own."""

ONLY_IN_PLANS = (
    "collations", "current_catalog", "current_database", "current_path", "current_timezone", "current_user",
    "current_watermark", "randstr", "spark_partition_id", "sql_keywords", "tablesample", "uniform", "unix_timestamp",
    "version",
)  # fmt: skip
"""Those that a query may also name without a value of the run, such as unix_timestamp of a column."""
