"""``engine: datafusion``: the Python package ``datafusion`` plans and runs the queries.

The coordinator plans a query against empty tables. Errors and the columns of the result are thus known before any data
are read. The engine runs the query on Arrow data. Both use this package: it imports neither Spark nor the coordinator,
and imports ``datafusion`` only to plan a query.
"""

NAME = "datafusion"
"""Name of the engine in transforms. Queries of all other engines are translated to Spark SQL."""
