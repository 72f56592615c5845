"""``engine: datafusion``: queries are planned and run by DataFusion itself, the Python package ``datafusion``.

The coordinator plans a query against empty tables, so that errors and the columns of the result are known before
anything is read. The engine runs it on Arrow data. This package serves both: it imports neither Spark nor the
coordinator, and ``datafusion`` only when a query is planned.
"""

NAME = "datafusion"
"""The engine of transforms that DataFusion runs. Queries of all others reach Spark in its own SQL."""
