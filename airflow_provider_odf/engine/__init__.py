"""The engine of the specification on PySpark: it reads raw data, preprocesses and merges it, and tests contracts.

Importing this package loads nothing. Its modules need only pyspark, pyarrow and the standard library, so that a cluster
can run them from one zip file.
"""
