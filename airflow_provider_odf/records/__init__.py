"""Rows of datasets in Arrow: their files, schema, equality, order, hashes and slices.

It needs pyarrow alone, serves the coordinator, the engine and pages, and is shipped with the engine.
"""
