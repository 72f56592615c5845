"""Merge of a Snapshot by Arrow, in ranges of keys: for inputs that are too large for Python's rows and fit in memory.

Spark would shuffle, sort and copy each row several times for this. The new rows are in memory. The state is a stream in
the order of its keys.
"""
