"""Merge of one file by Arrow in the driver, for rows that fit in memory.

Spark would start, and then shuffle, sort and copy each row several times for this. The new rows are in memory. The
state of a Snapshot is a stream in the order of its keys.
"""
