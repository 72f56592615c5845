"""The engine of the specification on PySpark: reads raw data, merges, transforms and tests it.

Importing this package loads nothing; its modules need pyspark and pyarrow and nothing else that is not in the standard
library, so that a cluster can run them from one zip.
"""
